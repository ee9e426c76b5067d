/** Numbers that the shaders (prelude/codes.wgsl) and their twins share. */
import type { SiblingPolicy } from '../estimators/policies.ts';

/** `shared` takes the first sibling whose reward is present. `mean` and `sum` choose no row. */
export const CHOICE: Readonly<Record<Exclude<SiblingPolicy, 'mean' | 'sum' | 'rows'>, number>> = {
  mainstream: 0,
  first: 1,
  last: 2,
  max: 3,
  min: 4,
  shared: 5,
};

/** `slot` of a rollout that is not counted. */
export const NOT_COUNTED = 0xffffffff;

/** What a group is, as the kernels report it. */
export const GROUP_STATUS = {
  /** Has advantages. */
  regular: 0,
  /** All counted rewards equal, or one counted rollout or none: advantages are 0. */
  flat: 1,
  /** A sum or a variance left the range of binary64. */
  overflow: 2,
  /** The divisor is 0, or the variance is so small that binary64 has lost its digits. */
  vanishing: 3,
  /** Has advantages that are not scaled: the scale is 0 although the rewards differ. */
  unscaled: 4,
  /** The divisor would be a mean that is not above 0, although the rewards differ: advantages are 0. */
  notPositive: 5,
} as const;

/** What group-divisor makes a divisor of. */
export const MEASURE = {
  /** V, a sum of squares: sqrt(V / (total - ddof)) + epsilon. */
  deviation: 0,
  /** V: sqrt(V / (total - ddof) + epsilon). */
  deviationInside: 1,
  /** V: sqrt(max(V / (total - ddof), epsilon)). */
  deviationFloor: 2,
  /** A median distance from the median: 1.4826 times it + epsilon. */
  medianDistance: 3,
  /** A sum of rewards: sum / n + epsilon. */
  mean: 4,
  /** The divisor itself. */
  constant: 5,
} as const;

/**
 * What an output holds until a kernel writes it. As binary64 or binary32 it is NaN and spreads by itself; kernels that
 * read u32 results of others pass it on, so that a dispatch that did not run never becomes a plausible number.
 */
export const UNWRITTEN = 0xffffffff;
