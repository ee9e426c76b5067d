/** `rollnorm parity`: the CPU against every adapter, bit by bit. */
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { InputError, UsageError } from '../errors.ts';
import { openOutput } from '../io/output.ts';
import { named } from '../io/read-input.ts';
import { listAdapterNames } from '../kernels/webgpu/adapters.ts';
import { checkOptions, type NormalizeOptions } from '../options.ts';
import { FIXED_CASES } from '../parity/generate.ts';
import type { Matching } from '../parity/recordings.ts';
import { describeParity, junitOf, type ParityRun } from '../parity/render.ts';
import { REPRODUCER_MARK, readReproducer, writeReproducer } from '../parity/reproducer.ts';
import { type AdapterResult, generatedItems, type ParityItem, runParity } from '../parity/run.ts';
import { prepareBatch } from '../prepare.ts';
import { columnsOfBatch } from '../samples/batch.ts';
import { packageVersion } from '../version.ts';
import { optionsFor, readBatches } from './batches.ts';
import { addInputFlags, type InputFlags, withRewardWeights } from './flags/input.ts';
import { addRuleFlags, type RuleFlags, ruleOptions } from './flags/rule.ts';
import { parseCount, parseKeys, parseName, parseSeconds } from './options.ts';
import { compareRecordings, describeRecordings } from './parity-rows.ts';
import { print } from './print.ts';
import { printable } from './printable.ts';

/** As commander gives them. */
interface Flags extends InputFlags, RuleFlags {
  adapter?: string;
  gpuTimeout?: number;
  budget?: number;
  seed?: number;
  json?: true;
  junit?: string;
  reproducer: string;
  rows?: true;
  ignore?: string[];
  matchBy: Matching;
}

export function addParity(program: Command): void {
  const command = program
    .command('parity')
    .summary('CPU against every adapter, bit by bit; exit 1 on a difference')
    .description(
      'Computes batches on the CPU and on every WebGPU adapter, a software one too, and compares counts,\n' +
        'representatives, moments and advantages bit by bit. Without a file the batches are generated: they meet every\n' +
        'kernel, every threshold of shape and every class of values. Each run also plants faults on the adapter and must\n' +
        'notice them. A file that an earlier run left as a reproducer is run again.',
    )
    .argument('[file...]', 'rows to compare on, or one reproducer')
    .option(
      '--adapter <text>',
      "part of the wanted adapter's name, or its number (rollnorm doctor lists them)",
      parseName,
    )
    .option('--gpu-timeout <seconds>', 'how long the GPU may leave a request unanswered (default: 60)', parseSeconds)
    .option('--budget <seconds>', 'go on with other generated batches until so much time is over', parseSeconds)
    .option('--seed <n>', 'of the generated batches (default: 1)', parseCount)
    .option('--json', 'print JSON')
    .option('--junit <file>', 'write JUnit XML too', parseName)
    .option('--rows', 'compare two recordings of one batch instead: the same rows, rollouts and groups')
    .option('--ignore <fields>', 'with --rows, fields that may differ, such as index,rollout_id', parseKeys)
    .addOption(
      new Option(
        '--match-by <what>',
        'with --rows, which rows belong together: by their order, or by the ids of group and rollout',
      )
        .choices(['order', 'identity'])
        .default('order'),
    )
    .option('--reproducer <file>', 'where the first difference goes', parseName, 'rollnorm-parity.json');
  addInputFlags(command);
  addRuleFlags(command);
  command.addHelpText('after', EXIT_HELP).action(parityCommand);
}

const EXIT_HELP = '\nExit status: 0 equal, 1 a difference or a planted fault that was not noticed, 4 no such adapter.';

async function parityCommand(paths: string[], flags: Flags): Promise<void> {
  if (flags.rows) return compareRows(paths, flags);
  if (flags.ignore) throw new UsageError('--ignore is for --rows');
  if (paths.length > 0 && (flags.budget !== undefined || flags.seed !== undefined))
    throw new UsageError('--budget and --seed are for generated batches, not for files');
  const started = performance.now();
  const seed = flags.seed ?? 1;
  const names = await adapterNames(flags.adapter);
  const { items, isGenerated } = await itemsOf(paths, flags);
  const deadline = flags.budget === undefined ? Number.POSITIVE_INFINITY : started + flags.budget * 1000;
  const timeoutMs = flags.gpuTimeout === undefined ? undefined : flags.gpuTimeout * 1000;
  const adapters: AdapterResult[] = [];
  for (const adapter of names) {
    const own = items ?? generatedItems(seed, flags.budget !== undefined);
    adapters.push(await runParity(own, { adapter, timeoutMs, deadline: shareOf(deadline, names, adapters.length) }));
  }
  const run: ParityRun = {
    version: packageVersion(),
    seed: isGenerated ? seed : null,
    seconds: (performance.now() - started) / 1000,
    adapters: adapters.map((result) => ({ ...result, ...settled(result, isGenerated && flags.budget !== undefined) })),
    passed: adapters.every((result) => settled(result, isGenerated && flags.budget !== undefined).passed),
  };
  const reproducers = await writeReproducers(run, flags.reproducer);
  if (flags.junit !== undefined) await writeWhole(flags.junit, junitOf(run));
  await print(flags.json ? `${JSON.stringify(jsonOf(run, reproducers), null, 2)}\n` : describeParity(run, reproducers));
  if (!run.passed) process.exitCode = 1;
}

