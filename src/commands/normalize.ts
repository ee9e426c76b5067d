/** `rollnorm normalize`: rows in, the same rows with their advantage out. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { type Command, Option } from 'commander';
import { createEngine } from '../engine.ts';
import { RollnormError, UsageError } from '../errors.ts';
import { ESTIMATORS, type EstimatorName } from '../estimators/estimators.ts';
import {
  EXCLUSION_REASONS,
  type ExclusionReason,
  SIBLING_POLICIES,
  type SiblingPolicy,
} from '../estimators/policies.ts';
import type { OutputFields } from '../io/layouts/fields.ts';
import { presetNamed, resolveLayout } from '../io/layouts/resolve-layout.ts';
import { openOutput } from '../io/output.ts';
import { TaskPool } from '../io/task-pool.ts';
import { BACKENDS, type BackendChoice, checkOptions, type EngineOptions, type NormalizeOptions } from '../options.ts';
import { expandInputs, formatOfName, OUTPUT_FORMATS, type OutputFormat, outputsInFolder } from './normalize/files.ts';
import { type BatchFile, type RunSettings, runBatch } from './normalize/run.ts';
import {
  addReports,
  describeRecorded,
  describeRun,
  describeWarnings,
  type Failure,
  type FileSummary,
  summarize,
} from './normalize/summary.ts';
import {
  parseCount,
  parseDdof,
  parseEpsilon,
  parseList,
  parseMap,
  parseName,
  parsePositive,
  parseSeconds,
  parseSizes,
  parseWeights,
} from './options.ts';
import { printable } from './printable.ts';
import { Progress } from './progress.ts';
import { refuseManyTargets } from './targets.ts';

/** Options as commander gives them. */
interface Flags {
  output?: string;
  outDir?: string;
  resume?: true;
  oneBatch?: true;
  batchBy?: string;
  only?: true;
  to?: OutputFormat;
  from?: string;
  map?: string[];
  rewardColumns?: { name: string; weight: number }[];
  groupSize?: number;
  join?: string;
  on?: string;
  joinFrom?: string;
  threads?: number;
  advantageEstimator: EstimatorName;
  disableRewardsNormalization?: true;
  disableGrpoStdNormalization?: true;
  ddof?: 0 | 1;
  epsilon?: number;
  rewardKey?: string;
  siblings?: SiblingPolicy;
  exclude?: ExclusionReason[];
  promptGroupSizes?: number[];
  nSamplesPerPrompt?: number;
  rolloutBatchSize?: number;
  grouping: 'auto' | 'strict';
  requireIdentity?: true;
  advantageField: string;
  rawRewardField: string;
  overwrite?: boolean;
  maxLine?: number;
  backend: BackendChoice;
  adapter?: string;
  gpuMinRows?: number;
  gpuTimeout?: number;
  summary?: string;
}

