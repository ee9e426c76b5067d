/** The table of estimators: what an advantage is made of. A new estimator is a row here and, at most, one kernel. */
import { UsageError } from '../errors.ts';

/** What is subtracted from a reward, and what the difference is divided by. */
export interface EstimatorRule {
  /** `group-mean`: the mean of the group's counted rollouts. `none`: the row's own reward passes through. */
  readonly baseline: 'group-mean' | 'none';
  /** `deviation`: standard deviation of the counted rollouts + epsilon. `none`: no division. */
  readonly scale: 'deviation' | 'none';
}

const CENTRE_AND_SCALE: EstimatorRule = { baseline: 'group-mean', scale: 'deviation' };
const CENTRE: EstimatorRule = { baseline: 'group-mean', scale: 'none' };
const PASS_THROUGH: EstimatorRule = { baseline: 'none', scale: 'none' };

/**
 * Names are those of miles' --advantage-estimator (miles/ray/rollout/train_data_conversion.py, radixark/miles 31f1ca961),
 * and dr_grpo, the same without the division (verl/trainer/ppo/core_algos.py, verl-project/verl 1dda039b9).
 */
export const ESTIMATORS = {
  grpo: CENTRE_AND_SCALE,
  gspo: CENTRE_AND_SCALE,
  cispo: CENTRE_AND_SCALE,
  reinforce_plus_plus_baseline: CENTRE,
  dr_grpo: CENTRE,
  ppo: PASS_THROUGH,
  reinforce_plus_plus: PASS_THROUGH,
  raw: PASS_THROUGH,
} as const satisfies Record<string, EstimatorRule>;

export type EstimatorName = keyof typeof ESTIMATORS;

export const DEFAULT_EPSILON = 1e-6;
export const DEFAULT_DDOF = 1;

export interface EstimatorOptions {
  /** Default `grpo`. */
  readonly estimator?: EstimatorName | undefined;
  /** miles' --disable-rewards-normalization: every row keeps its own reward. */
  readonly disableRewardsNormalization?: boolean | undefined;
  /** miles' --disable-grpo-std-normalization: grpo, gspo and cispo centre only. */
  readonly disableGrpoStdNormalization?: boolean | undefined;
  /** Divisor of the variance is n - ddof. Default 1. */
  readonly ddof?: 0 | 1 | undefined;
  /** Added to the standard deviation; finite, >= 0. Default 1e-6. */
  readonly epsilon?: number | undefined;
}

/** What the kernels need to know. */
export interface Estimator extends EstimatorRule {
  readonly name: EstimatorName;
  readonly ddof: 0 | 1;
  readonly epsilon: number;
}

/** @throws UsageError on an unknown name or an impossible ddof or epsilon */
export function resolveEstimator(options: EstimatorOptions): Estimator {
  const name = options.estimator ?? 'grpo';
  if (!Object.hasOwn(ESTIMATORS, name)) {
    throw new UsageError(`unknown advantage estimator '${name}'; known: ${Object.keys(ESTIMATORS).join(', ')}`);
  }
  const { ddof = DEFAULT_DDOF, epsilon = DEFAULT_EPSILON } = options;
  if (ddof !== 0 && ddof !== 1) throw new UsageError(`ddof must be 0 or 1, got ${ddof}`);
  if (!(Number.isFinite(epsilon) && epsilon >= 0))
    throw new UsageError(`epsilon must be finite and >= 0, got ${epsilon}`);
  let rule: EstimatorRule = ESTIMATORS[name];
  if (options.disableRewardsNormalization) rule = PASS_THROUGH;
  else if (options.disableGrpoStdNormalization && rule.scale === 'deviation') rule = CENTRE;
  return { name, ...rule, ddof, epsilon: epsilon + 0 }; // -0 has other bits and the same meaning
}

export function isPassThrough(rule: EstimatorRule): boolean {
  return rule.baseline === 'none';
}
