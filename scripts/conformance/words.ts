/** Rules in words, as documents show them. */
import type { Estimator } from '../../src/estimators/estimators.ts';
import { type BatchStep, isPassThrough, type Rule, zeroesFlatGroups } from '../../src/estimators/rule.ts';

export const BASELINE_WORDS: Readonly<Record<Rule['baseline'], string>> = {
  mean: 'mean of the group',
  'leave-one-out': 'mean of the others of the group',
  median: 'median of the group',
  'length-mean': 'mean of the group, weighted by trainable tokens',
  'runner-up': 'second best of the group; only the best has an advantage',
  column: 'recorded baseline',
  none: 'nothing',
  'pass-through': 'nothing; every row keeps its own reward',
};

const SCALE_WORDS: Readonly<Record<Rule['scale'], string>> = {
  group: 'standard deviation of the group',
  batch: "standard deviation of the batch's rewards",
  mad: "1.4826 x median distance from the group's median",
  mean: 'mean of the group',
  peers: 'standard deviation of the others of the group; where these are equal, by 1 without epsilon',
  none: '-',
};

/** As it is usually written: 1e-6 and not 0.000001. */
export function numberWords(value: number): string {
  return value === 0 ? '0' : value < 1e-3 ? value.toExponential() : String(value);
}

/** What is divided by, without its epsilon. */
export function divisorWords({ scale, meanMustBePositive }: Rule): string {
  return SCALE_WORDS[scale] + (scale === 'mean' && meanMustBePositive ? '; a mean <= 0 gives 0' : '');
}

/** Divisor of the variance. */
export function ddofWords({ scale, ddof }: Rule): string {
  return scale === 'group' || scale === 'batch' || scale === 'peers' ? String(ddof) : '-';
}

export function singletonWords({ baseline, singleton, epsilon }: Rule): string {
  if (!zeroesFlatGroups({ baseline })) return 'like any group';
  return { zero: '0', own: 'r', 'own-scaled': `r / (1 + ${numberWords(epsilon)})` }[singleton];
}

export function stepWords(step: BatchStep | null): string {
  if (step === null) return '-';
  const { weight, ddof, epsilon, epsilonAt } = step;
  const added = numberWords(epsilon);
  const divisor = {
    outside: epsilon === 0 ? 'sqrt(V)' : `(sqrt(V) + ${added})`,
    inside: `sqrt(V + ${added})`,
    floor: `sqrt(max(V, ${added}))`,
  }[epsilonAt];
  const over = weight === 'tokens' ? 'trainable tokens' : 'rollouts';
  return `(A - M) / ${divisor} over the ${over} of the batch, ddof ${ddof}`;
}

/** The whole rule as a sentence or two. */
export function ruleWords(estimator: Estimator): string {
  if (isPassThrough(estimator)) return `A = r${limits('r', estimator.clipReward)}${limits('A', estimator.clip)}`;
  const { baseline, scale, epsilon, perReward, step, minStd } = estimator;
  const parts = [
    `A = r - b${scale === 'none' ? '' : ', divided by d'}`,
    `b: ${BASELINE_WORDS[baseline]}`,
    ...(scale === 'none' ? [] : [`d: ${divisorWords(estimator)}`]),
    ...(scale === 'none' || epsilon === 0 ? [] : [`epsilon ${numberWords(epsilon)}, added to d`]),
    ...(ddofWords(estimator) === '-' ? [] : [`ddof ${ddofWords(estimator)}`]),
    `a group of one: ${singletonWords(estimator)}`,
    zeroesFlatGroups(estimator) ? 'a flat group: 0' : 'flat groups are like others',
    ...(minStd > 0 ? [`a group whose standard deviation is below ${minStd} counts as flat`] : []),
    ...(perReward ? ['each reward by itself, then added up with the weights'] : []),
    ...(step ? [`then ${stepWords(step)}`] : []),
  ];
  return parts.join('; ') + limits('r', estimator.clipReward) + limits('A', estimator.clip);
}

function limits(what: string, range: Estimator['clip']): string {
  return range ? `; ${what} bounded to [${range[0]}, ${range[1]}]` : '';
}
