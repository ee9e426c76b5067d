/** Brings rewards into the form that a rule wants, and refuses batches that lack what it needs beside them. */
import { InputError, UsageError } from '../errors.ts';
import type { SampleColumns } from '../samples/columns.ts';
import { SUM_OVERFLOWS } from '../samples/reward-sum.ts';
import { weightedSum } from '../samples/rewards.ts';
import type { Rule } from './rule.ts';

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
 * @throws UsageError where weights and rewards are not as many; InputError naming a row whose sum overflows
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
  const bounded = (column: Float64Array) => (clipReward ? column.map((value) => boundedTo(value, clipReward)) : column);
  if (!parts) return clipReward ? { ...columns, rewards: bounded(columns.rewards) } : columns;
  const rewardParts = perReward && clipReward ? parts.map(bounded) : parts;
  const isSummed = rewardWeights === null && rewardParts === parts;
  const sums = isSummed ? columns.rewards : weightedSum(rewardParts, rewardWeights, columns.rowCount);
  requireFiniteSums(sums, parts, columns);
  if (isSummed && !clipReward) return columns;
  return { ...columns, rewardParts, rewards: perReward ? sums : bounded(sums) };
}

/** Parts tell which rows have a reward: a sum that overflows is not a missing one. */
function requireFiniteSums(sums: Float64Array, parts: readonly Float64Array[], { place }: SampleColumns): void {
  const row = sums.findIndex((sum, i) => !Number.isFinite(sum) && !Number.isNaN(parts[0][i]));
  if (row >= 0) throw new InputError(`${place(row)}: ${SUM_OVERFLOWS}`);
}

/** NaN, a missing reward, stays. */
function boundedTo(value: number, [low, high]: readonly [number, number]): number {
  return value < low ? low : value > high ? high : value;
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
