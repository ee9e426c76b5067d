/** How far apart two advantages may be that binary32 arithmetic in another order explains. */

/** Frameworks compute in binary32, some in other orders. */
const EXPLAINED_BY_ROUNDING = 1e-4;

/** @param recorded a value that someone else computed; one that is infinite is explained by nothing */
export function isBeyondRounding(recorded: number, own: number): boolean {
  if (!Number.isFinite(recorded)) return true;
  return Math.abs(recorded - own) > EXPLAINED_BY_ROUNDING * Math.max(1, Math.abs(recorded));
}
