/** The engine: a batch in, one advantage per row out; chooses a backend, falls back with a reason, reports. */
import { Crossover } from './crossover.ts';
import { AdapterError, BackendError, InputError, RollnormError, UsageError } from './errors.ts';
import { isPassThrough } from './estimators/estimators.ts';
import { requireSharedRewards, surveySiblings } from './estimators/siblings.ts';
import { cpuExecutor } from './kernels/cpu-executor.ts';
import type { Executor } from './kernels/executor.ts';
import { type Outcome, runProgram, type Work } from './kernels/program.ts';
import { gpuExecutor } from './kernels/webgpu/executor.ts';
import { requireCount, requireTimeout } from './kernels/webgpu/limits.ts';
import { GpuSession } from './kernels/webgpu/session.ts';
import { BACKENDS, checkOptions, type EngineOptions, type NormalizeOptions } from './options.ts';
import { describeGroup, groupOfRow } from './plan/describe.ts';
import { planBatch } from './plan/plan.ts';
import { type BackendUse, buildReport, type Report } from './report.ts';
import { type Batch, columnsOfBatch } from './samples/batch.ts';
import type { SampleColumns } from './samples/columns.ts';
import { requireRewards } from './samples/rewards.ts';

export interface NormalizeResult {
  /** Binary32, one per row, in row order. */
  readonly advantages: Float32Array;
  /** Binary64, one per row; NaN is a missing reward. */
  readonly rawRewards: Float64Array;
  readonly report: Report;
}

/** After this many failures in a row an `auto` engine stops trying its GPU. */
const FAILURES_TO_GIVE_UP = 3;

/** Opens an engine. Nothing is loaded or compiled until the first batch needs it. */
export function createEngine(options: EngineOptions = {}): Engine {
  return new Engine(options);
}

export class Engine {
  readonly #options: EngineOptions;
  readonly #cpu: Executor;
  readonly #crossover: Crossover;
  #session: Promise<GpuSession> | null = null;
  #queue: Promise<unknown> = Promise.resolve();
  #failures = 0;
  #unavailable: string | null = null;
  #closed = false;

  constructor(options: EngineOptions) {
    const { backend = 'auto' } = options;
    if (!BACKENDS.includes(backend))
      throw new UsageError(`unknown backend '${backend}'; known: ${BACKENDS.join(', ')}`);
    for (const [name, value] of Object.entries({ ...options.gpuLimits })) requireCount(name, value);
    requireTimeout(options.timeoutMs);
    this.#options = options;
    this.#cpu = cpuExecutor(options.cpuLimits);
    this.#crossover = new Crossover(options);
  }

  /**
   * Normalizes one batch. Calls on one engine run one after the other.
   * @throws UsageError, InputError; AdapterError and BackendError only with backend `webgpu`
   */
  async normalize(batch: Batch, options: NormalizeOptions = {}): Promise<NormalizeResult> {
    return this.normalizeColumns(columnsOfBatch(batch), options);
  }

