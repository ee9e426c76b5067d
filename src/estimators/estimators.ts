/** The table of estimators: what an advantage is made of. A new estimator is a row here and, at most, one kernel. */
import { spelled, UsageError } from '../errors.ts';
import { type Baseline, type BatchStep, isPassThrough, type Rule, type Scale, zeroesFlatGroups } from './rule.ts';

export const DEFAULT_EPSILON = 1e-6;
export const DEFAULT_DDOF = 1;

/** What most estimators have in common: (r - m) / (s + 1e-6) inside the group. */
export const CENTRE_AND_SCALE: Rule = {
  baseline: 'mean',
  scale: 'group',
  ddof: DEFAULT_DDOF,
  epsilon: DEFAULT_EPSILON,
  minStd: 0,
  singleton: 'zero',
  meanMustBePositive: true,
  perReward: false,
  step: null,
};
export const CENTRE: Rule = { ...CENTRE_AND_SCALE, scale: 'none' };
export const PASS_THROUGH: Rule = { ...CENTRE, baseline: 'pass-through' };

/** Over the counted rollouts of the batch, as gdpo ends. */
const BATCH_STEP: BatchStep = { weight: 'rollouts', ddof: 1, epsilon: 1e-6, epsilonAt: 'outside' };

/**
 * Whitening over trainable tokens, each rollout weighing its own (verl/trainer/ppo/core_algos.py and
 * verl/utils/torch_functional.py masked_whiten, verl-project/verl 1dda039b9; miles/utils/distributed_utils.py,
 * radixark/miles 31f1ca961).
 */
export const TOKEN_STEP: BatchStep = { weight: 'tokens', ddof: 1, epsilon: 1e-8, epsilonAt: 'inside' };

/**
 * grpo to reinforce_plus_plus_baseline: names of miles' --advantage-estimator (miles/ray/rollout/train_data_conversion.py,
 * radixark/miles 31f1ca961; cispo: slime/ray/rollout.py, THUDM/slime 624b824a8).
 * dr_grpo: the same without the division; rloo, opo, grpo_passk, gdpo, remax: verl/trainer/ppo/core_algos.py
 * (verl-project/verl 1dda039b9). maxrl: prime-rl's max_rl (src/prime_rl/orchestrator/algo/, PrimeIntellect-ai/prime-rl
 * 559b44772).
 */
export const ESTIMATORS = {
  grpo: CENTRE_AND_SCALE,
  gspo: CENTRE_AND_SCALE,
  cispo: CENTRE_AND_SCALE,
  reinforce_plus_plus_baseline: CENTRE,
  dr_grpo: CENTRE,
  rloo: { ...CENTRE, baseline: 'leave-one-out' },
  maxrl: { ...CENTRE, scale: 'mean', epsilon: 0 },
  opo: { ...CENTRE, baseline: 'length-mean' },
  grpo_passk: { ...CENTRE_AND_SCALE, baseline: 'runner-up' },
  gdpo: { ...CENTRE_AND_SCALE, perReward: true, step: BATCH_STEP },
  remax: { ...CENTRE, baseline: 'column' },
  ppo: PASS_THROUGH,
  reinforce_plus_plus: PASS_THROUGH,
  raw: PASS_THROUGH,
} as const satisfies Record<string, Rule>;

export type EstimatorName = keyof typeof ESTIMATORS;

/** Baselines and scales that can be asked for by themselves; the others belong to an estimator. */
export const BASELINE_CHOICES = ['mean', 'leave-one-out', 'median', 'none'] as const satisfies readonly Baseline[];
export const SCALE_CHOICES = ['group', 'batch', 'none', 'mad'] as const satisfies readonly Scale[];
export type BaselineChoice = (typeof BASELINE_CHOICES)[number];
export type ScaleChoice = (typeof SCALE_CHOICES)[number];

/** Lower and upper bound, both reached. */
export type Range = readonly [low: number, high: number];

export interface EstimatorOptions {
  /** Default `grpo`. */
  readonly estimator?: EstimatorName | undefined;
  /** miles' --disable-rewards-normalization: every row keeps its own reward. */
  readonly disableRewardsNormalization?: boolean | undefined;
  /** miles' --disable-grpo-std-normalization: grpo, gspo, cispo and grpo_passk do not divide. */
  readonly disableGrpoStdNormalization?: boolean | undefined;
  /** What is subtracted, instead of the group's mean. */
  readonly baseline?: BaselineChoice | undefined;
  /** What the difference is divided by. */
  readonly scale?: ScaleChoice | undefined;
  /** Divisor of the variance is n - ddof. Default 1. */
  readonly ddof?: 0 | 1 | undefined;
  /** Added to the scale; finite, >= 0. Default 1e-6. */
  readonly epsilon?: number | undefined;
  /** A group whose standard deviation is less counts as flat. */
  readonly minStd?: number | undefined;
  /** Whitens the advantages over trainable tokens at the end. */
  readonly weight?: 'tokens' | undefined;
  /** Weights of several rewards, in their order. Default 1 each. */
  readonly rewardWeights?: readonly number[] | undefined;
  /** Bounds of a row's reward, before anything else. */
  readonly clipReward?: Range | undefined;
  /** Bounds of an advantage, after everything else. */
  readonly clip?: Range | undefined;
}

/** What the program needs to know. */
export interface Estimator extends Rule {
  readonly name: EstimatorName;
  readonly rewardWeights: readonly number[] | null;
  readonly clipReward: Range | null;
  readonly clip: Range | null;
}

/**
 * @param base the rule that explicit options change; null: the estimator's own
 * @throws UsageError on an unknown name, an impossible value or a combination without a meaning
 */
