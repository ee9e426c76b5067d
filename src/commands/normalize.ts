/** `rollnorm normalize`: rows in, the same rows with their advantage out. */
import { type Command, Option } from 'commander';
import { createEngine } from '../engine.ts';
import { InputError, UsageError } from '../errors.ts';
import { ESTIMATORS, type EstimatorName } from '../estimators/estimators.ts';
import {
  EXCLUSION_REASONS,
  type ExclusionReason,
  SIBLING_POLICIES,
  type SiblingPolicy,
} from '../estimators/policies.ts';
import { type ByteSource, openByteSource } from '../io/byte-source.ts';
import type { OutputFields } from '../io/jsonl/fields.ts';
import { readColumns } from '../io/jsonl/read-columns.ts';
import { ReaderGone, writeRows } from '../io/jsonl/write-rows.ts';
import { type Output, openOutput } from '../io/output.ts';
import { BACKENDS, type BackendChoice, checkOptions, type EngineOptions, type NormalizeOptions } from '../options.ts';
import type { Report } from '../report.ts';
import { packageVersion } from '../version.ts';
import {
  parseCount,
  parseDdof,
  parseEpsilon,
  parseList,
  parseName,
  parsePositive,
  parseSeconds,
  parseSizes,
} from './options.ts';
import { Progress } from './progress.ts';
import { refuseTargets } from './targets.ts';

/** Options as commander gives them. */
interface Flags {
  output?: string;
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
      'Reads one batch of rollout rows (JSONL, plain or gzip) and writes every row back with two fields added:\n' +
        'raw_reward, its own reward, and advantage, one value for all rows of a rollout.',
    )
    .argument('[file...]', 'the batch; - or none reads standard input')
    .option('-o, --output <file>', 'where the rows go; .gz compresses; - or none is standard output')
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

async function normalizeCommand(files: string[], flags: Flags): Promise<void> {
  const options = normalizeOptions(flags);
  const fields = outputFields(flags);
  checkOptions(options);
  if (files.length > 1) throw new UsageError(`one file at a time, got ${files.length}: ${files.join(', ')}`);
  const input = files[0] ?? '-';
  const { output: target = '-', summary } = flags;
  refuseTargets(input, { '--output': target, '--summary': summary });
  const engine = createEngine(engineOptions(flags));
  if (input === '-' && process.stdin.isTTY) process.stderr.write(TERMINAL_NOTE);
  const source = await openByteSource(input);
  const outputs: Output[] = [];
  try {
    // Both are opened before any work, so that a folder that is not there costs no time.
    outputs.push(await openOutput(target));
    if (summary !== undefined) outputs.push(await openOutput(summary, { compress: 'none' }));
    const report = await run({ source, output: outputs[0], flags, fields, options, engine });
    process.stderr.write(describeRun(report));
    await outputs[1]?.write(Buffer.from(`${JSON.stringify(report, null, 2)}\n`));
    await outputs[1]?.commit();
  } catch (error) {
    for (const output of outputs) await output.abort();
    throw named(source.name, error);
  } finally {
    await source.close();
    await engine.close();
  }
}

const TERMINAL_NOTE = 'rollnorm: reading rows from the terminal; Ctrl-D ends them\n';

/** Puts the file's name before what is wrong with its rows. */
function named(name: string, error: unknown): unknown {
  if (!(error instanceof InputError) || error.message.startsWith(`${name}: `)) return error;
  return new InputError(`${name}: ${error.message}`, { cause: error });
}

interface Run {
  readonly source: ByteSource;
  readonly output: Output;
  readonly flags: Flags;
  readonly fields: OutputFields;
  readonly options: NormalizeOptions;
  readonly engine: ReturnType<typeof createEngine>;
}

type Summary = Omit<Report, 'seconds'> & {
  readonly seconds: { readonly read: number; readonly plan: number; readonly compute: number; readonly write: number };
  readonly version: string;
};

/** File to columns, columns to advantages, lines and advantages to the output. */
async function run({ source, output, flags, fields, options, engine }: Run): Promise<Summary> {
  const { rewardKey, maxLine } = flags;
  const passes = source.compressed || source.byteLength === undefined ? undefined : source.byteLength * 2;
  const progress = new Progress(passes);
  try {
    const started = performance.now();
    const chunks = progress.watch(source.chunks(), 'reading');
    const columns = await readColumns(chunks, { rewardKey, maxLine, outputFields: fields });
    const read = performance.now();
    const { advantages, rawRewards, report } = await engine.normalizeColumns(columns, options);
    const computed = performance.now();
    const values = { advantages, rawRewards };
    await writeRows(source.name, progress.watch(source.chunks(), 'writing'), maxLine, values, fields, output).catch(
      ignoreClosedPipe,
    );
    await output.commit();
    const seconds = { read: (read - started) / 1000, ...report.seconds, write: (performance.now() - computed) / 1000 };
    return { ...report, seconds, version: packageVersion() };
  } finally {
    progress.stop();
  }
}

function ignoreClosedPipe(error: unknown): void {
  if (!(error instanceof ReaderGone)) throw error;
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

/** Warnings, then one line that says what was done and where. */
function describeRun(summary: Summary): string {
  const {
    rows,
    rollouts,
    groups,
    grouping,
    grouping_rule,
    estimator,
    seconds,
    warnings,
    backend,
    backend_reason,
    adapter,
  } = summary;
  const place = backend === 'cpu' ? 'CPU' : `${adapter?.description}${adapter?.software ? ' (software)' : ''}`;
  const time = seconds.read + seconds.plan + seconds.compute + seconds.write;
  const counts = `${rows} rows, ${rollouts} rollouts, ${groups} prompt groups`;
  const lines = warnings.map((warning) => `rollnorm: warning: ${warning}\n`);
  lines.push(
    `rollnorm: ${counts} by ${grouping_rule} (tier ${grouping}); ${estimator} on ${place} (${backend_reason}); ${time.toFixed(2)} s\n`,
  );
  return lines.join('');
}
