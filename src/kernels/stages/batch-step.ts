/** Statistics over all counted rollouts of a batch, in the one tree that their number gives, however they were cut. */
import type { BatchStep, Rule } from '../../estimators/rule.ts';
import type { MEASURE } from '../codes.ts';
import type { KernelArray, Workspace } from '../executor.ts';
import { divisorsOf } from './divisors.ts';
import { Groups } from './group-statistics.ts';
import { quotients } from './normalize-groups.ts';

/** The moments of a batch. */
export interface BatchMoments {
  readonly mean: number;
  readonly divisor: number;
  /** Standard deviation, where it was asked for; the divisor has epsilon in it. */
  readonly deviation?: number;
  /** GROUP_STATUS of the batch as one group. */
  readonly status: number;
}

/**
 * Standard deviation of the rewards of the batch + epsilon.
 * @param noteDeviation whether the deviation itself is wanted too
 */
export async function batchDivisorOf(
  workspace: Workspace,
  pieceLength: number,
  values: KernelArray<'f64'>,
  { ddof, epsilon }: Pick<Rule, 'ddof' | 'epsilon'>,
  noteDeviation: boolean,
): Promise<BatchMoments> {
  const groups = new Groups(workspace, pieceLength, Uint32Array.of(0, values.length), values);
  const { centres, statuses } = await groups.means(null, false);
  const squares = await groups.squares(centres);
  const settings = { measure: 'deviation', ddof, epsilon, flatToo: true } as const;
  const scaled = await divisorsOf(workspace, groups, squares, statuses, settings);
  const moments = await momentsOf(workspace, groups, centres, scaled);
  if (!noteDeviation) return moments;
  const plain = await divisorsOf(workspace, groups, squares, statuses, { ...settings, epsilon: 0 });
  const [deviation] = await workspace.read(plain.divisors);
  return { ...moments, deviation };
}

const MEASURES: Readonly<Record<BatchStep['epsilonAt'], keyof typeof MEASURE>> = {
  outside: 'deviation',
  inside: 'deviationInside',
  floor: 'deviationFloor',
};

/**
 * Advantages of the counted rollouts to (A - M) / divisor.
 * @param weights binary64 per counted rollout and their sum; null: each weighs 1
 */
export async function stepOverBatch(
  workspace: Workspace,
  pieceLength: number,
  advantages: KernelArray<'f64'>,
  weights: { readonly weights: Float64Array; readonly total: number } | null,
  { ddof, epsilon, epsilonAt }: BatchStep,
): Promise<{ advantages: KernelArray<'f64'>; moments: BatchMoments }> {
  // One that weighs nothing may be far from all others, and would cost them their digits.
  const first = weights ? weights.weights.findIndex((weight) => weight > 0) : 0;
  const offsets = Uint32Array.of(0, advantages.length);
  const groups = new Groups(workspace, pieceLength, offsets, advantages, Uint32Array.of(first));
  const weighted = weights && {
    weights: workspace.input('f64', weights.weights),
    totals: workspace.input('f64', Float64Array.of(weights.total)),
  };
  const { centres, statuses: means } = await groups.means(weighted, false);
  const squares = await groups.squares(centres, weighted);
  const settings = { measure: MEASURES[epsilonAt], ddof, epsilon };
  const scaled = await divisorsOf(workspace, groups, squares, means, settings, weighted);
  const arrays = { references: await groups.references(), centres, ...scaled };
  // All advantages equal: each is the mean.
  const stepped = await quotients(workspace, groups, advantages, arrays, false);
  return { advantages: stepped, moments: await momentsOf(workspace, groups, centres, scaled) };
}

async function momentsOf(
  workspace: Workspace,
  groups: Groups,
  centres: KernelArray<'f64'>,
  { divisors, statuses }: { divisors: KernelArray<'f64'>; statuses: KernelArray<'u32'> },
): Promise<BatchMoments> {
  const [reference] = await workspace.read(await groups.references());
  const [centre] = await workspace.read(centres);
  const [divisor] = await workspace.read(divisors);
  const [status] = await workspace.read(statuses);
  return { mean: reference + centre, divisor, status };
}
