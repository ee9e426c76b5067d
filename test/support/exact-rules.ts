/**
 * What the right advantages are under any rule, from nothing but the rule's definition: exact rational arithmetic, roots
 * to more bits than any bound asks for. Rewards are clipped, siblings chosen and rollouts excluded before.
 */
import type { BatchStep, Rule } from '../../src/estimators/rule.ts';
import { outsideBound } from './oracle.ts';
import {
  decompose,
  exactly,
  exponentOf,
  integerOf,
  isGreater,
  largest,
  magnitude,
  minus,
  plus,
  product,
  quotient,
  type Rational,
  scaled,
  squareRoot,
  times,
  ZERO,
} from './rational.ts';

export interface ExactRollout {
  /** One, or one per reward key. */
  readonly rewards: readonly number[];
  /** Trainable tokens over all siblings. */
  readonly tokens: number;
  /** What baseline `column` subtracts. */
  readonly baseline?: number;
}

export interface ExactSettings {
  readonly rule: Rule;
  /** One per reward key; default 1. */
  readonly rewardWeights?: readonly number[] | undefined;
  /** Limits of the result; an infinite one limits nothing. */
  readonly clip?: readonly [number, number] | undefined;
}

/** Significant bits of a square root. */
const ROOT_BITS = 384;

/**
 * Bits that a step keeps of the largest of the numbers it is given. Fewer than those of a root, so that terms which
 * cancel in truth cancel here.
 */
const STEP_BITS = 320;

const ONE: Rational = { numerator: 1n, denominator: 1n };

/** 1.4826, the binary64 number: makes a median distance a standard deviation of normal rewards. */
const DEVIATIONS_PER_MEDIAN_DISTANCE = exactly(1.4826);

/**
 * The exact advantages of the counted rollouts of a batch, group by group.
 * @throws RangeError where the rule has no answer: a divisor of 0, tokens that sum to no more than ddof, no baseline
 */
export function exactRuleAdvantages(
  groups: readonly (readonly ExactRollout[])[],
  { rule, rewardWeights, clip }: ExactSettings,
): Rational[][] {
  const keyCount = groups.flat()[0]?.rewards.length ?? 1;
  const weights = rewardWeights ?? Array.from({ length: keyCount }, () => 1);
  const keysDiffer = groups.flat().some(({ rewards }) => rewards.length !== keyCount);
  if (keysDiffer || weights.length !== keyCount) throw new RangeError('rewards, keys and weights differ in number');
  if (keyCount > 1 && !rule.perReward) throw new RangeError('several rewards under a rule for one');
  const terms = weights.map((weight, key) => {
    const advantages = advantagesOfKey(groups, key, rule);
    return rule.perReward
      ? advantages.map((group) => group.map((value) => product(exactly(weight), value)))
      : advantages;
  });
  const sums = groups.map((group, at) => group.map((_, i) => sumOf(terms.map((term) => term[at][i]))));
  const stepped = rule.step === null ? sums : afterStep(sums, groups, largest(terms.flat(2)), rule.step);
  return clip ? stepped.map((group) => group.map((value) => limited(value, clip))) : stepped;
}

/**
 * Where advantages leave the accuracy bound; empty if they keep it. Its share of the largest |advantage| is of the group,
 * or of the batch for the results of a step.
 */
export function outsideRuleBound(
  advantages: readonly (readonly number[])[],
  exact: readonly (readonly Rational[])[],
  rule: Rule,
): string[] {
  if (advantages.length !== exact.length) return [`${advantages.length} groups where ${exact.length} are right`];
  const uneven = exact.flatMap(({ length }, at) =>
    advantages[at].length === length ? [] : [`group ${at}: not ${length}`],
  );
  if (uneven.length > 0) return uneven;
  if (rule.step !== null) return outsideBound(advantages.flat(), exact.flat());
  return advantages.flatMap((group, at) => outsideBound(group, exact[at]).map((text) => `group ${at}, ${text}`));
}

