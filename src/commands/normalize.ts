/** `rollnorm normalize`: rows in, the same rows with their advantage out. */
import { mkdirSync, statSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { createEngine } from '../engine.ts';
import { UsageError } from '../errors.ts';
import type { OutputFields } from '../io/layouts/fields.ts';
import { presetNamed } from '../io/layouts/resolve-layout.ts';
import { openOutput } from '../io/output.ts';
import { TaskPool } from '../io/task-pool.ts';
import { fileError } from '../io/temporary-files.ts';
import { checkOptions } from '../options.ts';
import { addBackendFlags, type BackendFlags, engineOptions } from './flags/backend.ts';
import {
  addInputFlags,
  bytesOfFiles,
  type InputFlags,
  inputLayout,
  joinedFile,
  threadsFor,
  withRewardWeights,
} from './flags/input.ts';
import { addRuleFlags, type RuleFlags, requireOneGrouping, ruleOptions } from './flags/rule.ts';
import { type Condition, failuresOf, parseConditions } from './normalize/fail-on.ts';
import { expandInputs, formatOfName, OUTPUT_FORMATS, type OutputFormat, outputsInFolder } from './normalize/files.ts';
import { DROP_REASONS, EMIT_FIELDS, emittedNames, rowWishes } from './normalize/row-wishes.ts';
import { type BatchFile, type RunSettings, requireFreeNames, runBatch } from './normalize/run.ts';
import {
  addReports,
  describeDropped,
  describeMerged,
  describeRecorded,
  describeRun,
  describeWarnings,
  type Failure,
  type FileSummary,
  summarize,
} from './normalize/summary.ts';
import { parseList, parseName } from './options.ts';
import { printable } from './printable.ts';
import { Progress } from './progress.ts';
import { describeError, exitStatusOf } from './report-error.ts';
import { refuseManyTargets } from './targets.ts';

/** As commander gives them. */
interface Flags extends InputFlags, RuleFlags, BackendFlags {
  output?: string;
  outDir?: string;
  resume?: true;
  only?: true;
  emit?: string[];
  drop?: string[];
  to?: OutputFormat;
  advantageField: string;
  rawRewardField: string;
  overwrite?: boolean;
  summary?: string;
  failOn?: string[];
}

export function addNormalize(program: Command): void {
  const command = program
    .command('normalize')
    .summary('rows in, the same rows with their advantage out')
    .description(
      'Reads rollout rows (JSONL, plain, gzip or zstd; Parquet; Arrow; torch .pt) and writes every row back with two\n' +
        'fields added: raw_reward, its own reward, and advantage, one value for all rows of a rollout.',
    )
    .argument('[file...]', 'files or directories, each file a batch; - or none reads standard input')
    .option('-o, --output <file>', 'where the rows of one file go; .gz and .zst compress; - or none is standard output')
    .option(
      '--out-dir <dir>',
      'where the rows of several files go, one output each under the same base name',
      parseName,
    )
    .option('--resume', 'skip files whose output is in the directory already')
    .option('--only', 'write file, row, the ids, raw_reward and advantage instead of whole rows')
    .option(
      '--emit <fields>',
      `add fields, in the order given: ${EMIT_FIELDS.join(', ')} (of the row's group)`,
      parseList,
    )
    .option('--drop <rows>', `leave out rows of these: ${DROP_REASONS.join(', ')} (--only, or JSONL)`, parseList)
    .addOption(
      new Option('--to <format>', "format of the output (default: by its name, else the input's)").choices(
        OUTPUT_FORMATS,
      ),
    )
    .option('--advantage-field <name>', 'name of the field added for the advantage', parseName, 'advantage')
    .option('--raw-reward-field <name>', "name of the field added for the row's own reward", parseName, 'raw_reward')
    .option('--overwrite', 'replace fields of these names')
    .option('--summary <file>', 'write what was done as JSON', parseName)
    .option(
      '--fail-on <conditions>',
      'exit 1, once all is written, on fallback, disagreement, flat>0.5, ...: shares, or codes of warnings',
      parseList,
    );
  addInputFlags(command);
  addRuleFlags(command);
  addBackendFlags(command);
  command.addHelpText('after', EXAMPLES).action(normalizeCommand);
}

const EXAMPLES = `
A row has the fields of a miles Sample: group_index, rollout_id (else index), reward, loss_mask or
response_length, remove_sample, status. Rows of a prompt group need not stand together.

Examples:
  rollnorm normalize rollouts.jsonl -o with-advantages.jsonl
  zcat dump.jsonl.gz | rollnorm normalize --advantage-estimator dr_grpo | head -1
  rollnorm normalize rollouts.jsonl --exclude aborted,missing-reward --summary run.json > out.jsonl
`;

async function normalizeCommand(paths: string[], flags: Flags): Promise<void> {
  const options = withRewardWeights(ruleOptions(flags), flags);
  const { estimator } = checkOptions(options);
  const { perReward } = estimator;
  const layout = inputLayout(flags, perReward);
  const wishes = rowWishes(flags, estimator, layout);
  const fields = outputFields(flags, emittedNames(wishes));
  requireOneGrouping(flags);
  const conditions = parseConditions(flags.failOn ?? []);
  const { files, passedOver, hasFolder } = expandInputs(
    paths.length > 0 ? paths : ['-'],
    presetNamed(flags.from ?? 'miles').passesOver,
  );
  const join = joinedFile(flags, perReward);
  const oneBatch =
    flags.oneBatch ?? (several(files, hasFolder) && (presetNamed(flags.from ?? 'miles').oneBatch ?? false));
  const batches = planBatches(files, hasFolder, oneBatch, flags);
  refuseManyTargets(
    join ? [...files, join.path] : files,
    batches.flatMap((batch) => batch.map(({ output }) => output)),
    flags.summary,
  );
  for (const path of passedOver) process.stderr.write(`rollnorm: passed over ${path}\n`);
  if (files.includes('-') && process.stdin.isTTY) process.stderr.write(TERMINAL_NOTE);
  const engine = createEngine(engineOptions(flags));
  const pool = new TaskPool(threadsFor(files, flags));
  const bytes = bytesOfFiles(files);
  const progress = new Progress(bytes === undefined ? undefined : PASSES * bytes);
  const settings: RunSettings = {
    layout,
    fields,
    wishes,
    options,
    oneBatch,
    maxLine: flags.maxLine,
    only: flags.only ?? false,
    format: flags.to ?? (flags.output === undefined ? undefined : formatOfName(flags.output)),
    join,
    pool,
    engine,
    progress,
  };
  try {
    await runBatches(batches, settings, flags, conditions, files.length === 1);
  } finally {
    progress.stop();
    await pool.close();
    await engine.close();
  }
}

const TERMINAL_NOTE = 'rollnorm: reading rows from the terminal; Ctrl-D ends them\n';
/** Rows are read once and written once. */
const PASSES = 2;

function several(files: readonly string[], hasFolder: boolean): boolean {
  return files.length > 1 || hasFolder;
}

/** Each file a batch, or all of them one; and where each one's rows go. */
function planBatches(files: readonly string[], hasFolder: boolean, oneBatch: boolean, flags: Flags): BatchFile[][] {
  const { output, outDir, resume } = flags;
  if (output !== undefined && outDir !== undefined) throw new UsageError('--output and --out-dir exclude each other');
  if (resume && outDir === undefined) throw new UsageError('--resume needs --out-dir');
  if (several(files, hasFolder) && outDir === undefined)
    throw new UsageError(`${files.length} files need --out-dir: one output each under the same base name`);
  if (outDir !== undefined && files.includes('-')) throw new UsageError('--out-dir needs files that have a name');
  if (flags.promptGroupSizes && ((files.length > 1 && !oneBatch) || flags.batchBy !== undefined))
    throw new UsageError('--prompt-group-sizes is for one batch, not for several');
  if (outDir === undefined) return [[{ file: files[0], output: output ?? '-' }]];
  const outputs = outputsInFolder(outDir, files, flags.to);
  const named = files.map((file, i) => ({ file, output: outputs[i] }));
  return oneBatch ? [named] : named.map((file) => [file]);
}

async function runBatches(
  batches: BatchFile[][],
  settings: RunSettings,
  flags: Flags,
  conditions: readonly Condition[],
  isOne: boolean,
): Promise<void> {
  const { summary, outDir, resume } = flags;
  if (outDir !== undefined) makeFolder(outDir);
  const summaryOutput = summary === undefined ? undefined : await openOutput(summary, { compress: 'none' });
  const done: FileSummary[] = [];
  const failures: (Failure & { status: number })[] = [];
  const skipped: string[] = [];
  try {
    const waiting = batches.filter((batch) => {
      const isThere = resume && batch.every(({ output }) => isFile(output));
      if (isThere) skipped.push(...batch.map(({ file }) => file));
      return !isThere;
    });
    const runOne = async (batch: BatchFile[]) => {
      try {
        const summaries = (await runBatch(batch, settings)).map((one) => judged(one, conditions));
        for (const one of summaries) reportFile(one, isOne);
        done.push(...summaries);
      } catch (error) {
        if (isOne) throw error;
        settings.progress.stop();
        const { text, message } = describeError(error);
        process.stderr.write(text);
        failures.push({ file: nameOf(batch), error: message, status: exitStatusOf(error) });
      }
    };
    await forEachConcurrently(waiting, settings.pool.threads, runOne);
    if (!isOne) reportTotal(done, failures, skipped, batches.length);
    const order = new Map(batches.map((batch, i) => [nameOf(batch), i]));
    done.sort((a, b) => order.get(a.file)! - order.get(b.file)!);
    failures.sort((a, b) => order.get(a.file)! - order.get(b.file)!);
    const text = JSON.stringify(summarize(done, failures, skipped, isOne), null, 2);
    await summaryOutput?.write(Buffer.from(`${text}\n`));
    await summaryOutput?.commit();
  } catch (error) {
    await summaryOutput?.abort();
    throw error;
  }
  for (const one of done) process.stderr.write(describeFailedOn(one, conditions, isOne ? undefined : one.file));
  if (failures.length > 0) process.exitCode = Math.max(...failures.map(({ status }) => status));
  else if (done.some(({ failed_on }) => failed_on && failed_on.length > 0)) process.exitCode = CONDITION_FAILED;
}

const CONDITION_FAILED = 1;

function judged(summary: FileSummary, conditions: readonly Condition[]): FileSummary {
  if (conditions.length === 0) return summary;
  return { ...summary, failed_on: failuresOf(summary, conditions).map(({ condition }) => condition) };
}

function describeFailedOn(summary: FileSummary, conditions: readonly Condition[], file?: string): string {
  const name = file === undefined ? '' : `${printable(file)}: `;
  const lines = failuresOf(summary, conditions).map(
    ({ condition, why }) => `failed on ${condition}: ${printable(why)}`,
  );
  return lines.map((line) => `rollnorm: ${name}${line}\n`).join('');
}

function nameOf(batch: readonly BatchFile[]): string {
  return batch.map(({ file }) => file).join(', ');
}

/** A directory of an output's name is no output. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (cause) {
    throw fileError(path, 'cannot make the directory', cause);
  }
}

function reportFile(summary: FileSummary, isOne: boolean): void {
  const name = isOne ? undefined : printable(summary.file);
  if (summary.merged_ids) process.stderr.write(describeMerged(summary.merged_ids));
  process.stderr.write(describeWarnings(summary.warnings, name) + describeRun(summary, name));
  if (summary.dropped) process.stderr.write(describeDropped(summary.dropped, name));
  if (summary.recorded) process.stderr.write(describeRecorded(summary.recorded));
}

function reportTotal(
  done: readonly FileSummary[],
  failures: readonly Failure[],
  skipped: readonly string[],
  batchCount: number,
): void {
  const rows = done.length > 0 ? addReports(done).rows : 0;
  const batches = done.reduce((sum, { batches }) => sum + batches, 0);
  const what = done.length === batchCount ? `${batches} batches` : `${done.length} of ${batchCount} files`;
  const parts = [`${what} done, ${rows} rows`];
  if (skipped.length > 0) parts.push(`${skipped.length} files skipped, their outputs are there`);
  if (failures.length > 0) parts.push(`${failures.length} failed`);
  process.stderr.write(`rollnorm: ${parts.join('; ')}\n`);
}

/** @throws what a visit throws, once all that have begun have ended */
async function forEachConcurrently<T>(
  items: readonly T[],
  count: number,
  visit: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const lane = async () => {
    while (next < items.length && !failed) {
      await visit(items[next++]).catch((error) => {
        failed = true;
        throw error;
      });
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: Math.max(1, Math.min(count, items.length)) }, lane));
  for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason;
}

function outputFields(
  { advantageField, rawRewardField, overwrite = false, only }: Flags,
  extra: string[],
): OutputFields {
  if (advantageField === rawRewardField) {
    throw new UsageError(`--advantage-field and --raw-reward-field must differ, both are '${advantageField}'`);
  }
  const names = [advantageField, rawRewardField, ...extra];
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new UsageError(`two of the added fields are called '${twice}'`);
  const fields = { advantage: advantageField, rawReward: rawRewardField, extra, overwrite };
  if (only) requireFreeNames(fields);
  return fields;
}
