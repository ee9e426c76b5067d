import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ItemSlice, type SliceLimits, sliceItems } from '../../src/plan/slices.ts';

const NO_LIMIT = 2 ** 31;
const limitsOf = (limits: Partial<SliceLimits>): SliceLimits => ({
  maxItems: NO_LIMIT,
  maxElements: NO_LIMIT,
  maxSegments: NO_LIMIT,
  ...limits,
});

function boundsOf(sizes: readonly number[], base = 0): Uint32Array {
  const bounds = Uint32Array.of(base, ...sizes);
  for (let i = 1; i < bounds.length; i++) bounds[i] += bounds[i - 1];
  return bounds;
}

const within = (slice: ItemSlice, { maxItems, maxElements, maxSegments }: SliceLimits) =>
  slice.to - slice.from <= maxItems &&
  slice.elementTo - slice.elementFrom <= maxElements &&
  slice.segmentTo - slice.segmentFrom <= maxSegments;

function expectSound(itemCount: number, bounds: Uint32Array | null, segments: Uint32Array | null, limits: SliceLimits) {
  const slices = [...sliceItems(itemCount, bounds, segments, limits)];
  let next = 0;
  for (const slice of slices) {
    const { from, to } = slice;
    expect(from).toBe(next);
    expect(to).toBeGreaterThan(from);
    expect([slice.elementFrom, slice.elementTo]).toEqual(bounds ? [bounds[from], bounds[to]] : [0, 0]);
    expect([slice.segmentFrom, slice.segmentTo]).toEqual(
      segments ? [segments[from], segments[to - 1] + 1] : [from, to],
    );
    if (to - from > 1) expect(within(slice, limits)).toBe(true);
    if (to < itemCount) {
      const wider = {
        ...{ from, to: to + 1, elementFrom: slice.elementFrom, elementTo: bounds ? bounds[to + 1] : 0 },
        ...{ segmentFrom: slice.segmentFrom, segmentTo: (segments ? segments[to] : to) + 1 },
      };
      expect(within(wider, limits), 'a slice takes every item that fits').toBe(false);
    }
    next = to;
  }
  expect(next).toBe(itemCount);
  return slices.map(({ to }) => to);
}

describe('slices', () => {
  test.each<[string, number, number[] | null, number[] | null, Partial<SliceLimits>, number[]]>([
    ['of nothing', 0, [], null, {}, []],
    ['without limits are one', 5, [1, 2, 3, 4, 5], null, {}, [5]],
    ['end at the items', 5, null, null, { maxItems: 2 }, [2, 4, 5]],
    ['end at the elements', 4, [2, 2, 3, 1], null, { maxElements: 4 }, [2, 4]],
    ['empty items cost no elements', 4, [4, 0, 0, 1], null, { maxElements: 4 }, [3, 4]],
    ['an item larger than the limit stands alone', 3, [1, 9, 1], null, { maxElements: 4 }, [1, 2, 3]],
    ['end at the segments', 5, null, [0, 0, 1, 1, 2], { maxSegments: 2 }, [4, 5]],
    ['an item is its own segment', 3, null, null, { maxSegments: 1 }, [1, 2, 3]],
    [
      'the narrowest limit decides',
      4,
      [1, 1, 1, 1],
      [0, 0, 0, 1],
      { maxItems: 3, maxElements: 2, maxSegments: 1 },
      [2, 3, 4],
    ],
  ])('%s', (_, itemCount, sizes, segments, limits, ends) => {
    const bounds = sizes && boundsOf(sizes, 7);
    expect(expectSound(itemCount, bounds, segments && Uint32Array.from(segments), limitsOf(limits))).toEqual(ends);
  });

  test('cover every item exactly once, within the limits unless one item exceeds them', () => {
    const item = fc.record({ size: fc.nat(9), advance: fc.nat(2) });
    const limit = fc.integer({ min: 1, max: 12 });
    const limits = fc.record({ maxItems: limit, maxElements: limit, maxSegments: limit });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 40 }), limits, fc.nat(100), fc.boolean(), (items, some, base, cut) => {
        let segment = 0;
        const segments = cut ? Uint32Array.from(items, ({ advance }) => (segment += advance)) : null;
        const bounds = boundsOf(
          items.map(({ size }) => size),
          base,
        );
        expectSound(items.length, bounds, segments, some);
        expectSound(items.length, null, segments, some);
      }),
      { numRuns: 500 },
    );
  });
});
