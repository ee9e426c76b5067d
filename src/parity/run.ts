/** A parity run against one adapter: the cases, the planted faults, and a reproducer for the first difference. */

import { InputError } from '../errors.ts';
import type { AdapterDescription } from '../kernels/webgpu/adapter-description.ts';
import type { ShaderChange } from '../kernels/webgpu/shader-change.ts';
import type { NormalizeOptions } from '../options.ts';
import { rowAt } from '../plan/plan.ts';
import { type PreparedBatch, prepareBatch } from '../prepare.ts';
import { columnsOfBatch } from '../samples/batch.ts';
import { type Comparison, Contestants } from './compare.ts';
import { fixedCases, type ParityCase, randomCase } from './generate.ts';
import { PLANTED, type Planted } from './planted.ts';
import { batchOfRows, type Reproducer } from './reproducer.ts';
import type { Difference } from './stages.ts';

/** A batch to compare, made when its turn comes. */
export interface ParityItem {
  readonly name: string;
  readonly options: NormalizeOptions;
  readonly cut: boolean;
  /** The error where both sides refuse it: nothing was compared then. Null: that counts as equal. */
  readonly refused: ((message: string) => InputError) | null;
  prepare(): PreparedBatch;
}

export interface CaseResult {
  readonly name: string;
  readonly rows: number;
  readonly seconds: number;
  /** The first difference of each stage. */
  readonly differences: readonly Difference[];
  readonly fault: string | null;
}

export interface PlantedResult {
  readonly stage: Planted['stage'];
  readonly what: string;
  /** The first stage in which a number gave it away; null: none did. */
  readonly noticedIn: string | null;
  /** What went wrong instead of numbers, which proves nothing; null: nothing. */
  readonly fault: string | null;
}

export interface AdapterResult {
  readonly name: string;
  readonly adapter: AdapterDescription | null;
  readonly cases: readonly CaseResult[];
  readonly rows: number;
  /** The time sufficed for as many cases as were to be run at the least. */
  readonly complete: boolean;
  readonly planted: readonly PlantedResult[];
  readonly reproducer: Reproducer | null;
  readonly passed: boolean;
}

export interface RunOptions {
  /** Part of the adapter's name; undefined: the system's first choice. */
  readonly adapter: string | undefined;
  readonly timeoutMs: number | undefined;
  /** performance.now() at which no further case begins. */
  readonly deadline: number;
  /** Cases without which the run is not complete; undefined: all. */
  readonly leastCases?: number | undefined;
}

const hasFailed = ({ differences, fault }: Pick<Comparison, 'differences' | 'fault'>) =>
  differences.length > 0 || fault !== null;

/** @throws AdapterError where there is no such adapter; InputError where a batch that must be computed is refused */
export async function runParity(items: Iterable<ParityItem>, options: RunOptions): Promise<AdapterResult> {
  const planted = await noticePlanted(options);
  const contestants = new Contestants(options.adapter, options.timeoutMs);
  const cases: CaseResult[] = [];
  let reproducer: Reproducer | null = null;
  let complete = true;
  try {
    for (const item of items) {
      if (performance.now() > options.deadline) {
        complete = cases.length >= (options.leastCases ?? Number.POSITIVE_INFINITY);
        break;
      }
      const started = performance.now();
      const prepared = item.prepare();
      const comparison = await contestants.compare(prepared, item.options, item.cut);
      if (item.refused && comparison.refusal !== null) throw item.refused(comparison.refusal);
      if (hasFailed(comparison)) reproducer ??= await reproduce(contestants, item, prepared, comparison);
      const { refusal: _, ...compared } = comparison;
      cases.push({ name: item.name, ...compared, seconds: (performance.now() - started) / 1000 });
    }
    const passed = complete && !cases.some(hasFailed) && planted.every(({ noticedIn }) => noticedIn !== null);
    const { adapter } = contestants;
    const rows = cases.reduce((sum, result) => sum + result.rows, 0);
    const name = adapter?.description ?? options.adapter ?? 'the first adapter';
    return { name, adapter, cases, rows, complete, planted, reproducer, passed };
  } finally {
    await contestants.close();
  }
}

/** The batches that every run compares, and then others until the time is over. */
export function* generatedItems(seed: number, forever: boolean): Generator<ParityItem> {
  for (const generated of fixedCases(seed)) yield itemOf(generated);
  for (let number = 1; forever; number++) yield itemOf(randomCase(seed + number));
}

function itemOf({ name, batch, options, cut }: ParityCase): ParityItem {
  const refused = (message: string) => new InputError(`${name}: ${message}`);
  return { name, options, cut, refused, prepare: () => prepareBatch(columnsOfBatch(batch), options) };
}

const SEED_FOR_PLANTED = 1;

/** Each planted fault by itself, until the comparison notices it. */
async function noticePlanted({ adapter, timeoutMs }: RunOptions): Promise<PlantedResult[]> {
  const results: PlantedResult[] = [];
  for (const change of PLANTED) {
    const { stage, what } = change;
    const noticed = await noticeFault(change, adapter, timeoutMs);
    results.push({ stage, what, noticedIn: noticed?.stage ?? null, fault: noticed?.fault ?? null });
  }
  return results;
}

export interface Noticed {
  readonly caseName: string;
  /** The first stage that differs; null: none does. */
  readonly stage: string | null;
  /** What the device said instead of numbers. */
  readonly fault: string | null;
}

/** Compares the fixed batches on a device with a fault in it until one differs; null: none does. */
export async function noticeFault(
  change: ShaderChange,
  adapter: string | undefined,
  timeoutMs?: number,
): Promise<Noticed | null> {
  const contestants = new Contestants(adapter, timeoutMs, [change]);
  try {
    for (const { name, options, cut, prepare } of generatedItems(SEED_FOR_PLANTED, false)) {
      const { differences, fault } = await contestants.compare(prepare(), options, cut);
      if (differences.length > 0) return { caseName: name, stage: differences[0].stage, fault: null };
      if (fault !== null) return { caseName: name, stage: null, fault };
    }
    return null;
  } finally {
    await contestants.close();
  }
}

/** The group in which the difference is, if that is enough to make it; else the whole batch. */
async function reproduce(
  contestants: Contestants,
  { name, options, cut }: ParityItem,
  prepared: PreparedBatch,
  { differences }: Comparison,
): Promise<Reproducer> {
  const { columns, plan } = prepared;
  const adapter = contestants.adapter?.description ?? null;
  const group = differences[0]?.group ?? null;
  const all = Uint32Array.from({ length: columns.rowCount }, (_, row) => row);
  const whole = { name, adapter, options, cut, batch: batchOfRows(columns, all) };
  if (group === null || options.promptGroupSizes !== undefined) return whole;
  const start = plan.rowOffsets[plan.groupOffsets[group - 1]];
  const end = plan.rowOffsets[plan.groupOffsets[group]];
  const rows = Uint32Array.from({ length: end - start }, (_, i) => rowAt(plan, start + i)).sort();
  const smaller = { ...whole, batch: batchOfRows(columns, rows) };
  const again = await contestants.compare(prepareBatch(columnsOfBatch(smaller.batch), options), options, cut);
  return hasFailed(again) ? smaller : whole;
}