/** Baseline and scale on one reward of every rollout. */
function advantagesOfKey(groups: readonly (readonly ExactRollout[])[], key: number, rule: Rule): Rational[][] {
  const rewards = groups.map((group) => group.map((rollout) => rollout.rewards[key]));
  const batchDeviation = rule.scale === 'batch' ? deviation(alike(rewards.flat()), rule.ddof) : ZERO;
  const batchIsFlat = rule.scale === 'batch' && batchDeviation.numerator === 0n;
  return groups.map((group, at) => {
    const values = alike(rewards[at]);
    if (rule.baseline === 'pass-through') return values;
    const keepsFlat = rule.baseline === 'column' || rule.baseline === 'none';
    if (!keepsFlat && values.length === 1) return [ofSingle(values[0], rule)];
    if (!keepsFlat && (batchIsFlat || isFlat(values, rule))) return values.map(() => ZERO);
    const differences = differencesOf(values, group, rule);
    if (differences.every(({ numerator }) => numerator === 0n)) return differences;
    const divisors = divisorsOf(values, batchDeviation, rule);
    return divisors === null ? values.map(() => ZERO) : differences.map((value, i) => quotient(value, divisors[i]));
  });
}

function ofSingle(reward: Rational, { singleton, epsilon }: Rule): Rational {
  return { zero: ZERO, own: reward, 'own-scaled': quotient(reward, plus(ONE, exactly(epsilon))) }[singleton];
}

function isFlat(values: readonly Rational[], { ddof, minStd }: Rule): boolean {
  if (values.every(({ numerator }) => numerator === values[0].numerator)) return true;
  return minStd > 0 && isGreater(exactly(minStd), deviation(values, ddof));
}

/** Reward less baseline. */
function differencesOf(values: Rational[], group: readonly ExactRollout[], { baseline }: Rule): Rational[] {
  const less = (subtrahend: Rational) => values.map((value) => minus(value, subtrahend));
  const mean = meanOf(values);
  switch (baseline) {
    case 'mean':
      return less(mean);
    case 'leave-one-out':
      return values.map((value, i) => minus(value, meanOf(values.toSpliced(i, 1))));
    case 'median':
      return less(medianOf(values));
    case 'length-mean': {
      const total = group.reduce((sum, { tokens }) => sum + BigInt(tokens), 0n);
      if (total === 0n) return less(mean);
      const products = values.map((value, i) => times(value, BigInt(group[i].tokens)));
      return less(quotient(sumOf(products), { numerator: total, denominator: 1n }));
    }
    case 'runner-up': {
      const [second, best] = inOrder(values).slice(-2);
      return values.map((value) => (value.numerator === best.numerator ? minus(best, second) : ZERO));
    }
    case 'column':
      return values.map((value, i) => {
        if (group[i].baseline === undefined) throw new RangeError('a rollout has no baseline');
        return minus(value, exactly(group[i].baseline));
      });
    default:
      return [...values];
  }
}

/** What the difference of each rollout is divided by; null: the advantages are 0. */
function divisorsOf(values: Rational[], batchDeviation: Rational, rule: Rule): Rational[] | null {
  const epsilon = exactly(rule.epsilon);
  const all = (divisor: Rational) => values.map(() => divisor);
  switch (rule.scale) {
    case 'group':
      return all(plus(deviation(values, rule.ddof), epsilon));
    case 'batch':
      return all(plus(batchDeviation, epsilon));
    case 'mad': {
      const median = medianOf(values);
      const distance = medianOf(values.map((value) => magnitude(minus(value, median))));
      const flat = values.every(({ numerator }) => numerator === values[0].numerator);
      if (distance.numerator === 0n && !flat) return all(ONE);
      return all(plus(product(DEVIATIONS_PER_MEDIAN_DISTANCE, distance), epsilon));
    }
    case 'mean': {
      const mean = meanOf(values);
      return rule.meanMustBePositive && mean.numerator <= 0n ? null : all(plus(mean, epsilon));
    }
    case 'peers':
      return values.map((_, i) => {
        const ofOthers = deviation(values.toSpliced(i, 1), rule.ddof);
        return ofOthers.numerator === 0n ? ONE : plus(ofOthers, epsilon);
      });
    default:
      return all(ONE);
  }
}