export function resolveEstimator(options: EstimatorOptions, base: Rule | null = null): Estimator {
  const name = options.estimator ?? 'grpo';
  requireKnown('advantage estimator', name, Object.keys(ESTIMATORS));
  requireNumbers(options);
  const own = base ?? ESTIMATORS[name];
  const rule =
    isPassThrough(own) || options.disableRewardsNormalization
      ? passThrough(name, options)
      : changed(name, own, options);
  const { rewardWeights = null } = options;
  return { name, ...rule, rewardWeights, clipReward: options.clipReward ?? null, clip: options.clip ?? null };
}

function requireKnown(what: string, value: string, known: readonly string[]): void {
  if (!known.includes(value)) throw new UsageError(`unknown ${what} '${value}'; known: ${known.join(', ')}`);
}

function requireNumbers({ ddof, epsilon, minStd, clip, clipReward, ...options }: EstimatorOptions): void {
  if (ddof !== undefined && ddof !== 0 && ddof !== 1) throw new UsageError(`ddof must be 0 or 1, got ${ddof}`);
  for (const [name, value] of Object.entries({ epsilon, minStd })) {
    if (value !== undefined && !(Number.isFinite(value) && value >= 0))
      throw new UsageError(`${name} must be finite and >= 0, got ${value}`);
  }
  for (const [name, range] of Object.entries({ clip, clipReward })) {
    if (range === undefined) continue;
    const isRange = Array.isArray(range) && range.length === 2 && range.every((bound) => typeof bound === 'number');
    if (!isRange || !(range[0] <= range[1]))
      throw new UsageError(`${name} must be two numbers, the lower one first, got ${spelled(range)}`);
  }
  const { baseline, scale, weight, rewardWeights } = options;
  if (baseline !== undefined) requireKnown('baseline', baseline, BASELINE_CHOICES);
  if (scale !== undefined) requireKnown('scale', scale, SCALE_CHOICES);
  if (weight !== undefined) requireKnown('weight', weight, ['tokens']);
  for (const value of rewardWeights ?? [])
    if (!Number.isFinite(value)) throw new UsageError(`a reward weight must be a finite number, got ${value}`);
}

/** @throws UsageError on options that have no meaning where nothing is grouped */
function passThrough(name: EstimatorName, options: EstimatorOptions): Rule {
  const { baseline, scale, minStd, weight } = options;
  const named = { baseline, scale, 'min-std': minStd, weight };
  for (const [option, value] of Object.entries(named)) {
    if (value === undefined) continue;
    const why = options.disableRewardsNormalization ? 'disabled rewards normalization' : `the estimator ${name}`;
    throw new UsageError(
      `${option} has no meaning with ${why}, by which every row keeps its own reward${name === 'grpo' ? '' : '; dr_grpo with --baseline none groups without a baseline'}`,
    );
  }
  const { ddof = DEFAULT_DDOF, epsilon = DEFAULT_EPSILON } = options;
  return { ...PASS_THROUGH, ddof, epsilon: epsilon + 0 };
}

/** Estimators that are a baseline or a scale themselves. */
const OWN_BASELINE: readonly Baseline[] = ['leave-one-out', 'length-mean', 'runner-up', 'column'];

function changed(name: EstimatorName, own: Rule, options: EstimatorOptions): Rule {
  const { baseline, scale, ddof = own.ddof, minStd = own.minStd } = options;
  // By its name, not by the rule: a dialect may give a plain estimator another baseline, which a flag may change.
  const named: Rule = ESTIMATORS[name];
  if (
    baseline !== undefined &&
    baseline !== own.baseline &&
    (OWN_BASELINE.includes(named.baseline) || named.scale === 'mean')
  )
    throw new UsageError(`${name} is a baseline by itself: dr_grpo with --baseline ${baseline} leaves it out`);
  if (scale !== undefined && named.scale === 'mean')
    throw new UsageError(`${name} divides by the mean: dr_grpo with --scale ${scale} leaves it out`);
  const disabled = options.disableGrpoStdNormalization && named.scale === 'group' && !own.perReward;
  if (disabled && scale !== undefined && scale !== 'none')
    throw new UsageError(`disabled standard deviation normalization and --scale ${scale} exclude each other`);
  // -0 has other bits and the same meaning.
  const epsilon = (options.epsilon ?? own.epsilon) + 0;
  const rule: Rule = {
    ...own,
    baseline: baseline ?? own.baseline,
    scale: scale ?? (disabled ? 'none' : own.scale),
    ddof,
    epsilon,
    minStd: minStd + 0,
    step: stepOf(own, options),
  };
  // Where flat groups are like others, none becomes flat.
  const limit = zeroesFlatGroups(rule) ? rule.minStd : 0;
  return { ...rule, minStd: limit, singleton: singletonOf(rule, baseline) };
}

/**
 * What a group of one keeps is its reward less a mean, so a baseline that was asked for leaves nothing of it; and where
 * nothing is divided, no epsilon is added to its deviation of 1 either.
 */
function singletonOf({ singleton, scale }: Rule, asked: BaselineChoice | undefined): Rule['singleton'] {
  if (asked !== undefined && asked !== 'mean') return 'zero';
  return singleton === 'own-scaled' && scale === 'none' ? 'own' : singleton;
}

function stepOf({ step }: Rule, { weight, epsilon, ddof }: EstimatorOptions): BatchStep | null {
  if (weight === 'tokens') return step?.weight === 'tokens' ? step : TOKEN_STEP;
  if (step === null || step.weight === 'tokens') return step;
  return { ...step, epsilon: (epsilon ?? step.epsilon) + 0, ddof: ddof ?? step.ddof };
}
