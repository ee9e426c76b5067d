/** A batch's way: files to columns, columns to advantages, rows and advantages to the outputs. */
import type { Engine } from '../../engine.ts';
import { InputError, UsageError } from '../../errors.ts';
import { writeSidecarColumns } from '../../io/binary-output.ts';
import { type Input, openInput } from '../../io/input.ts';
import type { ReadOptions } from '../../io/jsonl/record-reader.ts';
import type { OutputFields } from '../../io/layouts/fields.ts';
import type { Layout } from '../../io/layouts/layout.ts';
import { type Output, openOutput } from '../../io/output.ts';
import { type InputRows, named, readInput } from '../../io/read-input.ts';
import { writeSidecarLines } from '../../io/sidecar.ts';
import type { TaskPool } from '../../io/task-pool.ts';
import { writeInputRows } from '../../io/write-input-rows.ts';
import type { NormalizeOptions } from '../../options.ts';
import type { Report } from '../../report.ts';
import { type AssembledBatch, Assembler } from '../../samples/assembler.ts';
import { NO_ID } from '../../samples/ids.ts';
import { joinBatches } from '../../samples/join.ts';
import { Places } from '../../samples/places.ts';
import { splitByCode } from '../../samples/split.ts';
import type { Progress } from '../progress.ts';
import type { OutputFormat } from './files.ts';
import { compareRecorded, type RecordedComparison } from './recorded.ts';
import { addReports, type FileSummary } from './summary.ts';

export interface RunSettings {
  readonly layout: Layout;
  readonly fields: OutputFields;
  readonly options: NormalizeOptions;
  readonly maxLine: number | undefined;
  /** A sidecar instead of whole rows. */
  readonly only: boolean;
  /** Asked for by name; undefined: the input's own. */
  readonly format: OutputFormat | undefined;
  readonly join: { readonly path: string; readonly layout: Layout } | undefined;
  readonly pool: TaskPool;
  readonly engine: Engine;
  readonly progress: Progress;
}

/** A file of the batch and where its rows go. */
export interface BatchFile {
  readonly file: string;
  readonly output: string;
}

/** Normalizes files as one batch. Every output appears whole, or none of those that were not finished. */
export async function runBatch(files: readonly BatchFile[], settings: RunSettings): Promise<FileSummary[]> {
  const inputs: Input[] = [];
  const outputs: Output[] = [];
  try {
    // Opened before any work, so that a folder that is not there costs no time.
    for (const { output } of files) outputs.push(await openOutput(output));
    for (const { file } of files) inputs.push(await openInput(file, settings));
    return await normalizeInputs(files, inputs, outputs, settings);
  } catch (error) {
    for (const output of outputs) await output.abort();
    throw inputs.length === 1 ? named(inputs[0].name, error) : error;
  } finally {
    for (const input of inputs) await input.close();
  }
}

async function normalizeInputs(
  files: readonly BatchFile[],
  inputs: readonly Input[],
  outputs: readonly Output[],
  settings: RunSettings,
): Promise<FileSummary[]> {
  const started = performance.now();
  const { batch, ranges, warnings } = await readBatch(inputs, settings);
  const read = performance.now();
  const { advantages, reports, recorded } = await normalizeBatch(batch, settings);
  const report = addReports(reports);
  const computed = performance.now();
  const { rewards } = batch.columns;
  for (let i = 0; i < inputs.length; i++) await writeFile(i);
  const seconds = {
    read: (read - started) / 1000,
    plan: report.seconds.plan,
    compute: report.seconds.compute,
    write: (performance.now() - computed) / 1000,
  };
  const all: Report = { ...report, warnings: [...warnings, ...report.warnings] };
  const comparison = recorded ? { recorded } : {};
  const common = { ...all, batches: reports.length, preset: settings.layout.preset, ...comparison, seconds };
  const output = outputs.length === 1 ? files[0].output : null;
  return [{ ...common, file: files.map(({ file }) => file).join(', '), output }];

  async function writeFile(i: number): Promise<void> {
    const input = inputs[i];
    const range = ranges[i];
    const end = range.firstRow + range.rowCount;
    if (writesWholeRows(input, settings)) {
      const results = {
        rawRewards: rewards.subarray(range.firstRow, end),
        advantages: advantages.subarray(range.firstRow, end),
      };
      const advance = (bytes: number) => settings.progress.advance(bytes, 'writing');
      await writeInputRows(input, range, results, settings.fields, outputs[i], settings.pool, advance);
    } else {
      const results = { rawRewards: rewards, advantages };
      const { columns, side } = batch;
      const sidecar = { file: files[i].file, rows: range, columns, side, results, fields: settings.fields };
      await writeSidecar(input, sidecar, settings, outputs[i]);
    }
    await outputs[i].commit();
  }
}

async function writeSidecar(
  input: Input,
  sidecar: Parameters<typeof writeSidecarLines>[0],
  { format, layout, pool }: RunSettings,
  output: Output,
): Promise<void> {
  const wanted = format ?? (input.format === 'torch' ? 'jsonl' : input.format);
  if (wanted === 'jsonl') return writeSidecarLines(sidecar, output);
  await writeSidecarColumns(input, sidecar, layout, wanted, output, pool);
}

