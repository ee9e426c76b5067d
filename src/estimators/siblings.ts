/** What the siblings of a rollout say where they must share one reward, and the reward of a rollout under mean and sum. */
import { InputError } from '../errors.ts';
import { type Plan, rowAt } from '../plan/plan.ts';
import type { SampleColumns } from '../samples/columns.ts';
import type { SiblingPolicy } from './policies.ts';
import type { Rule } from './rule.ts';

/** -0 equals 0; missing equals missing. */
export const sameReward = (a: number, b: number) => a === b || (Number.isNaN(a) && Number.isNaN(b));

/** The rewards in which siblings can disagree: those that the rule looks at, several or their sum. */
export function rewardsLookedAt(
  { rewards, rewardParts = null }: Pick<SampleColumns, 'rewards' | 'rewardParts'>,
  { perReward }: Pick<Rule, 'perReward'>,
): readonly Float64Array[] {
  return perReward && rewardParts ? rewardParts : [rewards];
}

/**
 * `--siblings shared`: the present rewards of a rollout's rows must be exactly equal.
 * @throws InputError naming rollout, rows and rewards
 */
export function requireSharedRewards(plan: Plan, columns: SampleColumns): void {
  const { rowOffsets, rolloutCount, rowCount } = plan;
  if (rolloutCount === rowCount) return;
  for (let rollout = 0; rollout < rolloutCount; rollout++) {
    let known = -1;
    for (let position = rowOffsets[rollout]; position < rowOffsets[rollout + 1]; position++) {
      const row = rowAt(plan, position);
      if (Number.isNaN(columns.rewards[row])) continue;
      if (known < 0) known = row;
      else if (columns.rewards[row] !== columns.rewards[known]) throw sharedRefusal(columns, known, row);
    }
  }
}

function sharedRefusal(columns: SampleColumns, known: number, row: number): InputError {
  const id = columns.rolloutIds.describe(columns.rolloutCodes![row]);
  const { rewards, place } = columns;
  return new InputError(
    `rollout ${id}: siblings must share one reward, but ${place(known)} has ${rewards[known]} and ${place(row)} has ${rewards[row]}`,
  );
}

/**
 * Reward of every rollout under `mean` and `sum`: its present rewards in binary64, added one after the other in row order.
 * Sequential by definition, so it is host work on every backend. NaN where no sibling has a reward.
 */
export function combineSiblings(
  plan: Plan,
  rewards: Float64Array,
  policy: SiblingPolicy & ('mean' | 'sum'),
): Float64Array {
  const combined = new Float64Array(plan.rolloutCount);
  for (let rollout = 0; rollout < plan.rolloutCount; rollout++) {
    let sum = 0;
    let present = 0;
    let first = Number.NaN;
    let areEqual = true;
    for (let position = plan.rowOffsets[rollout]; position < plan.rowOffsets[rollout + 1]; position++) {
      const reward = rewards[rowAt(plan, position)];
      if (Number.isNaN(reward)) continue;
      sum += reward;
      if (present++ === 0) first = reward;
      else if (reward !== first) areEqual = false;
    }
    if (present === 0) combined[rollout] = Number.NaN;
    else if (policy === 'sum') combined[rollout] = sum;
    // Three times 0.1 over 3 is another number, and a group of equal rewards would not be flat.
    else combined[rollout] = areEqual ? first : sum / present;
  }
  return combined;
}
