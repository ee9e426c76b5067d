import fc from 'fast-check';
import { expect, test } from 'vitest';
import { portionsOf } from '../../src/plan/portions.ts';

const lengths = fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 60 });

test('portions are all items in order, within the limits unless one item exceeds them', () => {
  fc.assert(
    fc.property(
      lengths,
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 20 }),
      fc.nat({ max: 5 }),
      (all, items, elements, skipped) => {
        const bounds = Uint32Array.from([0, ...all]).map(
          (_, i) => 100 + all.slice(0, i).reduce((sum, length) => sum + length, 0),
        );
        const from = Math.min(skipped, all.length);
        let next = from;
        for (const { firstItem, itemCount, work } of portionsOf(from, all.length, bounds, items, elements)) {
          expect(firstItem).toBe(next);
          expect(itemCount).toBeGreaterThan(0);
          expect(itemCount).toBeLessThanOrEqual(items);
          const walked = bounds[firstItem + itemCount] - bounds[firstItem];
          if (itemCount > 1) expect(walked).toBeLessThanOrEqual(elements);
          expect(work).toBe(Math.max(walked, itemCount));
          next += itemCount;
          // One more would not have fitted.
          const fitsMore = next < all.length && itemCount < items && bounds[next + 1] - bounds[firstItem] <= elements;
          expect(fitsMore).toBe(false);
        }
        expect(next).toBe(all.length);
      },
    ),
  );
});

test('items without elements are bounded by their number', () => {
  expect([...portionsOf(0, 7, null, 3, 100)].map(({ itemCount }) => itemCount)).toEqual([3, 3, 1]);
  expect([...portionsOf(0, 7, null, 100, 2)].map(({ work }) => work)).toEqual([2, 2, 2, 1]);
  expect([...portionsOf(5, 5, null, 1, 1)]).toEqual([]);
});
