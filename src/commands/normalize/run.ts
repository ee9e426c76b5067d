/** A batch's way: files to columns, columns to advantages, rows and advantages to the outputs. */
import type { Engine } from '../../engine.ts';
import { UsageError } from '../../errors.ts';
import { needsIndexes, writeSidecarColumns } from '../../io/binary-output.ts';
import { type Input, openInput } from '../../io/input.ts';
import type { OutputFields } from '../../io/layouts/fields.ts';
import { type Output, openOutput } from '../../io/output.ts';
import { named } from '../../io/read-input.ts';
import { SIDECAR_NAMES, writeSidecarLines } from '../../io/sidecar.ts';
import { type RowResults, sliceResults, writeInputRows } from '../../io/write-input-rows.ts';
import { checkOptions, type NormalizeOptions } from '../../options.ts';
import { prepareBatch } from '../../prepare.ts';
import type { Report } from '../../report.ts';
import type { AssembledBatch } from '../../samples/assembler.ts';
import type { SampleColumns } from '../../samples/columns.ts';
import { splitByCode } from '../../samples/split.ts';
import { type ReadSettings, readBatch } from '../read-batch.ts';
import type { OutputFormat } from './files.ts';
import { countMergedIds } from './merged-ids.ts';
import { compareRecorded, type RecordedComparison } from './recorded.ts';
import { type Dropped, RowFacts } from './row-facts.ts';
import { needsDetails, type RowWishes, refuseDropFromWholeRows } from './row-wishes.ts';
import { addReports, type FileSummary, withWarnings } from './summary.ts';

export interface RunSettings extends ReadSettings {
  readonly fields: OutputFields;
  readonly options: NormalizeOptions;
  readonly wishes: RowWishes;
  /** A sidecar instead of whole rows. */
  readonly only: boolean;
  /** All files are one batch, also where there is but one. */
  readonly oneBatch: boolean;
  /** Asked for by name; undefined: the input's own. */
  readonly format: OutputFormat | undefined;
  readonly engine: Engine;
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
    await Promise.allSettled(outputs.map((output) => output.abort()));
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
  const drops = settings.wishes.drop.length > 0;
  for (const input of inputs) if (writesWholeRows(input, settings)) refuseDropFromWholeRows(input, settings.wishes);
  const notWhole = inputs.filter((input) => !writesWholeRows(input, settings));
  if (notWhole.length > 0) requireFreeNames(settings.fields);
  const { batch, ranges, warnings } = await readBatch(inputs, settings, (input) =>
    writesWholeRows(input, settings)
      ? { outputFields: settings.fields, keepIndexes: false }
      : { outputFields: null, keepIndexes: needsIndexes(input, sidecarFormat(input, settings), drops) },
  );
  const surprises = settings.only ? [] : notWhole.flatMap((input) => whyNotWhole(input, settings));
  const formatWarnings = [...new Set(surprises)];
  const read = performance.now();
  const { results, dropped, reports, recorded } = await normalizeBatch(batch, settings);
  const report = addReports(reports);
  const computed = performance.now();
  for (let i = 0; i < inputs.length; i++) await writeFile(i);
  const seconds = {
    read: (read - started) / 1000,
    plan: report.seconds.plan,
    compute: report.seconds.compute,
    write: (performance.now() - computed) / 1000,
  };
  const all = { ...report, ...withWarnings(report, [...formatWarnings, ...warnings]) };
  const more = {
    ...(dropped && { dropped }),
    ...(recorded && { recorded }),
    ...(settings.oneBatch && { merged_ids: countMergedIds(batch.columns, ranges) }),
  };
  const common = { ...all, batches: reports.length, preset: settings.layout.preset, ...more, seconds };
  const output = outputs.length === 1 ? files[0].output : null;
  return [{ ...common, file: files.map(({ file }) => file).join(', '), output }];

