/** The engine: a batch in, one advantage per row out; chooses a backend, falls back with a reason, reports. */
import { Crossover } from './crossover.ts';
import { AdapterError, BackendError, InputError, RollnormError, UsageError } from './errors.ts';
import { isPassThrough, type Scale } from './estimators/rule.ts';
import { cpuExecutor } from './kernels/cpu-executor.ts';
import type { Details } from './kernels/details.ts';
import type { Executor } from './kernels/executor.ts';
import { runProgram } from './kernels/program.ts';
import { gpuExecutor } from './kernels/webgpu/executor.ts';
import { GpuSession } from './kernels/webgpu/session.ts';
import type { Outcome, Work } from './kernels/work.ts';
import { checkEngineOptions, checkOptions, type EngineOptions, type NormalizeOptions } from './options.ts';
import { describeGroup, groupOfRow } from './plan/describe.ts';
import { adjustBatch, type PreparedBatch, planKey, prepareBatch } from './prepare.ts';
import { type BackendUse, buildReport, type Report } from './report.ts';
import { type Batch, columnsOfBatch } from './samples/batch.ts';
import type { SampleColumns } from './samples/columns.ts';

export interface NormalizeResult {
  /** Binary32, one per row, in row order. */
  readonly advantages: Float32Array;
  /** Binary64, one per row; NaN is a missing reward. */
  readonly rawRewards: Float64Array;
  readonly report: Report;
  /** @internal what the computation knew on its way, where that was asked for */
  readonly details: Details | null;
}

/** After this many failures in a row an `auto` engine stops trying its GPU. */
const FAILURES_TO_GIVE_UP = 3;

/**
 * Opens an engine. Nothing is loaded or compiled until the first batch needs it.
 * @throws UsageError on an unknown option, or one of the wrong kind
 */
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
    checkEngineOptions(options);
    this.#options = options;
    this.#cpu = cpuExecutor(options.cpuLimits);
    this.#crossover = new Crossover(options);
  }

  /**
   * Normalizes one batch. Calls on one engine run one after the other.
   * @throws UsageError, InputError; AdapterError and BackendError only with backend `webgpu`; the reason of `signal` where
   * that ends the call
   */
  async normalize(batch: Batch, options: NormalizeOptions = {}): Promise<NormalizeResult> {
    return this.normalizeColumns(columnsOfBatch(batch), options);
  }

  /**
   * The same for a batch that is columns already.
   * @internal how the command line hands in what it has read
   */
  async normalizeColumns(columns: SampleColumns, options: NormalizeOptions = {}): Promise<NormalizeResult> {
    return this.normalizePlanned(prepareBatch(columns, options), options);
  }

  /**
   * The same for a batch whose groups and rollouts are found already, by options that find them alike.
   * @internal how several settings share one plan
   */
  async normalizePlanned(
    prepared: PreparedBatch,
    options: NormalizeOptions = {},
    detailed = false,
  ): Promise<NormalizeResult> {
    if (this.#closed) throw new UsageError('the engine is closed');
    const settings = checkOptions(options);
    if (prepared.key !== planKey(options))
      throw new UsageError('the batch was prepared by options that group it in another way');
    const started = performance.now();
    const { columns, rawRewards, survey } = adjustBatch(prepared, settings);
    const { plan } = prepared;
    const work: Work = {
      columns,
      plan,
      estimator: settings.estimator,
      policies: settings.policies,
      detailed,
      signal: options.signal,
    };
    const advantages = outputFor(options.output, columns.rowCount);
    const { outcome, use } = await this.#serialize(() => this.#compute(work, advantages), options.signal);
    requireFinite(work, outcome, advantages);
    const seconds = { plan: prepared.seconds, compute: (performance.now() - started) / 1000 };
    const report = buildReport({ work, settings, options, outcome, survey, use, seconds });
    return { advantages, rawRewards, report, details: outcome.details };
  }

  /** Gives the device back. Calls under way end first. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#queue.catch(() => {});
    const session = await this.#session?.catch(() => null);
    session?.close();
    this.#session = null;
  }

  /** Calls run one after the other; one that waits for its turn need not when its signal ends it. */
  async #serialize<T>(task: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const turn = this.#queue;
    const result = turn.then(task);
    this.#queue = result.catch(() => {});
    await (signal ? unlessAborted(turn, signal) : turn);
    return result;
  }

  async #compute(work: Work, advantages: Float32Array): Promise<{ outcome: Outcome; use: BackendUse }> {
    work.signal?.throwIfAborted();
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
      const outcome = await this.#runOnGpu(executor, work, advantages);
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
      const { signal } = work;
      // A device that was told to stop, or that was given what nobody can compute, is as well as before.
      if ((signal?.aborted && error === signal.reason) || error instanceof InputError) throw error;
      const reason = await this.#dropSession(error);
      signal?.throwIfAborted();
      if (backend === 'webgpu')
        throw error instanceof RollnormError ? error : new BackendError(reason, { cause: error });
      return onCpu(reason, true);
    }
  }

  async #runOnGpu(executor: Executor, work: Work, advantages: Float32Array): Promise<Outcome> {
    try {
      const outcome = await runProgram(executor, work, advantages);
      if (!hasAllResults(outcome, advantages)) await this.#confirmRefusal(work, advantages);
      return outcome;
    } catch (error) {
      if (error instanceof InputError) await this.#confirmRefusal(work, advantages);
      throw error;
    }
  }

  /**
   * A batch is refused for what its numbers do only if the CPU agrees; else it was the GPU that lost them.
   * @throws BackendError; InputError where the CPU refuses it too
   */
  async #confirmRefusal(work: Work, advantages: Float32Array): Promise<void> {
    const outcome = await runProgram(this.#cpu, work, advantages);
    if (hasAllResults(outcome, advantages))
      throw new BackendError('the GPU has no finite result where the CPU has one');
  }

  async #open(): Promise<GpuSession> {
    const { backend = 'auto', adapter, provider, timeoutMs, gpuLimits, shaderChanges } = this.#options;
    const preferHardware = backend === 'auto';
    await this.#forgetLostSession();
    this.#session ??= GpuSession.open({
      adapter,
      provider,
      preferHardware,
      timeoutMs,
      shaderChanges,
      workgroupSize: gpuLimits?.workgroupSize,
    });
    const session = await this.#session;
    session.requireUsable();
    return session;
  }

  /** A device that was lost between two calls concerns neither. */
  async #forgetLostSession(): Promise<void> {
    const held = await this.#session?.catch(() => null);
    if (!held || held.failure === null) return;
    held.close();
    this.#session = null;
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

