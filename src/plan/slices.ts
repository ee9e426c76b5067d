/** Cuts the items of a dispatch so that the parts of all its arrays fit into bindings. Integers only. */

/** Items [from, to) with the elements and segments that they touch. */
export interface ItemSlice {
  readonly from: number;
  readonly to: number;
  readonly elementFrom: number;
  readonly elementTo: number;
  readonly segmentFrom: number;
  readonly segmentTo: number;
}

export interface SliceLimits {
  readonly maxItems: number;
  readonly maxElements: number;
  readonly maxSegments: number;
}

/**
 * Slices of the items [0, itemCount), in order, together exactly all of them.
 * @param bounds element offsets, length itemCount + 1; null: items have no elements
 * @param itemSegments segment of each item; null: item and segment are the same
 */
export function* sliceItems(
  itemCount: number,
  bounds: Uint32Array | null,
  itemSegments: Uint32Array | null,
  limits: SliceLimits,
): Generator<ItemSlice> {
  const segmentOf = (item: number) => (itemSegments === null ? item : itemSegments[item]);
  for (let from = 0; from < itemCount; ) {
    let to = from + 1;
    const fits = () =>
      to + 1 - from <= limits.maxItems &&
      (bounds === null || bounds[to + 1] - bounds[from] <= limits.maxElements) &&
      segmentOf(to) + 1 - segmentOf(from) <= limits.maxSegments;
    while (to < itemCount && fits()) to++;
    const elementFrom = bounds === null ? 0 : bounds[from];
    const elementTo = bounds === null ? 0 : bounds[to];
    yield { from, to, elementFrom, elementTo, segmentFrom: segmentOf(from), segmentTo: segmentOf(to - 1) + 1 };
    from = to;
  }
}
