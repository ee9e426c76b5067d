/**
 * Picks entries of a column by row. Rows that lie anywhere are looked up in a loop that does nothing else: a processor
 * then waits for many of them at once, and a branch on an entry that is not in cache would make it wait for each.
 */

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

/** The same for one type of array, as which the loop is compiled to twice the speed. */
export function gatherWords(
  from: Uint32Array,
  rows: Uint32Array,
  to: Uint32Array = new Uint32Array(rows.length),
): Uint32Array {
  for (let i = 0; i < rows.length; i++) to[i] = from[rows[i]];
  return to;
}

export function gatherDoubles(
  from: Float64Array,
  rows: Uint32Array,
  to: Float64Array = new Float64Array(rows.length),
): Float64Array {
  for (let i = 0; i < rows.length; i++) to[i] = from[rows[i]];
  return to;
}
