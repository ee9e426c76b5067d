/** Numbers as people read them. */

/** Four digits. */
export const short = (value: number) => String(Number(value.toPrecision(4)));

/** All digits; 1e-6 rather than 0.000001. */
export function whole(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : String(value);
}
