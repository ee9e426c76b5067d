/** Advantages that a file carries of its own, as a column of numbers. */

/** Nothing is recorded in the row. */
export const NOT_RECORDED = Number.NaN;

/** NaN means that nothing is there, so a NaN that is there is kept as what else is not finite. */
export function recordedValue(value: number): number {
  return Number.isNaN(value) ? Number.POSITIVE_INFINITY : value;
}
