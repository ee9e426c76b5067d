/** What an advantage is made of, step by step; every estimator and dialect comes down to one of these. */

/**
 * What is subtracted from the reward of a rollout.
 * `mean`, `median`: of the group's counted rollouts. `leave-one-out`: mean of the others. `length-mean`: mean weighted by
 * trainable tokens. `runner-up`: only the best rollout has an advantage, over the second best. `column`: a recorded
 * baseline. `none`: 0. `pass-through`: nothing is grouped, every row keeps its own reward.
 */
export const BASELINES = [
  'mean',
  'leave-one-out',
  'median',
  'length-mean',
  'runner-up',
  'column',
  'none',
  'pass-through',
] as const;
export type Baseline = (typeof BASELINES)[number];

/**
 * What the difference is divided by, epsilon added. `group`, `batch`: standard deviation of the rewards counted there.
 * `mad`: 1.4826 times the median distance from the group's median. `mean`: the group's mean. `peers`: standard deviation
 * of the group without the rollout itself, 1 where the others are equal. `none`: 1, without epsilon.
 */
export const SCALES = ['group', 'batch', 'mad', 'mean', 'peers', 'none'] as const;
export type Scale = (typeof SCALES)[number];

/** A last normalization over all counted rollouts of the batch. */
export interface BatchStep {
  /** `rollouts`: each weighs 1. `tokens`: each weighs its trainable tokens. */
  readonly weight: 'rollouts' | 'tokens';
  /** V is divided by the sum of weights - ddof. */
  readonly ddof: 0 | 1;
  readonly epsilon: number;
  /** Divisor: `outside` sqrt(V) + epsilon, `inside` sqrt(V + epsilon), `floor` sqrt(max(V, epsilon)). */
  readonly epsilonAt: 'outside' | 'inside' | 'floor';
}

export interface Rule {
  readonly baseline: Baseline;
  readonly scale: Scale;
  /** Divisor of a variance is n - ddof. */
  readonly ddof: 0 | 1;
  /** Added to the scale; finite, >= 0. */
  readonly epsilon: number;
  /** A group whose standard deviation is less counts as flat; 0: none. */
  readonly minStd: number;
  /**
   * A group of one counted rollout: `zero` gives 0, `own` the reward itself (baseline 0, scale 1, no epsilon), `own-scaled`
   * r / (1 + epsilon).
   */
  readonly singleton: 'zero' | 'own' | 'own-scaled';
  /** Scale `mean`: whether a mean <= 0 makes the group's advantages 0; else only one whose sum with epsilon is 0 is refused. */
  readonly meanMustBePositive: boolean;
  /** Baseline and scale are applied to each of several rewards, and the advantages are added up with their weights. */
  readonly perReward: boolean;
  readonly step: BatchStep | null;
}

/** Whether equal rewards make a group's advantages 0 before any arithmetic. */
export function zeroesFlatGroups({ baseline }: Pick<Rule, 'baseline'>): boolean {
  return baseline !== 'none' && baseline !== 'column' && baseline !== 'pass-through';
}

export function isPassThrough({ baseline }: Pick<Rule, 'baseline'>): boolean {
  return baseline === 'pass-through';
}