/** Rejects with the signal's reason where that comes before the promise is settled. */
function unlessAborted(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
  });
}

function outputFor(given: Float32Array | undefined, rowCount: number): Float32Array {
  if (given && given.length !== rowCount)
    throw new UsageError(`output has ${given.length} entries but the batch has ${rowCount} rows`);
  return given ?? new Float32Array(rowCount);
}

function hasAllResults({ failure }: Outcome, advantages: Float32Array): boolean {
  return failure === null && advantages.every(Number.isFinite);
}

/** Numbers that left the range of binary64 or binary32 are the input's fault, and are named. */
function requireFinite({ columns, plan, estimator }: Work, { failure }: Outcome, advantages: Float32Array): void {
  if (failure) {
    const { group, status } = failure;
    const named = group === 'batch' ? 'the batch' : describeGroup(plan, columns, group);
    if (status === 'overflow') throw new InputError(`${named}: reward: the sum or the variance overflows binary64`);
    const scale = `the rewards differ by so little that the ${NAMES_OF_SCALES[estimator.scale]} vanishes in binary64`;
    const limit = estimator.minStd > 0 ? `min_std ${estimator.minStd} cannot be compared with it, ` : '';
    throw new InputError(
      `${named}: reward: ${scale}, ${limit}and epsilon ${estimator.epsilon} leaves a divisor of 0 or without digits`,
    );
  }
  for (let row = 0; row < advantages.length; row++) {
    if (Number.isFinite(advantages[row])) continue;
    const rollout = plan.rowRollout[row];
    const isAlone = plan.rowOffsets[rollout + 1] - plan.rowOffsets[rollout] === 1;
    const own = isAlone || isPassThrough(estimator) ? `reward ${columns.rewards[row]}` : 'the reward of its rollout';
    const what = `${columns.place(row)}: ${own}`;
    if (isPassThrough(estimator)) throw new InputError(`${what}: overflows binary32`);
    const group = groupOfRow(plan, row);
    const isGroup = plan.groupOffsets[group + 1] - plan.groupOffsets[group] > 1;
    const far = isGroup
      ? 'so far from the rest of its group that the advantage'
      : 'alone in its group, and the advantage';
    throw new InputError(`${what}: ${far} overflows binary32 (${describeGroup(plan, columns, group)})`);
  }
}

const NAMES_OF_SCALES: Readonly<Record<Scale, string>> = {
  group: 'standard deviation',
  batch: 'standard deviation',
  peers: 'standard deviation',
  mad: 'median distance',
  mean: 'mean',
  none: 'standard deviation',
};
