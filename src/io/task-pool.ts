/** Worker threads that read and write portions of files; with one thread, the work is done where it is asked for. */
import { Worker } from 'node:worker_threads';
import { offerSpare } from './spare-memory.ts';
import { restoreError, type StoredError } from './stored-error.ts';
import { runTask, type Task, type TaskEmission } from './tasks.ts';

export interface TaskRun {
  /** Called for each piece of the result, in order. */
  readonly emit: (piece: TaskEmission) => void;
  /** A task that has not begun when this says true is left out. */
  readonly isCancelled?: () => boolean;
}

export interface ToWorker {
  readonly task: Task;
  /** Memory that the task may use for what it emits. */
  readonly spare: ArrayBuffer | null;
}

export type FromWorker = { readonly piece: TaskEmission } | { readonly done: true; readonly error: StoredError | null };

interface Job extends TaskRun {
  readonly task: Task;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A thread makes few objects that last: a large young generation would only fill memory with dead ones. */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 4 };

export class TaskPool {
  readonly threads: number;
  readonly #idle: Lane[] = [];
  readonly #lanes = new Set<Lane>();
  readonly #queue: Job[] = [];
  readonly #spares: ArrayBuffer[] = [];
  #inThisThread: Promise<void> = Promise.resolve();

  /** @param threads 1: no worker is started */
  constructor(threads: number) {
    this.threads = threads;
  }

  /** Runs a task; tasks begin in the order in which they were given. */
  run(task: Task, run: TaskRun): Promise<void> {
    if (this.threads <= 1) return this.#runHere(task, run);
    return new Promise((resolve, reject) => {
      this.#queue.push({ task, ...run, resolve, reject });
      this.#dispatch();
    });
  }

  /** Gives back the memory of an emitted piece of bytes that is done with. */
  recycle({ buffer }: Uint8Array): void {
    if (this.threads <= 1) offerSpare(buffer as ArrayBuffer);
    else if (this.#spares.length < this.threads) this.#spares.push(buffer as ArrayBuffer);
  }

  /** Whatever is still to be done or under way fails. */
  async close(): Promise<void> {
    const lanes = [...this.#lanes];
    const waiting = this.#queue.splice(0);
    this.#lanes.clear();
    this.#idle.length = 0;
    // A worker that still runs may write to a file that its owner closes once its job has failed.
    await Promise.all(lanes.map(({ worker }) => worker.terminate()));
    for (const job of [...lanes.map((lane) => lane.job), ...waiting])
      job?.reject(new Error('the work was given up before it was done'));
  }

  #runHere(task: Task, { emit, isCancelled }: TaskRun): Promise<void> {
    const result = this.#inThisThread.then(async () => {
      // Signals and other work must get their turn between tasks.
      await new Promise((resolve) => setImmediate(resolve));
      if (!isCancelled?.()) await runTask(task, emit);
    });
    this.#inThisThread = result.catch(() => {});
    return result;
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const lane = this.#idle.pop() ?? (this.#lanes.size < this.threads ? this.#start() : undefined);
      if (!lane) return;
      const job = this.#queue.shift()!;
      if (job.isCancelled?.()) {
        job.resolve();
        this.#idle.push(lane);
      } else {
        lane.job = job;
        const spare = this.#spares.pop() ?? null;
        lane.worker.postMessage({ task: job.task, spare } satisfies ToWorker, spare ? [spare] : []);
      }
    }
  }

  #start(): Lane {
    const worker = new Worker(new URL('./worker.js', import.meta.url), { resourceLimits: RESOURCE_LIMITS });
    const lane: Lane = { worker, job: null };
    this.#lanes.add(lane);
    worker.on('message', (message: FromWorker) => {
      const { job } = lane;
      if ('piece' in message) {
        job?.emit(message.piece);
        return;
      }
      lane.job = null;
      this.#idle.push(lane);
      if (message.error) job?.reject(restoreError(message.error));
      else job?.resolve();
      this.#dispatch();
    });
    worker.on('error', (error) => this.#lose(lane, error));
    worker.on('exit', (code) => this.#lose(lane, new Error(`a worker thread ended with status ${code}`)));
    return lane;
  }

  #lose(lane: Lane, error: unknown): void {
    if (!this.#lanes.delete(lane)) return;
    const idle = this.#idle.indexOf(lane);
    if (idle >= 0) this.#idle.splice(idle, 1);
    lane.job?.reject(error);
    lane.job = null;
    this.#dispatch();
  }
}

/** A worker and what it is at. */
interface Lane {
  readonly worker: Worker;
  job: Job | null;
}