async function compareRows(paths: readonly string[], flags: Flags): Promise<void> {
  const { ignore = [], matchBy: matching, json } = flags;
  const comparison = await compareRecordings(paths, flags, { ignore, matching });
  await print(json ? `${JSON.stringify(comparison, null, 2)}\n` : describeRecordings(comparison));
  if (Object.keys(comparison.differing).length > 0) process.exitCode = 1;
}

/** A run that goes on until the time is over is complete once the fixed batches are done. */
function settled(result: AdapterResult, endsByTime: boolean): Pick<AdapterResult, 'complete' | 'passed'> {
  if (!endsByTime || result.complete) return result;
  const complete = result.cases.length >= FIXED_CASES;
  const equal = result.cases.every(({ differences, fault }) => differences.length === 0 && fault === null);
  return { complete, passed: complete && equal && result.planted.every(({ noticedIn }) => noticedIn !== null) };
}

/** The adapters that are left share the time that is left. */
function shareOf(deadline: number, names: readonly unknown[], done: number): number {
  const now = performance.now();
  return now + (deadline - now) / (names.length - done);
}

/** Undefined: the system's first choice, where names cannot be listed. @throws AdapterError */
async function adapterNames(wanted: string | undefined): Promise<(string | undefined)[]> {
  if (wanted !== undefined) return [wanted];
  const names = await listAdapterNames();
  return names.length > 0 ? names : [undefined];
}

/** Null items: they are generated. */
async function itemsOf(
  paths: readonly string[],
  flags: Flags,
): Promise<{ items: readonly ParityItem[] | null; isGenerated: boolean }> {
  if (paths.length === 0) {
    if (hasRuleOrInput(flags))
      throw new UsageError('the generated batches have rules of their own: flags of rules and inputs are for files');
    return { items: null, isGenerated: true };
  }
  if (paths.some(isReproducer)) {
    if (paths.length > 1) throw new UsageError('a reproducer is run by itself');
    if (hasRuleOrInput(flags))
      throw new UsageError('a reproducer has its own rule and rows: flags of rules and inputs have no meaning with it');
    const { name, options, cut, batch } = readReproducer(paths[0], readFileSync(paths[0], 'utf8'));
    return {
      items: [
        {
          name,
          options,
          cut,
          prepare: () => inFile(paths[0], () => prepareBatch(columnsOfBatch(batch), options), true),
        },
      ],
      isGenerated: false,
    };
  }
  const options = withRewardWeights(ruleOptions(flags), flags);
  const items: ParityItem[] = [];
  for await (const batch of readBatches(paths, flags, checkOptions(options).estimator.perReward)) {
    const own: NormalizeOptions = optionsFor(batch, options, items.length);
    for (const warning of batch.warnings) process.stderr.write(`rollnorm: warning: ${printable(warning)}\n`);
    items.push({
      name: batch.name,
      options: own,
      cut: false,
      prepare: () => inFile(batch.name, () => prepareBatch(batch.columns, own)),
    });
  }
  return { items, isGenerated: false };
}

function hasRuleOrInput(flags: Flags): boolean {
  const { from, map, rewardKey, rewardColumns, groupSize, join, batchBy, oneBatch } = flags;
  const input = { from, map, rewardKey, rewardColumns, groupSize, join, batchBy, oneBatch };
  return Object.values({ ...ruleOptions(flags), ...input }).some((value) => value !== undefined);
}

/** Names the file. @param ownsOptions they are the file's too, and so is what is wrong with them */
function inFile<T>(name: string, prepare: () => T, ownsOptions = false): T {
  try {
    return prepare();
  } catch (error) {
    if (ownsOptions && error instanceof UsageError) throw new InputError(`${name}: ${error.message}`, { cause: error });
    throw named(name, error);
  }
}

const HEAD_BYTES = 1 << 16;

function isReproducer(path: string): boolean {
  // What is no plain file would lose what is read of it here.
  if (path === '-' || !statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
  try {
    const descriptor = openSync(path, 'r');
    const head = Buffer.alloc(HEAD_BYTES);
    const length = readSync(descriptor, head, 0, HEAD_BYTES, 0);
    closeSync(descriptor);
    return head.toString('latin1', 0, length).includes(`"${REPRODUCER_MARK}"`);
  } catch {
    return false; // whoever reads it as rows says what is wrong
  }
}

/** One for every adapter that differs; the second and further have the adapter's number in their name. */
async function writeReproducers({ adapters }: ParityRun, path: string): Promise<string[]> {
  const written: string[] = [];
  for (const [i, { reproducer }] of adapters.entries()) {
    if (!reproducer) continue;
    const own = written.length === 0 ? path : path.replace(/(\.[^./]*)?$/, (end) => `-${i + 1}${end}`);
    await writeWhole(own, writeReproducer(reproducer, packageVersion()));
    written.push(own);
  }
  return written;
}

async function writeWhole(path: string, text: string): Promise<void> {
  const output = await openOutput(path, { compress: 'none' });
  try {
    await output.write(Buffer.from(text));
    await output.commit();
  } catch (error) {
    await output.abort();
    throw error;
  }
}

function jsonOf(run: ParityRun, reproducers: readonly string[]): unknown {
  const adapters = run.adapters.map(({ reproducer: _, ...rest }) => rest);
  return { ...run, adapters, reproducers };
}
