/** `rollnorm parity`: the CPU against every adapter, bit by bit. */
import { type Command, Option } from 'commander';
import { UsageError } from '../errors.ts';
import { listAdapterNames } from '../kernels/webgpu/adapters.ts';
import { FIXED_CASES } from '../parity/generate.ts';
import { junitOf } from '../parity/junit.ts';
import { describeParity, type ParityRun } from '../parity/render.ts';
import { type AdapterResult, generatedItems, runParity } from '../parity/run.ts';
import { packageVersion } from '../version.ts';
import { addInputFlags } from './flags/input.ts';
import { addRuleFlags, type RuleFlags } from './flags/rule.ts';
import { parseCount, parseKeys, parseName, parseSeconds } from './options.ts';
import { itemsOf } from './parity/items.ts';
import { writeReproducers, writeWhole } from './parity/reproducers.ts';
import { compareRows, type RowsFlags } from './parity/rows.ts';
import { print } from './print.ts';

/** As commander gives them. */
interface Flags extends RowsFlags, RuleFlags {
  adapter?: string;
  gpuTimeout?: number;
  budget?: number;
  seed?: number;
  junit?: string;
  reproducer: string;
  rows?: true;
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
  const { seed = 1, budget } = flags;
  const names = await adapterNames(flags.adapter);
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
  const reproducers = await writeReproducers(run, flags.reproducer);
  if (flags.junit !== undefined) await writeWhole(flags.junit, junitOf(run));
  await print(flags.json ? `${JSON.stringify(jsonOf(run, reproducers), null, 2)}\n` : describeParity(run, reproducers));
  if (!run.passed) process.exitCode = 1;
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
