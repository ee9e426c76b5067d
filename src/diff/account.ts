/** What one setting made of one row: its rollout, its prompt group, and the numbers that were used. */
import { Exclusion } from '../estimators/exclusion.ts';
import type { ExclusionReason } from '../estimators/policies.ts';
import { type Details, NO_ROW } from '../kernels/details.ts';
import type { Settings } from '../options.ts';
import { groupOfRow } from '../plan/describe.ts';
import { type Plan, rowAt } from '../plan/plan.ts';
import type { SampleColumns } from '../samples/columns.ts';

/** A setting and what it computed. */
export interface Side {
  readonly columns: SampleColumns;
  readonly plan: Plan;
  readonly settings: Settings;
  readonly advantages: Float32Array;
  /** Null: rewards passed through. */
  readonly details: Details | null;
}

export interface Account {
  readonly rollout: number;
  readonly rolloutRows: number;
  readonly group: number;
  readonly groupRows: number;
  readonly groupRollouts: number;
  /** Rollouts of the group that are counted. */
  readonly countedRollouts: number;
  /** Null: the rollout is counted. */
  readonly leftOutAs: ExclusionReason | null;
  /** Row that stands for the rollout; null: several do. */
  readonly representative: number | null;
  /** Of the rollout, by reward; NaN where it is not counted. */
  readonly rewards: readonly number[];
  /** Of the group, by reward. */
  readonly statistics: readonly GroupNumbers[];
}

export interface GroupNumbers {
  readonly mean: number;
  readonly deviation: number;
  /** NaN: not one number for the group. */
  readonly baseline: number;
  /** NaN: not one number for the group. */
  readonly divisor: number;
  /** GROUP_STATUS */
  readonly status: number;
}

/** Null where rewards passed through. */
export function accountOf(side: Side, row: number): Account | null {
  const { plan, details } = side;
  if (details === null) return null;
  const rollout = plan.rowRollout[row];
  const group = groupOfRow(plan, row);
  const [firstRollout, rolloutEnd] = [plan.groupOffsets[group], plan.groupOffsets[group + 1]];
  let countedRollouts = 0;
  for (let other = firstRollout; other < rolloutEnd; other++) countedRollouts += details.counted[other];
  const representative = details.representatives[rollout];
  return {
    rollout,
    rolloutRows: plan.rowOffsets[rollout + 1] - plan.rowOffsets[rollout],
    group,
    groupRows: plan.rowOffsets[rolloutEnd] - plan.rowOffsets[firstRollout],
    groupRollouts: rolloutEnd - firstRollout,
    countedRollouts,
    leftOutAs: details.counted[rollout] === 1 ? null : exclusionOf(side, rollout, representative),
    representative: representative === NO_ROW ? null : representative,
    rewards: details.rewards.map((rewards) => rewards[rollout]),
    statistics: details.groups.map(({ means, deviations, baselines, divisors, statuses }) => ({
      mean: means[group],
      deviation: deviations[group],
      baseline: baselines[group],
      divisor: divisors[group],
      status: statuses[group],
    })),
  };
}

function exclusionOf(
  { plan, columns, settings }: Side,
  rollout: number,
  representative: number,
): ExclusionReason | null {
  const tokens = columns.lossMasks === null ? columns.fixedTokens : null;
  const exclusion = new Exclusion(plan, columns, settings.policies, tokens);
  let position = plan.rowOffsets[rollout];
  while (representative !== NO_ROW && rowAt(plan, position) !== representative) position++;
  exclusion.isCounted(rollout, position);
  return settings.policies.exclude.find((reason) => exclusion.counts[reason] === 1) ?? null;
}
