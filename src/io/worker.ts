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
  port.postMessage({ piece }, transferredOf(piece));
}

function transferredOf(piece: TaskEmission): ArrayBuffer[] {
  if (piece instanceof Uint8Array) return [piece.buffer as ArrayBuffer];
  return 'bytes' in piece ? [piece.bytes.buffer as ArrayBuffer] : transferablesOf(piece);
}
