/** Worker threads that read and write portions of files; with one thread, the work is done where it is asked for. */
import { Worker } from 'node:worker_threads';
import type { RowChunk } from '../samples/row-chunk.ts';
import { restoreError, type StoredError } from './stored-error.ts';
import { runTask, type Task, type TaskEmission } from './tasks.ts';

export interface TaskRun {
  /** Called for each piece of the result, in order. */
  readonly emit: (piece: TaskEmission) => void;
  /** A task that has not begun when this says true is left out. */
  readonly isCancelled?: () => boolean;
}

export type FromWorker =
  | { readonly piece: RowChunk | Uint8Array }
  | { readonly done: true; readonly error: StoredError | null };

interface Job extends TaskRun {
  readonly task: Task;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class TaskPool {
  readonly threads: number;
  readonly #idle: Worker[] = [];
  readonly #workers = new Set<Worker>();
  readonly #queue: Job[] = [];
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

  async close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.terminate()));
    this.#workers.clear();
    this.#idle.length = 0;
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
      const worker = this.#idle.pop() ?? (this.#workers.size < this.threads ? this.#start() : undefined);
      if (!worker) return;
      const job = this.#queue.shift()!;
      if (job.isCancelled?.()) {
        job.resolve();
        this.#idle.push(worker);
      } else this.#give(worker, job);
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL('./worker.js', import.meta.url));
    this.#workers.add(worker);
    return worker;
  }

  #give(worker: Worker, { task, emit, resolve, reject }: Job): void {
    const finish = (settle: () => void) => {
      worker.removeAllListeners();
      settle();
      this.#dispatch();
    };
    const lose = (error: unknown) => {
      this.#workers.delete(worker);
      finish(() => reject(error));
    };
    worker.on('message', (message: FromWorker) => {
      if ('piece' in message) {
        emit(message.piece);
        return;
      }
      this.#idle.push(worker);
      const { error } = message;
      finish(() => (error ? reject(restoreError(error)) : resolve()));
    });
    worker.on('error', lose);
    worker.on('exit', (code) => lose(new Error(`a worker thread ended with status ${code}`)));
    worker.postMessage(task);
  }
}
