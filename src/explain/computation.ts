/** A batch computed once with all that the computation knew, and once more as it would be by another policy. */
import type { Engine, NormalizeResult } from '../engine.ts';
import { InputError } from '../errors.ts';
import { isPassThrough } from '../estimators/rule.ts';
import { checkOptions, type NormalizeOptions, type Settings } from '../options.ts';
import type { Plan } from '../plan/plan.ts';
import { adjustBatch, prepareBatch } from '../prepare.ts';
import { columnsOfBatch } from '../samples/batch.ts';
import type { SampleColumns } from '../samples/columns.ts';

export interface Computation {
  readonly options: NormalizeOptions;
  readonly settings: Settings;
  /** As they were read. */
  readonly columns: SampleColumns;
  /** As the rule wants them: bounded, summed. */
  readonly adjusted: SampleColumns;
  readonly plan: Plan;
  readonly result: NormalizeResult;
}

/** @throws UsageError, InputError as a normalization does */
export async function compute(engine: Engine, columns: SampleColumns, options: NormalizeOptions): Promise<Computation> {
  const settings = checkOptions(options);
  const prepared = prepareBatch(columns, options);
  const result = await engine.normalizePlanned(prepared, options, true);
  const { columns: adjusted } = adjustBatch(prepared, settings);
  return { options, settings, columns, adjusted, plan: prepared.plan, result };
}

export interface Alternative {
  readonly siblings: 'rows' | 'mainstream';
  /** A text says why the batch has no such result. */
  readonly computed: Computation | string;
}

/** The row-weighted result; where rows are counted already, the one that counts rollouts. Null: rewards pass through. */
export async function computeInstead(
  engine: Engine,
  { columns, settings, options }: Computation,
): Promise<Alternative | null> {
  if (isPassThrough(settings.estimator)) return null;
  const siblings = settings.policies.siblings === 'rows' ? 'mainstream' : 'rows';
  try {
    return { siblings, computed: await compute(engine, columns, { ...options, siblings }) };
  } catch (error) {
    if (error instanceof InputError) return { siblings, computed: error.message };
    throw error;
  }
}

export interface Peers {
  readonly count: number;
  readonly mean: number;
  readonly deviation: number;
  /** Whether they are all equal. */
  readonly equal: boolean;
}

/** Mean and deviation of the other counted rewards of a group, by the engine itself; null: there are none. */
export async function peersOf(engine: Engine, others: readonly number[], ddof: 0 | 1): Promise<Peers | null> {
  if (others.length === 0) return null;
  const columns = columnsOfBatch({ reward: others });
  const { result } = await compute(engine, columns, { ddof });
  const [{ means, deviations }] = result.details!.groups;
  const equal = others.every((reward) => reward === others[0]);
  return { count: others.length, mean: means[0], deviation: deviations[0], equal };
}
