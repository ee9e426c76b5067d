/** The statistics of a rollout's group as the engine has them, and what kept them from being applied as usual. */
import { zeroesFlatGroups } from '../estimators/rule.ts';
import { GROUP_STATUS } from '../kernels/codes.ts';
import type { Details } from '../kernels/details.ts';
import type { Computation } from './computation.ts';
import type { Guard, RewardStatistics } from './explanation.ts';
import { orNull, plural, spell } from './spelling.ts';

export function explainStatistics(computation: Computation, group: number, rollout: number): RewardStatistics[] {
  const { columns, settings, result } = computation;
  const { estimator } = settings;
  const details = result.details!;
  const names = estimator.perReward ? (columns.rewardNames ?? [null]) : [null];
  const counted = countedOf(computation, group);
  return details.groups.map((own, k) => {
    const guard = details.counted[rollout] === 1 ? guardOf(computation, group, k, counted) : null;
    return {
      reward: names[k] ?? null,
      weight: (estimator.perReward ? estimator.rewardWeights?.[k] : null) ?? 1,
      counted: counted.length,
      mean: orNull(own.means[group]),
      deviation: orNull(own.deviations[group]),
      baseline: orNull(own.baselines[group]),
      divisor: counted.length === 0 ? null : orNull(own.divisors[group]),
      guard: guard?.[0] ?? null,
      guard_reason: guard?.[1] ?? null,
    };
  });
}

/** The counted rollouts of a group. */
export function countedOf({ plan, result }: Computation, group: number): number[] {
  const start = plan.groupOffsets[group];
  const all = Array.from({ length: plan.groupOffsets[group + 1] - start }, (_, i) => start + i);
  return all.filter((rollout) => result.details!.counted[rollout] === 1);
}

function guardOf(
  { settings, result }: Computation,
  group: number,
  k: number,
  counted: readonly number[],
): [Guard, string] | null {
  const rule = settings.estimator;
  const details: Details = result.details!;
  const { statuses, means, deviations } = details.groups[k];
  if (statuses[group] === GROUP_STATUS.unscaled)
    return ['unscaled', 'the median distance is 0 although the rewards differ, so they are not scaled'];
  if (statuses[group] === GROUP_STATUS.notPositive)
    return ['mean_not_positive', `the mean ${spell(means[group])} is not above 0`];
  if (!zeroesFlatGroups(rule)) return null;
  if (counted.length === 1 && rule.singleton !== 'zero')
    return ['single_keeps_reward', 'the only counted rollout of its group keeps its own reward: nothing is subtracted'];
  if (statuses[group] !== GROUP_STATUS.flat) return null;
  if (counted.length === 1) return ['single', 'the only counted rollout of its group has nothing to be compared with'];
  const rewards = counted.map((rollout) => details.rewards[k][rollout]);
  if (rewards.every((reward) => reward === rewards[0]))
    return ['flat', `all ${plural(rewards.length, 'counted reward')} of the group are ${spell(rewards[0])}`];
  return ['min_std', `the standard deviation ${spell(deviations[group])} is below ${spell(rule.minStd)} (min-std)`];
}
