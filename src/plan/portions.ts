/** Cuts the items of one kernel into dispatches of bounded work. Integers only. */

/** Items [firstItem, firstItem + itemCount). */
export interface Portion {
  readonly firstItem: number;
  readonly itemCount: number;
  /** Elements that the items walk over, or the items themselves. */
  readonly work: number;
}

/**
 * Portions of the items [from, to), in order, together exactly all of them; a single item may exceed `maxElements`.
 * @param bounds element offsets by item; null: an item is all there is to do
 */
export function* portionsOf(
  from: number,
  to: number,
  bounds: Uint32Array | null,
  maxItems: number,
  maxElements: number,
): Generator<Portion> {
  for (let firstItem = from; firstItem < to; ) {
    const furthest = Math.min(to, firstItem + maxItems);
    const end =
      bounds === null
        ? Math.min(furthest, firstItem + maxElements)
        : lastFitting(bounds, firstItem, furthest, maxElements);
    const work = bounds === null ? end - firstItem : bounds[end] - bounds[firstItem];
    yield { firstItem, itemCount: end - firstItem, work: Math.max(work, end - firstItem) };
    firstItem = end;
  }
}

/** The largest end for which the items hold at most `maxElements`, but at least one item. */
function lastFitting(bounds: Uint32Array, firstItem: number, furthest: number, maxElements: number): number {
  let low = firstItem + 1;
  let high = furthest;
  while (low < high) {
    const middle = low + Math.ceil((high - low) / 2);
    if (bounds[middle] - bounds[firstItem] <= maxElements) low = middle;
    else high = middle - 1;
  }
  return low;
}