/** Whole rows are written in the input's own format, if it has a writer. */
export function writesWholeRows(input: Input, { only, format }: RunSettings): boolean {
  return !only && input.keepsRows && (format === undefined || format === input.format);
}

interface ReadBatch {
  readonly batch: AssembledBatch;
  readonly ranges: readonly InputRows[];
  readonly warnings: readonly string[];
}

async function readBatch(inputs: readonly Input[], settings: RunSettings): Promise<ReadBatch> {
  const { layout, join, pool, progress } = settings;
  const assembler = newAssembler(layout, inputs.length > 1);
  const ranges: InputRows[] = [];
  const warnings: string[] = [];
  for (const input of inputs) {
    const whole = writesWholeRows(input, settings);
    if (!whole && !settings.only) warnings.push(...whyNotWhole(input, settings));
    const options: ReadOptions = { layout, outputFields: whole ? settings.fields : null, keepIndexes: !whole };
    ranges.push(await readInput(input, options, assembler, pool, (bytes) => progress.advance(bytes, 'reading')));
  }
  const batch = finish(assembler, inputs[0], join !== undefined);
  if (layout.batch) requireBatches(batch, layout.batch.parts.map(({ column }) => column.text).join('+'));
  if (batch.facts.rewardsFromText > 0)
    warnings.push(`${batch.facts.rewardsFromText} rewards were text and are read as the numbers that they spell`);
  if (!join) return { batch, ranges, warnings };
  const { other, name } = await readJoined(assembler, join, settings);
  const joined = joinBatches(batch, other, { key: layout.key!.parts[0].column.text, other: name });
  if (joined.unused > 0) warnings.push(`${joined.unused} rows of ${name} have no partner and do not count`);
  return { batch: { ...batch, columns: joined.columns }, ranges, warnings };
}

function newAssembler(layout: Layout, namesFiles: boolean, keyIds?: Assembler['keyIds']): Assembler {
  const rewardKey = layout.reward?.key;
  return new Assembler(new Places(namesFiles), { rewardKey, groupSize: layout.groupSize }, keyIds);
}

/** @throws InputError that lists the fields where the layout's reward is nowhere */
function finish(assembler: Assembler, input: Input, rewardsMayLack: boolean): AssembledBatch {
  const batch = assembler.finish();
  const { rewardNeverThere, names } = batch.facts;
  if (!rewardNeverThere || rewardsMayLack) return batch;
  const fields = names.length > 0 ? `; the fields are ${names.join(', ')}` : '';
  throw new InputError(
    `${input.name}: no row has a reward${fields}: --from names another layout (rollnorm presets lists them), --map reward=COLUMN another column`,
  );
}

/** @throws InputError naming the first row that is of no batch */
function requireBatches({ columns, side }: AssembledBatch, name: string): void {
  if (columns.rowCount === 0) return;
  const row = side.batchCodes ? side.batchCodes.indexOf(NO_ID) : 0;
  if (row >= 0)
    throw new InputError(`${columns.place(row)}: has no ${name}, by which batches are told apart (--batch-by)`);
}

async function readJoined(
  assembler: Assembler,
  { path, layout }: NonNullable<RunSettings['join']>,
  { maxLine, pool }: RunSettings,
): Promise<{ other: AssembledBatch; name: string }> {
  const input = await openInput(path, { layout, maxLine });
  try {
    const joined = newAssembler(layout, false, assembler.keyIds);
    await readInput(input, { layout, outputFields: null, keepIndexes: false }, joined, pool);
    return { other: finish(joined, input, false), name: input.name };
  } finally {
    await input.close();
  }
}

function whyNotWhole(input: Input, { format }: RunSettings): string[] {
  const what = 'written instead: file, row, the ids, raw_reward and advantage (as with --only)';
  if (!input.keepsRows) {
    const why = input.format === 'torch' ? '.pt files have no writer' : 'a record of this layout holds several rows';
    return [`${why}; ${what}`];
  }
  return format === input.format ? [] : [`whole rows are not turned from ${input.format} into ${format}; ${what}`];
}

interface Normalized {
  readonly advantages: Float32Array;
  readonly reports: readonly Report[];
  readonly recorded: RecordedComparison | null;
}

async function normalizeBatch(
  { columns, side, facts }: AssembledBatch,
  { options, engine, layout }: RunSettings,
): Promise<Normalized> {
  const own = facts.promptGroupSizes;
  const sized = own && options.promptGroupSizes === undefined ? { ...options, promptGroupSizes: own } : options;
  const reports: Report[] = [];
  const advantages = new Float32Array(columns.rowCount);
  for (const { columns: part, rows } of splitByCode(columns, side.batchCodes)) {
    if (rows && sized.promptGroupSizes) throw new UsageError('--prompt-group-sizes with several batches');
    const result = await engine.normalizeColumns(part, rows ? options : { ...sized, output: advantages });
    reports.push(result.report);
    if (rows) for (let i = 0; i < rows.length; i++) advantages[rows[i]] = result.advantages[i];
  }
  const { recorded } = side;
  if (!recorded || reports.length > 1 || !layout.recorded) return { advantages, reports, recorded: null };
  const column = layout.recorded.text;
  return { advantages, reports, recorded: await compareRecorded(column, recorded, advantages, columns, sized, engine) };
}