  async function writeFile(i: number): Promise<void> {
    const input = inputs[i];
    const range = ranges[i];
    const end = range.firstRow + range.rowCount;
    if (writesWholeRows(input, settings)) {
      const own = sliceResults(results, range.firstRow, end);
      const advance = (bytes: number) => settings.progress.advance(bytes, 'writing');
      await writeInputRows(input, range, own, settings.fields, outputs[i], settings.pool, advance);
    } else {
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
  settings: RunSettings,
  output: Output,
): Promise<void> {
  const format = sidecarFormat(input, settings);
  if (format === 'jsonl') return writeSidecarLines(sidecar, output);
  await writeSidecarColumns(input, sidecar, format, output, settings.pool);
}

function sidecarFormat(input: Input, { format }: RunSettings): OutputFormat {
  return format ?? (input.format === 'torch' ? 'jsonl' : input.format);
}

/** Whole rows are written in the input's own format, if it has a writer. */
export function writesWholeRows(input: Input, { only, format }: RunSettings): boolean {
  return !only && input.keepsRows && (format === undefined || format === input.format);
}

/** @throws UsageError where a field of a sidecar would have the name of another */
export function requireFreeNames({ advantage, rawReward }: OutputFields): void {
  for (const [option, name] of [
    ['--advantage-field', advantage],
    ['--raw-reward-field', rawReward],
  ])
    if (SIDECAR_NAMES.includes(name))
      throw new UsageError(`${option} ${name}: rows that are not written whole have a field of that name already`);
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
  readonly results: RowResults;
  readonly dropped: Dropped | null;
  readonly reports: readonly Report[];
  readonly recorded: RecordedComparison | null;
}

async function normalizeBatch(
  { columns, side, facts }: AssembledBatch,
  { options, engine, layout, wishes }: RunSettings,
): Promise<Normalized> {
  const own = facts.promptGroupSizes;
  const sized = own && options.promptGroupSizes === undefined ? { ...options, promptGroupSizes: own } : options;
  const reports: Report[] = [];
  const advantages = new Float32Array(columns.rowCount);
  let rawRewards = columns.rewards;
  const wantsFacts = wishes.emit.length > 0 || wishes.drop.length > 0;
  const rowFacts = wantsFacts ? new RowFacts(wishes, columns) : null;
  const { estimator } = checkOptions(options);
  for (const { columns: part, rows } of splitByCode(columns, side.batchCodes)) {
    const partOptions = rows ? options : { ...sized, output: advantages };
    const prepared = prepareBatch(part, partOptions);
    const result = await engine.normalizePlanned(prepared, partOptions, needsDetails(wishes));
    rowFacts?.add(prepared.plan, result.details, estimator, rows);
    reports.push(withPlaces(result.report, columns, rows));
    if (!rows) rawRewards = result.rawRewards;
    else {
      if (options.rewardWeights && rawRewards === columns.rewards) rawRewards = columns.rewards.slice();
      for (let i = 0; i < rows.length; i++) {
        advantages[rows[i]] = result.advantages[i];
        rawRewards[rows[i]] = result.rawRewards[i];
      }
    }
  }
  const { recorded } = side;
  const results = { rawRewards, advantages, extras: rowFacts?.columns() ?? [], keep: rowFacts?.keep ?? null };
  const normalized = { results, dropped: rowFacts?.dropped ?? null, reports };
  if (!recorded || reports.length > 1 || !layout.recorded) return { ...normalized, recorded: null };
  const column = layout.recorded.text;
  return {
    ...normalized,
    recorded: await compareRecorded(column, recorded, advantages, columns, sized, engine),
  };
}

/** Examples by the rows of the whole, wherever a batch is part of it, and by where they stand. */
function withPlaces(report: Report, { place }: SampleColumns, rows: Uint32Array | null): Report {
  const examples = report.siblings.examples.map((example) => {
    const own = example.rows.map((row) => (rows ? rows[row - 1] + 1 : row));
    return { ...example, rows: own, places: own.map((row) => place(row - 1)) };
  });
  return { ...report, siblings: { ...report.siblings, examples } };
}
