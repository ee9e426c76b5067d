/** Decides, by measuring on this host, from how many rows on a GPU gains time over the CPU. */
import { UsageError } from './errors.ts';
import { resolveEstimator } from './estimators/estimators.ts';
import { resolvePolicies } from './estimators/policies.ts';
import type { Executor } from './kernels/executor.ts';
import { runProgram } from './kernels/program.ts';
import type { AdapterDescription } from './kernels/webgpu/adapter-description.ts';
import type { Work } from './kernels/work.ts';
import { planBatch } from './plan/plan.ts';
import { columnsOfBatch } from './samples/batch.ts';

export interface CrossoverOptions {
  /** Rows from which `auto` takes a hardware GPU, >= 0; 0 always, Infinity never. Default: measured once per engine, when a batch is large enough to matter. */
  readonly gpuMinRows?: number | undefined;
}

/** Rows of the two generated batches from which the cost of a call and of a row are told apart. */
const SMALL_PROBE = 1 << 13;
const LARGE_PROBE = 1 << 17;
const REPEATS = 3;
/**
 * Below this a GPU is not looked for. Opening a device and compiling took 0.15 to 0.7 s on the drivers measured
 * (`npm run bench -- --only startup`), and so does the whole computation of this many rows on the CPU
 * (`npm run bench -- --only stages`: about 13 million rows a second).
 */
export const ROWS_WORTH_OPENING = 1 << 22;

interface Cost {
  readonly perCall: number;
  readonly perRow: number;
}

export class Crossover {
  readonly #fixed: number | null;
  #measured: number | null = null;

  constructor({ gpuMinRows }: CrossoverOptions) {
    if (gpuMinRows !== undefined && !(gpuMinRows >= 0))
      throw new UsageError(`gpuMinRows must be >= 0, got ${gpuMinRows}`);
    this.#fixed = gpuMinRows ?? null;
  }

  /** Why a batch is computed on the CPU without looking for a GPU; null: it is worth a look. */
  reasonToStayOnCpu({ columns: { rowCount } }: Work): string | null {
    const least = this.#fixed ?? this.#measured ?? ROWS_WORTH_OPENING;
    if (rowCount >= least) return null;
    if (this.#fixed !== null) return `${rowCount} rows are below the crossover of ${this.#fixed} that was set`;
    if (this.#measured !== null)
      return `${rowCount} rows are below the measured crossover of ${describeRows(this.#measured)}`;
    return `${rowCount} rows are fewer than it pays to open a GPU for (${least})`;
  }

  /** Why the CPU is the better choice although there is an adapter; null: the GPU gains time. */
  async compare(work: Work, cpu: Executor, gpu: Executor, adapter: AdapterDescription): Promise<string | null> {
    if (adapter.software)
      return `there is only a software adapter (${adapter.description}), which is used when asked for`;
    if (this.#fixed === null) this.#measured ??= await this.measure(cpu, gpu);
    return this.reasonToStayOnCpu(work);
  }

  /** Rows from which on the GPU gains time; Infinity where it never does. */
  async measure(cpu: Executor, gpu: Executor): Promise<number> {
    return crossing(await costOf(cpu), await costOf(gpu));
  }

  reasonForGpu(backend: string, { columns: { rowCount } }: Work): string {
    if (backend === 'webgpu') return 'asked for';
    const least = this.#fixed ?? this.#measured ?? 0;
    return `${rowCount} rows are at or above the ${this.#fixed === null ? 'measured ' : ''}crossover of ${describeRows(least)}`;
  }
}

const describeRows = (rows: number) =>
  Number.isFinite(rows) ? `${Math.ceil(rows)} rows` : 'no number of rows: the GPU gains nothing';

/** Rows at which the two costs are equal. */
export function crossing(cpu: Cost, gpu: Cost): number {
  const gain = cpu.perRow - gpu.perRow;
  return gain > 0 ? Math.max(0, (gpu.perCall - cpu.perCall) / gain) : Number.POSITIVE_INFINITY;
}

async function costOf(executor: Executor): Promise<Cost> {
  const small = await bestTime(executor, probeBatch(SMALL_PROBE));
  const large = await bestTime(executor, probeBatch(LARGE_PROBE));
  const perRow = Math.max(0, (large - small) / (LARGE_PROBE - SMALL_PROBE));
  return { perRow, perCall: Math.max(0, small - perRow * SMALL_PROBE) };
}

async function bestTime(executor: Executor, work: Work): Promise<number> {
  const advantages = new Float32Array(work.columns.rowCount);
  let best = Number.POSITIVE_INFINITY;
  await runProgram(executor, work, advantages); // compiles
  for (let i = 0; i < REPEATS; i++) {
    const started = performance.now();
    await runProgram(executor, work, advantages);
    best = Math.min(best, performance.now() - started);
  }
  return best;
}

/** Groups of eight rollouts of two rows each. */
function probeBatch(rowCount: number): Work {
  const rows = Array.from({ length: rowCount }, (_, row) => row);
  const columns = columnsOfBatch({
    groupIndex: Int32Array.from(rows, (row) => row >> 4),
    rolloutId: Int32Array.from(rows, (row) => row >> 1),
    reward: Float64Array.from(rows, (row) => ((row >> 1) % 7) / 7),
    trainableTokens: Uint32Array.from(rows, (row) => row % 5),
  });
  return { columns, plan: planBatch(columns), estimator: resolveEstimator({}), policies: resolvePolicies({}) };
}
