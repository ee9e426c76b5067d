/** Refuses batches whose rows lack what estimators need, and brings rewards into the form that a rule wants. */
import { InputError, UsageError } from '../errors.ts';
import type { Rule } from '../estimators/rule.ts';
import type { SampleColumns } from './columns.ts';
import { NO_ID } from './ids.ts';

/**
 * @param mayBeMissing rollouts without a reward are left out rather than refused
 * @param requireIdentity every row needs a rollout_id or an index
 * @throws InputError naming the first row
 */
export function requireRewards(columns: SampleColumns, mayBeMissing: boolean, requireIdentity: boolean): void {
  const { missingReward, rolloutCodes, rowCount, place } = columns;
  if (missingReward && !mayBeMissing) {
    throw new InputError(
      `${place(missingReward.row)}: reward must be a finite number, found ${missingReward.found} (excluding missing-reward leaves such rollouts out)`,
    );
  }
  if (!requireIdentity) return;
  const nameless = rolloutCodes === null ? (rowCount > 0 ? 0 : -1) : rolloutCodes.indexOf(NO_ID);
  if (nameless >= 0) throw new InputError(`${place(nameless)}: neither rollout_id nor index, but identity is required`);
}

/** What a rule does to rewards before anything else. */
export interface RewardAdjustment {
  readonly clipReward: readonly [low: number, high: number] | null;
  /** Of several rewards, in their order; null: 1 each. */
  readonly rewardWeights: readonly number[] | null;
  /** Several rewards stay apart, so that each is bounded; else their sum is. */
  readonly perReward: boolean;
}

/**
 * The rewards as the rule wants them: bounded, and several of them summed by their weights, in binary64 in their order.
 * The same columns where nothing is to be done.
 * @throws UsageError where weights and rewards are not as many
 */
export function adjustRewards(columns: SampleColumns, adjustment: RewardAdjustment): SampleColumns {
  const { clipReward, rewardWeights, perReward } = adjustment;
  const { rewardParts: parts = null } = columns;
  if (rewardWeights && !parts)
    throw new UsageError('reward weights are for several rewards (reward keys), and there is one');
  if (rewardWeights && rewardWeights.length !== (parts?.length ?? 0)) {
    const names = columns.rewardNames ? ` (${columns.rewardNames.join(', ')})` : '';
    throw new UsageError(`${rewardWeights.length} reward weights for ${parts?.length ?? 1} rewards${names}`);
  }
  if (!clipReward && !rewardWeights) return columns;
  const bounded = (column: Float64Array) => (clipReward ? column.map((value) => boundedTo(value, clipReward)) : column);
  if (!parts) return { ...columns, rewards: bounded(columns.rewards) };
  if (!perReward) return { ...columns, rewards: bounded(weightedSum(parts, rewardWeights, columns.rowCount)) };
  const rewardParts = parts.map(bounded);
  return { ...columns, rewardParts, rewards: weightedSum(rewardParts, rewardWeights, columns.rowCount) };
}

/** NaN, a missing reward, stays. */
function boundedTo(value: number, [low, high]: readonly [number, number]): number {
  return value < low ? low : value > high ? high : value;
}

/** A row that lacks one of several rewards lacks all. */
export function shareMissing(parts: readonly Float64Array[], rowCount: number): void {
  for (let row = 0; row < rowCount; row++) {
    if (!parts.some((part) => Number.isNaN(part[row]))) continue;
    for (const part of parts) part[row] = Number.NaN;
  }
}

export function weightedSum(
  parts: readonly Float64Array[],
  weights: readonly number[] | null,
  rowCount: number,
): Float64Array {
  const sums = new Float64Array(rowCount);
  for (const [k, part] of parts.entries()) {
    const weight = weights?.[k] ?? 1;
    for (let row = 0; row < rowCount; row++) sums[row] += weight * part[row];
  }
  return sums;
}

/**
 * What an estimator needs beside rewards: several of them, or a baseline in every row that has a reward.
 * @throws UsageError, InputError naming the first row without a baseline
 */
export function requireInputs(
  columns: SampleColumns,
  { perReward, baseline }: Pick<Rule, 'perReward' | 'baseline'>,
): void {
  const { rewards, baselines = null, rewardParts = null, place } = columns;
  if (perReward && (rewardParts === null || rewardParts.length < 2))
    throw new UsageError('gdpo normalizes several rewards, each by itself: name two or more (reward keys)');
  if (baseline !== 'column') return;
  if (baselines === null)
    throw new UsageError('remax subtracts a recorded baseline: name its column (--map baseline=COLUMN)');
  for (let row = 0; row < baselines.length; row++) {
    if (Number.isNaN(baselines[row]) && !Number.isNaN(rewards[row]))
      throw new InputError(`${place(row)}: baseline must be a finite number, found none`);
  }
}
