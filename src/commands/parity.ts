/** `rollnorm parity`: the CPU against every adapter, bit by bit. */
import { type Command, Option } from 'commander';
import { UsageError } from '../errors.ts';
import { listAdapterNames } from '../kernels/webgpu/adapters.ts';
import { FIXED_CASES } from '../parity/generate.ts';
import { junitOf } from '../parity/junit.ts';
import type { Matching } from '../parity/recordings.ts';
import { describeParity, type ParityRun } from '../parity/render.ts';
import { type AdapterResult, generatedItems, runParity } from '../parity/run.ts';
import { packageVersion } from '../version.ts';
import { addInputFlags } from './flags/input.ts';
import { addRuleFlags, type RuleFlags, ruleOptions } from './flags/rule.ts';
import { parseCount, parseKeys, parseName, parseSeconds } from './options.ts';
import { isReproducer, itemsOf } from './parity/items.ts';
import { writeReproducers, writeWhole } from './parity/reproducers.ts';
import { compareRows, type RowsFlags } from './parity/rows.ts';
import { print } from './print.ts';
import { printable } from './printable.ts';
import { refuseOtherTargets } from './targets.ts';

/** As commander gives them. */
interface Flags extends Omit<RowsFlags, 'matchBy'>, RuleFlags {
  adapter?: string;
  gpuTimeout?: number;
  budget?: number;
  seed?: number;
  junit?: string;
  reproducer?: string;
  rows?: true;
  matchBy?: Matching;
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
        'with --rows, which rows belong together: by their order (default), or by the ids of group and rollout',
      ).choices(['order', 'identity']),
    )
    .option('--reproducer <file>', `where the first difference goes (default: ${REPRODUCER})`, parseName);
  addInputFlags(command);
  addRuleFlags(command);
  command.addHelpText('after', EXIT_HELP).action(parityCommand);
}

const REPRODUCER = 'rollnorm-parity.json';
const EXIT_HELP =
  '\nExit status: 0 equal, 1 a difference or a planted fault that was not noticed, 2 usage, 3 bad input, 4 no such\n' +
  'adapter, 70 an internal error, 74 a read or a write failed, 130 and 143 stopped by a signal.';

async function parityCommand(paths: string[], flags: Flags): Promise<void> {
  if (flags.rows) {
    refuseWithRows(flags);
    return compareRows(paths, { ...flags, matchBy: flags.matchBy ?? 'order' });
  }
  if (flags.ignore) throw new UsageError('--ignore is for --rows');
  if (flags.matchBy) throw new UsageError('--match-by is for --rows');
  if (paths.length > 0 && (flags.budget !== undefined || flags.seed !== undefined))
    throw new UsageError('--budget and --seed are for generated batches, not for files');
  const started = performance.now();
  const { seed = 1, budget } = flags;
  const names = await adapterNames(flags.adapter);
  // What is run again is there to be run again.
  const isReplay = paths.some(isReproducer);
  const reproducer = flags.reproducer ?? (isReplay ? null : REPRODUCER);
  refuseOtherTargets(paths, [
    ...(flags.junit === undefined ? [] : [['--junit', flags.junit] as const]),
    ...(reproducer === null ? [] : [['--reproducer', reproducer] as const]),
  ]);
  const items = await itemsOf(paths, flags);
  const deadline = budget === undefined ? Number.POSITIVE_INFINITY : started + budget * 1000;
  const adapters: AdapterResult[] = [];
  for (const adapter of names) {
    const options = {
      adapter,
      timeoutMs: flags.gpuTimeout === undefined ? undefined : flags.gpuTimeout * 1000,
      deadline: shareOf(deadline, names, adapters.length),
      leastCases: items === null ? FIXED_CASES : undefined,
    };
    adapters.push(await runParity(items ?? generatedItems(seed, budget !== undefined), options));
  }
  const run: ParityRun = {
    version: packageVersion(),
    seed: items === null ? seed : null,
    seconds: (performance.now() - started) / 1000,
    adapters,
    passed: adapters.every(({ passed }) => passed),
  };
  // What cannot be written must not hide what was found.
  const failures: unknown[] = [];
  const attempt = <T>(writing: Promise<T>, otherwise: T) =>
    writing.catch((error: unknown) => {
      failures.push(error);
      return otherwise;
    });
  const reproducers = reproducer === null ? [] : await attempt(writeReproducers(run, reproducer), []);
  if (flags.junit !== undefined) await attempt(writeWhole(flags.junit, junitOf(run)), undefined);
  await print(
    flags.json ? `${JSON.stringify(jsonOf(run, reproducers), null, 2)}\n` : printable(describeParity(run, reproducers)),
  );
  if (failures.length > 0) throw failures[0];
  if (!run.passed) process.exitCode = 1;
}

/** @throws UsageError on a flag that --rows does not read */
function refuseWithRows({ adapter, gpuTimeout, budget, seed, junit, reproducer, ...flags }: Flags): void {
  const others = { adapter, gpuTimeout, budget, seed, junit, reproducer, ...ruleOptions(flags) };
  const stranger = Object.entries(others).find(([, value]) => value !== undefined);
  if (stranger)
    throw new UsageError(`--rows compares two recordings and computes nothing: ${stranger[0]} has no meaning with it`);
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

function jsonOf(run: ParityRun, reproducers: readonly string[]): unknown {
  const adapters = run.adapters.map(({ reproducer: _, ...rest }) => rest);
  return { ...run, adapters, reproducers };
}
