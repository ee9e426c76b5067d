/** What the tests ask a page for: the library as a page has it, its results as bits. */
import { createEngine, type Engine, type EngineOptions } from '../../src/index.ts';
import type { NormalizeOptions } from '../../src/options.ts';
import { generatedItems, runParity } from '../../src/parity/run.ts';
import type { Batch } from '../../src/samples/batch.ts';
import { pretendHardware } from './pretend-hardware.ts';

export interface Outcome {
  /** Binary32 advantages. */
  readonly bits: number[];
  readonly backend: string;
  readonly reason: string;
  readonly warnings: readonly string[];
  readonly adapter: string | null;
}

export interface Asked {
  readonly batch: Batch;
  readonly options: NormalizeOptions;
}

const engines = new Map<string, Engine>();

/** One engine for each way to open one, as a page would keep it. */
function engineFor(options: EngineOptions, asHardware: boolean): Engine {
  const key = JSON.stringify([options, asHardware]);
  const engine = engines.get(key) ?? createEngine({ ...options, ...(asHardware ? { provider: pretendHardware } : {}) });
  engines.set(key, engine);
  return engine;
}

/** The words of the error where there is no result. */
export async function normalize(asked: Asked, options: EngineOptions, asHardware = false): Promise<Outcome | string> {
  try {
    const { advantages, report } = await engineFor(options, asHardware).normalize(asked.batch, asked.options);
    return {
      bits: [...new Uint32Array(advantages.buffer)],
      backend: report.backend,
      reason: report.backend_reason,
      warnings: report.warning_codes,
      adapter: report.adapter?.architecture ?? null,
    };
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
}

async function normalizeAll(all: readonly Asked[], options: EngineOptions): Promise<(Outcome | string)[]> {
  const outcomes: (Outcome | string)[] = [];
  for (const asked of all) outcomes.push(await normalize(asked, options));
  return outcomes;
}

async function parity(): Promise<unknown> {
  const deadline = Number.POSITIVE_INFINITY;
  const run = await runParity(generatedItems(1, false), { adapter: undefined, timeoutMs: undefined, deadline });
  return { ...run, reproducer: null };
}

/** The same in a worker, where a page would compute. */
function normalizeInWorker(asked: Asked, options: EngineOptions): Promise<Outcome | string> {
  const worker = new Worker('/worker.js', { type: 'module' });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.postMessage({ asked, options });
  });
}

/** Calls of WebGPU before which the GPU process can be made to crash. */
const CRASH_POINTS = {
  requestDevice: () => GPUAdapter.prototype,
  createComputePipelineAsync: () => GPUDevice.prototype,
  mapAsync: () => GPUBuffer.prototype,
} as const;
export type CrashPoint = keyof typeof CRASH_POINTS;

/** Lets the GPU process crash before a call, once. @param at which of the calls, from 1 */
function crashAt(point: CrashPoint, at: number): void {
  const prototype = CRASH_POINTS[point]() as unknown as Record<CrashPoint, (...args: unknown[]) => Promise<unknown>>;
  const original = prototype[point];
  let left = at;
  prototype[point] = async function (...args) {
    if (--left === 0) await crashGpuProcess();
    return original.apply(this, args);
  };
}

declare global {
  /** Given to the page from outside. */
  var crashGpuProcess: () => Promise<void>;
}

export const exported = { crashAt, normalize, normalizeAll, normalizeInWorker, parity };
Object.assign(globalThis, { rollnorm: exported });