export function addNormalize(program: Command): void {
  program
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
    .option('--one-batch', 'all files are one batch: equal ids across files are the same')
    .option('--batch-by <field>', 'split every file into batches by a column, such as step', parseName)
    .option('--only', 'write file, row, the ids, raw_reward and advantage instead of whole rows')
    .addOption(
      new Option('--to <format>', "format of the output (default: by its name, else the input's)").choices(
        OUTPUT_FORMATS,
      ),
    )
    .option('--from <preset>', 'the layout of the input (rollnorm presets lists them; default: miles)', parseName)
    .option<string[]>(
      '--map <field=column>',
      'take a field from another column: a.b inside objects, a+b joined',
      parseMap,
    )
    .option('--reward-columns <a=1,b=0.5>', 'the reward is the weighted sum of columns', parseWeights)
    .option('--group-size <n>', 'every n rows in turn are a prompt group', parsePositive)
    .option('--join <file>', 'take fields that the input lacks from another file', parseName)
    .option('--on <column>', 'the column that joins them', parseName)
    .option(
      '--join-from <preset>',
      'the layout of the joined file (default: miles-trajectory, for .pt miles)',
      parseName,
    )
    .option('--threads <n>', 'threads that read and write (default: the processors, at most 8)', parsePositive)
    .addOption(
      new Option('--advantage-estimator <name>', `one of ${Object.keys(ESTIMATORS).join(', ')}`).default('grpo'),
    )
    .option('--disable-rewards-normalization', 'every row keeps its own reward')
    .option('--disable-grpo-std-normalization', 'grpo, gspo, cispo: subtract the mean, do not divide')
    .option('--ddof <0|1>', 'the variance is divided by n - ddof (default: 1)', parseDdof)
    .option('--epsilon <number>', 'added to the standard deviation (default: 1e-6)', parseEpsilon)
    .option('--reward-key <key>', 'which key of an object reward counts')
    .option(
      '--siblings <policy>',
      `which row stands for its rollout: ${SIBLING_POLICIES.join(', ')} (default: mainstream, the one with most trainable tokens)`,
    )
    .option(
      '--exclude <reasons>',
      `leave rollouts out of the statistics, with advantage 0: ${EXCLUSION_REASONS.join(', ')}`,
      parseList,
    )
    .option('--prompt-group-sizes <sizes>', 'rows of each prompt group in turn, such as 2,0,2', parseSizes)
    .option('--n-samples-per-prompt <n>', 'rows of a prompt group, where rows have no group_index', parsePositive)
    .option('--rollout-batch-size <n>', 'prompt groups of the batch, likewise', parsePositive)
    .addOption(
      new Option('--grouping <mode>', 'strict refuses to group rows without group_index')
        .choices(['auto', 'strict'])
        .default('auto'),
    )
    .option('--require-identity', 'refuse rows with neither rollout_id nor index')
    .option('--advantage-field <name>', 'name of the field added for the advantage', parseName, 'advantage')
    .option('--raw-reward-field <name>', "name of the field added for the row's own reward", parseName, 'raw_reward')
    .option('--overwrite', 'replace fields of these names')
    .option('--max-line <bytes>', 'longest line (default: 268435456)', parsePositive)
    .addOption(
      new Option('--backend <name>', 'auto takes a hardware GPU where it gains time').choices(BACKENDS).default('auto'),
    )
    .option('--adapter <text>', "part of the wanted adapter's name (rollnorm doctor lists them)", parseName)
    .option('--gpu-min-rows <n>', 'rows from which auto takes a GPU (default: measured)', parseCount)
    .option('--gpu-timeout <seconds>', 'how long the GPU may leave a request unanswered (default: 60)', parseSeconds)
    .option('--summary <file>', 'write what was done as JSON', parseName)
    .addHelpText('after', EXAMPLES)
    .action(normalizeCommand);
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
  const options = normalizeOptions(flags);
  const fields = outputFields(flags);
  checkOptions(options);
  const { files, passedOver, hasFolder } = expandInputs(
    paths.length > 0 ? paths : ['-'],
    presetNamed(flags.from ?? 'miles').passesOver,
  );
  const batches = planBatches(files, hasFolder, flags);
  refuseManyTargets(
    files,
    batches.flatMap((batch) => batch.map(({ output }) => output)),
    flags.summary,
  );
  for (const path of passedOver) process.stderr.write(`rollnorm: passed over ${path}\n`);
  if (files.includes('-') && process.stdin.isTTY) process.stderr.write(TERMINAL_NOTE);
  const engine = createEngine(engineOptions(flags));
  const pool = new TaskPool(flags.threads ?? threadsFor(files));
  const progress = new Progress(totalBytes(files));
  const settings: RunSettings = {
    layout: resolveLayout(layoutRequest(flags)),
    fields,
    options,
    maxLine: flags.maxLine,
    only: flags.only ?? false,
    format: flags.to ?? (flags.output === undefined ? undefined : formatOfName(flags.output)),
    join: joinSettings(flags),
    pool,
    engine,
    progress,
  };
  try {
    await runBatches(batches, settings, flags, files.length === 1);
  } finally {
    progress.stop();
    await pool.close();
    await engine.close();
  }
}

