/** Twin of prelude/vanishing.wgsl: sums of squares so small that binary64 has lost their digits. */

/** Squares below this have lost digits (they fall under 2^-1022). A sum of 0 is the extreme case. */
export const SMALLEST_VARIANCE_SUM = 2 ** -996;
/** A smaller epsilon does not hide it. */
export const SMALLEST_HIDING_EPSILON = 2 ** -400;

/** @param sum of squares, or a distance that a deviation is made of; not negative */
export function vanishes(sum: number, epsilon: number): boolean {
  return sum < SMALLEST_VARIANCE_SUM && epsilon < SMALLEST_HIDING_EPSILON;
}
