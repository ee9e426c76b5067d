/** Twin of prelude/advantage.wgsl: the last step of every advantage. */

/** Bounded where it has bounds, rounded once to binary32, zero being +0. What is no finite number is not bounded. */
export function advantageOf(value: number, bounded: number, low: number, high: number): number {
  const kept = bounded === 1 && Number.isFinite(value) ? (value < low ? low : Math.min(value, high)) : value;
  return Math.fround(kept) + 0;
}