const TERMINAL_NOTE = 'rollnorm: reading rows from the terminal; Ctrl-D ends them\n';
const MOST_THREADS = 8;
/** Starting threads costs more than reading so many bytes. */
const BYTES_WORTH_THREADS = 32 << 20;

function threadsFor(files: readonly string[]): number {
  const bytes = totalBytes(files);
  if (bytes !== undefined && bytes < BYTES_WORTH_THREADS) return 1;
  return Math.min(availableParallelism(), MOST_THREADS);
}

/** Of all passes together; undefined where it is not known beforehand. */
function totalBytes(files: readonly string[]): number | undefined {
  let bytes = 0;
  for (const file of files) {
    const stats = file === '-' ? undefined : statSync(file, { throwIfNoEntry: false });
    if (!stats?.isFile()) return undefined;
    bytes += 2 * stats.size;
  }
  return bytes;
}

/** Each file a batch, or all of them one; and where each one's rows go. */
function planBatches(files: readonly string[], hasFolder: boolean, flags: Flags): BatchFile[][] {
  const { output, outDir, resume } = flags;
  if (output !== undefined && outDir !== undefined) throw new UsageError('--output and --out-dir exclude each other');
  if (resume && outDir === undefined) throw new UsageError('--resume needs --out-dir');
  const several = files.length > 1 || hasFolder;
  if (several && outDir === undefined)
    throw new UsageError(`${files.length} files need --out-dir: one output each under the same base name`);
  if (outDir !== undefined && files.includes('-')) throw new UsageError('--out-dir needs files that have a name');
  const oneBatch = flags.oneBatch ?? (several && (presetNamed(flags.from ?? 'miles').oneBatch ?? false));
  if (flags.promptGroupSizes && ((files.length > 1 && !oneBatch) || flags.batchBy !== undefined))
    throw new UsageError('--prompt-group-sizes is for one batch, not for several');
  if (outDir === undefined) return [[{ file: files[0], output: output ?? '-' }]];
  const outputs = outputsInFolder(outDir, files, flags.to);
  const named = files.map((file, i) => ({ file, output: outputs[i] }));
  return oneBatch ? [named] : named.map((file) => [file]);
}

async function runBatches(batches: BatchFile[][], settings: RunSettings, flags: Flags, isOne: boolean): Promise<void> {
  const { summary, outDir, resume } = flags;
  const summaryOutput = summary === undefined ? undefined : await openOutput(summary, { compress: 'none' });
  const done: FileSummary[] = [];
  const failures: (Failure & { status: number })[] = [];
  const skipped: string[] = [];
  try {
    if (outDir !== undefined) mkdirSync(outDir, { recursive: true });
    const waiting = batches.filter((batch) => {
      const isThere = resume && batch.every(({ output }) => existsSync(output));
      if (isThere) skipped.push(...batch.map(({ file }) => file));
      return !isThere;
    });
    const runOne = async (batch: BatchFile[]) => {
      try {
        const summaries = await runBatch(batch, settings);
        for (const one of summaries) reportFile(one, isOne);
        done.push(...summaries);
      } catch (error) {
        if (isOne || !(error instanceof RollnormError) || error instanceof UsageError) throw error;
        settings.progress.stop();
        process.stderr.write(`rollnorm: ${printable(error.message)}\n`);
        failures.push({
          file: batch.map(({ file }) => file).join(', '),
          error: error.message,
          status: error.exitStatus,
        });
      }
    };
    await forEachConcurrently(waiting, settings.pool.threads, runOne);
    if (!isOne) reportTotal(done, failures, skipped, batches.length);
    const order = new Map(batches.map((batch, i) => [batch.map(({ file }) => file).join(', '), i]));
    done.sort((a, b) => order.get(a.file)! - order.get(b.file)!);
    const text = JSON.stringify(summarize(done, failures, skipped, isOne), null, 2);
    await summaryOutput?.write(Buffer.from(`${text}\n`));
    await summaryOutput?.commit();
  } catch (error) {
    await summaryOutput?.abort();
    throw error;
  }
  if (failures.length > 0) process.exitCode = Math.max(...failures.map(({ status }) => status));
}