  /**
   * The same for a batch that is columns already.
   * @internal how the command line hands in what it has read
   */
  async normalizeColumns(columns: SampleColumns, options: NormalizeOptions = {}): Promise<NormalizeResult> {
    if (this.#closed) throw new UsageError('the engine is closed');
    const { estimator, policies } = checkOptions(options);
    const passThrough = isPassThrough(estimator);
    requireRewards(columns, policies.exclude.includes('missing-reward'), options.requireIdentity ?? false);
    const started = performance.now();
    const everyRowIsARollout = policies.siblings === 'rows';
    const grouping = passThrough ? leniently(options, columns.rowCount) : options;
    const plan = planBatch(columns, { ...grouping, everyRowIsARollout });
    const survey = surveySiblings(plan, columns);
    if (policies.siblings === 'shared' && !passThrough) requireSharedRewards(plan, columns);
    const planned = performance.now();
    const work: Work = { columns, plan, estimator, policies };
    const advantages = outputFor(options.output, columns.rowCount);
    const { outcome, use } = await this.#serialize(() => this.#compute(work, advantages));
    requireFinite(work, outcome, advantages);
    const seconds = { plan: (planned - started) / 1000, compute: (performance.now() - planned) / 1000 };
    const report = buildReport({ work, options, outcome, survey, use, seconds });
    return { advantages, rawRewards: columns.rewards, report };
  }

  /** Gives the device back. Calls under way end first. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#queue.catch(() => {});
    const session = await this.#session?.catch(() => null);
    session?.close();
    this.#session = null;
  }

  #serialize<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(task, task);
    this.#queue = result.catch(() => {});
    return result;
  }

  async #compute(work: Work, advantages: Float32Array): Promise<{ outcome: Outcome; use: BackendUse }> {
    const { backend = 'auto' } = this.#options;
    const onCpu = async (reason: string, fellBack: boolean) => {
      const outcome = await runProgram(this.#cpu, work, advantages);
      return { outcome, use: { backend: 'cpu', adapter: null, reason, fellBack } as const };
    };
    if (backend === 'cpu') return onCpu('asked for', false);
    if (backend === 'auto') {
      const small = this.#crossover.reasonToStayOnCpu(work);
      if (small !== null) return onCpu(small, false);
      if (this.#unavailable !== null) return onCpu(this.#unavailable, true);
    }
    try {
      const session = await this.#open();
      const executor = gpuExecutor(session, this.#options.gpuLimits);
      const reason =
        backend === 'auto' ? await this.#crossover.compare(work, this.#cpu, executor, session.adapter) : null;
      if (reason !== null) return onCpu(reason, false);
      const outcome = await runProgram(executor, work, advantages);
      if (!hasAllResults(outcome, advantages)) await this.#confirmRefusal(work, advantages);
      this.#failures = 0;
      return {
        outcome,
        use: {
          backend: 'webgpu',
          adapter: session.adapter,
          reason: this.#crossover.reasonForGpu(backend, work),
          fellBack: false,
        },
      };
    } catch (error) {
      const reason = await this.#dropSession(error);
      if (backend === 'webgpu')
        throw error instanceof RollnormError ? error : new BackendError(reason, { cause: error });
      return onCpu(reason, true);
    }
  }

  /**
   * A batch is refused for what its numbers do only if the CPU agrees; else it was the GPU that lost them.
   * @throws BackendError
   */
  async #confirmRefusal(work: Work, advantages: Float32Array): Promise<void> {
    const outcome = await runProgram(this.#cpu, work, advantages);
    if (hasAllResults(outcome, advantages))
      throw new BackendError('the GPU has no finite result where the CPU has one');
  }

  async #open(): Promise<GpuSession> {
    const { backend = 'auto', adapter, provider, timeoutMs, gpuLimits } = this.#options;
    const preferHardware = backend === 'auto';
    this.#session ??= GpuSession.open({
      adapter,
      provider,
      preferHardware,
      timeoutMs,
      workgroupSize: gpuLimits?.workgroupSize,
    });
    const session = await this.#session;
    session.requireUsable();
    return session;
  }

  /** After a failure the next call begins with a fresh device, unless it keeps failing or there is none. */
  async #dropSession(error: unknown): Promise<string> {
    const reason = error instanceof Error ? error.message : String(error);
    const session = await this.#session?.catch(() => null);
    this.#session = null;
    session?.close();
    if (error instanceof UsageError) throw error;
    if (error instanceof AdapterError || ++this.#failures >= FAILURES_TO_GIVE_UP) this.#unavailable = reason;
    return reason;
  }
}

/** Pass-through refuses no grouping; what would have been refused is left out and becomes a warning. */
function leniently(options: NormalizeOptions, rowCount: number): NormalizeOptions {
  const fits = options.promptGroupSizes?.reduce((sum, size) => sum + size, 0) === rowCount;
  return { ...options, strict: false, promptGroupSizes: fits ? options.promptGroupSizes : undefined };
}

function outputFor(given: Float32Array | undefined, rowCount: number): Float32Array {
  if (given && given.length !== rowCount)
    throw new UsageError(`output has ${given.length} entries but the batch has ${rowCount} rows`);
  return given ?? new Float32Array(rowCount);
}

function hasAllResults({ failedGroup }: Outcome, advantages: Float32Array): boolean {
  return failedGroup === null && advantages.every(Number.isFinite);
}

/** Numbers that left the range of binary64 or binary32 are the input's fault, and are named. */
function requireFinite({ columns, plan, estimator }: Work, { failedGroup }: Outcome, advantages: Float32Array): void {
  if (failedGroup) {
    const named = describeGroup(plan, columns, failedGroup.group);
    if (failedGroup.status === 'overflow')
      throw new InputError(`${named}: reward: the sum or the variance overflows binary64`);
    throw new InputError(
      `${named}: reward: the rewards differ by so little that the standard deviation vanishes in binary64, and epsilon ${estimator.epsilon} leaves a divisor of 0 or without digits`,
    );
  }
  for (let row = 0; row < advantages.length; row++) {
    if (Number.isFinite(advantages[row])) continue;
    const what = `${columns.place(row)}: reward ${columns.rewards[row]}`;
    if (isPassThrough(estimator)) throw new InputError(`${what}: overflows binary32`);
    const named = describeGroup(plan, columns, groupOfRow(plan, row));
    throw new InputError(`${what}: so far from the rest of its group that the advantage overflows binary32 (${named})`);
  }
}