/** (A - M) / divisor over all rollouts of the batch. `scale`: the largest term that an A was added up from. */
function afterStep(
  advantages: Rational[][],
  groups: readonly (readonly ExactRollout[])[],
  scale: Rational,
  { weight, ddof, epsilon, epsilonAt }: BatchStep,
): Rational[][] {
  const weights = groups.flat().map(({ tokens }) => (weight === 'tokens' ? BigInt(tokens) : 1n));
  const total = weights.reduce((sum, value) => sum + value, 0n);
  if (weight === 'tokens' && total <= BigInt(ddof)) throw new RangeError(`a step over ${total} tokens`);
  if (scale.numerator === 0n || total <= BigInt(ddof)) return advantages.map((group) => group.map(() => ZERO));
  const unit = exponentOf(scale) - STEP_BITS;
  const integers = advantages.flat().map((value) => integerOf(value, unit));
  const sum = integers.reduce((sum, value, i) => sum + weights[i] * value, 0n);
  const centred = integers.map((value) => total * value - sum);
  const squares = centred.reduce((sum, value, i) => sum + weights[i] * value * value, 0n);
  const variance = scaled({ numerator: squares, denominator: total * total * (total - BigInt(ddof)) }, 2 * unit);
  const divisor = stepDivisor(variance, exactly(epsilon), epsilonAt);
  const results = centred.map((value) => {
    return value === 0n ? ZERO : quotient(scaled({ numerator: value, denominator: total }, unit), divisor);
  });
  return advantages.map((group) => results.splice(0, group.length));
}

function stepDivisor(variance: Rational, epsilon: Rational, epsilonAt: BatchStep['epsilonAt']): Rational {
  switch (epsilonAt) {
    case 'outside':
      return plus(squareRoot(variance, ROOT_BITS), epsilon);
    case 'inside':
      return squareRoot(plus(variance, epsilon), ROOT_BITS);
    case 'floor':
      return squareRoot(isGreater(epsilon, variance) ? epsilon : variance, ROOT_BITS);
  }
}

function limited(value: Rational, [low, high]: readonly [number, number]): Rational {
  if (Number.isFinite(low) && isGreater(exactly(low), value)) return exactly(low);
  if (Number.isFinite(high) && isGreater(value, exactly(high))) return exactly(high);
  return value;
}

/** Numbers as rationals of one denominator. */
function alike(numbers: readonly number[]): Rational[] {
  const parts = numbers.map(decompose);
  const unit = parts.reduce(
    (least, { mantissa, exponent }) => (mantissa === 0n ? least : Math.min(least, exponent)),
    0,
  );
  const denominator = 1n << BigInt(-unit);
  return parts.map(({ mantissa, exponent }) => ({
    numerator: mantissa === 0n ? 0n : mantissa << BigInt(exponent - unit),
    denominator,
  }));
}

function sumOf(values: readonly Rational[]): Rational {
  return values.reduce(plus);
}

function meanOf(values: readonly Rational[]): Rational {
  return quotient(sumOf(values), { numerator: BigInt(values.length), denominator: 1n });
}

/** Standard deviation; 0 where there are no more values than ddof. */
function deviation(values: readonly Rational[], ddof: 0 | 1): Rational {
  if (values.length <= ddof) return ZERO;
  const mean = meanOf(values);
  const squares = values.map((value) => minus(value, mean)).map((value) => product(value, value));
  const divisor = { numerator: BigInt(values.length - ddof), denominator: 1n };
  return squareRoot(quotient(sumOf(squares), divisor), ROOT_BITS);
}

/** Of values of one denominator; an even number of them averages the middle two. */
function medianOf(values: readonly Rational[]): Rational {
  const sorted = inOrder(values);
  return meanOf(sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1));
}

function inOrder(values: readonly Rational[]): Rational[] {
  return [...values].sort((a, b) => (a.numerator < b.numerator ? -1 : Number(a.numerator > b.numerator)));
}