function reportFile(summary: FileSummary, isOne: boolean): void {
  const name = isOne ? undefined : printable(summary.file);
  process.stderr.write(describeWarnings(summary.warnings, name) + describeRun(summary, name));
  if (summary.recorded) process.stderr.write(describeRecorded(summary.recorded));
}

function reportTotal(
  done: readonly FileSummary[],
  failures: readonly Failure[],
  skipped: readonly string[],
  batchCount: number,
): void {
  const rows = done.length > 0 ? addReports(done).rows : 0;
  const parts = [`${done.length} of ${batchCount} batches done, ${rows} rows`];
  if (skipped.length > 0) parts.push(`${skipped.length} files skipped, their outputs are there`);
  if (failures.length > 0) parts.push(`${failures.length} failed`);
  process.stderr.write(`rollnorm: ${parts.join('; ')}\n`);
}

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
  await Promise.all(Array.from({ length: Math.max(1, Math.min(count, items.length)) }, lane));
}

function layoutRequest({ from, map, rewardKey, rewardColumns, groupSize, batchBy, join, on }: Flags) {
  const key = on ?? (join === undefined ? undefined : presetNamed(from ?? 'miles').joinedOn);
  if (join !== undefined && key === undefined)
    throw new UsageError('--join needs --on: the column that joins the files');
  if (join === undefined && on !== undefined) throw new UsageError('--on needs --join: the file to join');
  return { preset: from, map, rewardKey, rewardColumns, groupSize, batchBy, key };
}

function joinSettings(flags: Flags): RunSettings['join'] {
  const { join, joinFrom, rewardKey } = flags;
  if (join === undefined) return undefined;
  const isTorch = /\.pt$/i.test(join);
  const { key } = layoutRequest(flags);
  const preset = joinFrom ?? (isTorch ? 'miles' : 'miles-trajectory');
  // A miles sample's index is what its columns file calls sample_index.
  const ownKey = key === 'sample_index' && (preset === 'miles' || preset === 'slime') ? 'index' : key;
  return { path: join, layout: resolveLayout({ preset, rewardKey, key: ownKey }) };
}

function normalizeOptions(flags: Flags): NormalizeOptions {
  return {
    estimator: flags.advantageEstimator,
    disableRewardsNormalization: flags.disableRewardsNormalization,
    disableGrpoStdNormalization: flags.disableGrpoStdNormalization,
    ddof: flags.ddof,
    epsilon: flags.epsilon,
    siblings: flags.siblings,
    exclude: flags.exclude,
    promptGroupSizes: flags.promptGroupSizes,
    nSamplesPerPrompt: flags.nSamplesPerPrompt,
    rolloutBatchSize: flags.rolloutBatchSize,
    strict: flags.grouping === 'strict',
    requireIdentity: flags.requireIdentity,
  };
}

function engineOptions({ backend, adapter, gpuMinRows, gpuTimeout }: Flags): EngineOptions {
  return { backend, adapter, gpuMinRows, timeoutMs: gpuTimeout === undefined ? undefined : gpuTimeout * 1000 };
}

function outputFields({ advantageField, rawRewardField, overwrite = false }: Flags): OutputFields {
  if (advantageField === rawRewardField) {
    throw new UsageError(`--advantage-field and --raw-reward-field must differ, both are '${advantageField}'`);
  }
  return { advantage: advantageField, rawReward: rawRewardField, overwrite };
}
