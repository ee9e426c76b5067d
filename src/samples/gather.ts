/** Picks entries of a column by row. */

/** Fills `to` with the entries of `from` at `rows`; null where there is no column. */
export function gather<T extends Uint8Array | Uint32Array | Float64Array>(
  from: T | null,
  rows: Uint32Array,
  to: T,
): T | null {
  if (!from) return null;
  for (let i = 0; i < rows.length; i++) to[i] = from[rows[i]];
  return to;
}
