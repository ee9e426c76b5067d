/** Runs batches on the CPU and on an adapter and compares what came of them. */
import { createEngine, type Engine, type NormalizeResult } from '../engine.ts';
import { InputError } from '../errors.ts';
import type { AdapterDescription } from '../kernels/webgpu/adapter-description.ts';
import type { ShaderChange } from '../kernels/webgpu/shader-change.ts';
import type { NormalizeOptions } from '../options.ts';
import type { PreparedBatch } from '../prepare.ts';
import { type Difference, differencesOf } from './stages.ts';

export interface Comparison {
  readonly rows: number;
  /** The first of each stage; empty: equal. */
  readonly differences: readonly Difference[];
  /** What went wrong instead of numbers, or the message of a refusal that only one side has; null: nothing. */
  readonly fault: string | null;
  /** The words with which both sides refuse the batch; null: they have numbers. */
  readonly refusal: string | null;
}

/** Small enough to cut every batch into tiles, slices and pieces. */
const CUT_LIMITS = { pieceLength: 8, bindingBytes: 1024, workgroupsPerDispatch: 2, elementsPerDispatch: 512 };

/** The two backends of one adapter, with whole batches and with batches that are cut. */
export class Contestants {
  readonly #cpu: Engine;
  readonly #whole: Engine;
  readonly #cut: Engine;
  adapter: AdapterDescription | null = null;

  constructor(adapter: string | undefined, timeoutMs: number | undefined, shaderChanges: readonly ShaderChange[] = []) {
    const common = { backend: 'webgpu', adapter, timeoutMs, shaderChanges } as const;
    this.#cpu = createEngine({ backend: 'cpu' });
    this.#whole = createEngine(common);
    this.#cut = createEngine({ ...common, gpuLimits: CUT_LIMITS });
  }

  /** @throws AdapterError where there is no such adapter; UsageError, InputError of the plan */
  async compare(prepared: PreparedBatch, options: NormalizeOptions, cut: boolean): Promise<Comparison> {
    const expected = await outcomeOf(() => this.#cpu.normalizePlanned(prepared, options, true));
    const found = await outcomeOf(() => (cut ? this.#cut : this.#whole).normalizePlanned(prepared, options, true));
    const rows = prepared.columns.rowCount;
    if (typeof found !== 'string') this.adapter ??= found.report.adapter;
    if (typeof expected === 'string' || typeof found === 'string') {
      const says = (outcome: NormalizeResult | string) => (typeof outcome === 'string' ? outcome : 'has a result');
      const fault = expected === found ? null : `the CPU: ${says(expected)}; the adapter: ${says(found)}`;
      return { rows, differences: [], fault, refusal: fault === null ? String(expected) : null };
    }
    return { rows, differences: differencesOf(prepared.plan, expected, found), fault: null, refusal: null };
  }

  async close(): Promise<void> {
    for (const engine of [this.#cpu, this.#whole, this.#cut]) await engine.close();
  }
}

/** A result, or the words with which a batch was refused or a device gave up. */
async function outcomeOf(compute: () => Promise<NormalizeResult>): Promise<NormalizeResult | string> {
  try {
    return await compute();
  } catch (error) {
    if (error instanceof InputError) return error.message;
    if (error instanceof Error && error.name === 'BackendError') return error.message;
    throw error;
  }
}
