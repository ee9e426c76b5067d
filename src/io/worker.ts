/** The worker thread's end of a task pool. */
import { parentPort } from 'node:worker_threads';
import { transferablesOf } from '../samples/row-chunk.ts';
import { offerSpare } from './spare-memory.ts';
import { storeError } from './stored-error.ts';
import type { ToWorker } from './task-pool.ts';
import { runTask, type TaskEmission } from './tasks.ts';

const port = parentPort!;

port.on('message', async ({ task, spare }: ToWorker) => {
  if (spare) offerSpare(spare);
  try {
    await runTask(task, send);
    port.postMessage({ done: true, error: null });
  } catch (error) {
    port.postMessage({ done: true, error: storeError(error) });
  }
});

function send(piece: TaskEmission): void {
  const transferred = piece instanceof Uint8Array ? [piece.buffer as ArrayBuffer] : transferablesOf(piece);
  port.postMessage({ piece }, transferred);
}
