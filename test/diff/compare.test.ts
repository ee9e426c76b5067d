/** What changes between two lists of advantages, on batches small enough to count by hand. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CompareOptions, compare } from '../../src/diff/compare.ts';
import { distributionOf } from '../../src/diff/distribution.ts';
import { Largest } from '../../src/diff/largest.ts';
import { isBeyondRounding } from '../../src/diff/rounding.ts';
import { type Plan, planBatch } from '../../src/plan/plan.ts';
import { columnsOfBatch } from '../../src/samples/batch.ts';

/** Rows 0 to 5: rollouts a, a, b of group 0, then c, d, d of group 1. */
const plan = planOf([0, 0, 0, 1, 1, 1], ['a', 'a', 'b', 'c', 'd', 'd']);

function planOf(groupIndex: number[], rolloutId: string[]): Plan {
  return planBatch(columnsOfBatch({ groupIndex, rolloutId, reward: groupIndex.map(() => 0) }));
}

function compared(before: number[], after: number[], options: Partial<CompareOptions> = {}) {
  return compare(plan, Float32Array.from(before), Float32Array.from(after), { top: 10, ...options });
}

describe('counts', () => {
  test('a rollout and a group change with one of their rows', () => {
    const found = compared([1, 1, 2, 0, 5, 5], [1, 3, 2, 0, 5, 5]);
    expect(found.compared).toEqual({ rows: 6, rollouts: 4, groups: 2 });
    expect(found.changed).toEqual({ rows: 1, rollouts: 1, groups: 1 });
    expect([...found.differences]).toEqual([2]);
    expect(found.rollouts).toEqual([{ rollout: 0, row: 1, difference: 2 }]);
    expect(found.groups).toEqual([{ group: 0, rows: 3, changedRows: 1, mean: 2 / 3, largest: 2 }]);
  });

  test('equal values change nothing', () => {
    const found = compared([1, 1, 2, 0, 5, 5], [1, 1, 2, 0, 5, 5]);
    expect(found.changed).toEqual({ rows: 0, rollouts: 0, groups: 0 });
    expect([found.largest, found.rollouts, found.groups]).toEqual([0, [], []]);
  });

  test('a last bit is a change', () => {
    const next = new Float32Array(Uint32Array.of(0x3f800001).buffer)[0];
    expect(compared([1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, next]).changed.rows).toBe(1);
  });

  test('signs: from one to the other, and from and to 0 apart, by row and by rollout', () => {
    const { signs } = compared([1, 1, 0, -2, 3, -3], [-1, -2, 1, 0, 4, 3]);
    expect(signs).toEqual({
      flipped: { rows: 3, rollouts: 2 },
      from_zero: { rows: 1, rollouts: 1 },
      to_zero: { rows: 1, rollouts: 1 },
    });
  });

  test('NaN is missing and infinity is compared to nothing', () => {
    const found = compared([1, 1, 2, 0, 5, 5], [Number.NaN, Number.NaN, 2, Number.POSITIVE_INFINITY, 5, 5]);
    expect([found.missing, found.notFinite, found.changed.rows]).toEqual([2, 1, 0]);
    expect(found.compared).toEqual({ rows: 3, rollouts: 2, groups: 2 });
  });

  test('what is no change still counts for the largest difference', () => {
    const isChange = (before: number, after: number) => isBeyondRounding(after, before);
    const found = compared([1, 1, 2, 0, 5, 5], [1.00001, 1, 2, 0, 5, 5], { isChange });
    expect([found.changed.rows, found.unchanged]).toEqual([0, 1]);
    expect(found.largest).toBeCloseTo(1e-5, 7);
  });
});

describe('rows of a rollout that lie apart', () => {
  test('are counted once', () => {
    const apart = planOf([0, 1, 0, 1], ['a', 'c', 'a', 'c']);
    const found = compare(apart, Float32Array.of(1, 1, 1, 1), Float32Array.of(2, 1, 4, 1), { top: 1 });
    expect(found.changed).toEqual({ rows: 2, rollouts: 1, groups: 1 });
    expect(found.rollouts).toEqual([{ rollout: 0, row: 2, difference: 3 }]);
  });
});

describe('the largest', () => {
  test('are those of a sort that keeps the order of equals', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20 })), fc.integer({ min: 0, max: 12 }), (values, count) => {
        const largest = new Largest<number>(count);
        for (const [i, value] of values.entries()) largest.offer(value, i);
        const expected = values.map((value, i) => ({ value, i })).sort((a, b) => b.value - a.value);
        expect(largest.list()).toEqual(expected.slice(0, count).map(({ i }) => i));
      }),
    );
  });
});

describe('a distribution', () => {
  test.each([
    [[], { mean: 0, median: 0, p90: 0 }],
    [[3], { mean: 3, median: 3, p90: 3 }],
    [[4, 1], { mean: 2.5, median: 2.5, p90: 3.7 }],
    [[5, 1, 2, 4, 3], { mean: 3, median: 3, p90: 4.6 }],
  ])('of %j is that of numpy', (values, expected) => {
    const found = distributionOf([Float64Array.from(values.slice(0, 2)), Float64Array.from(values.slice(2))]);
    for (const [name, value] of Object.entries(expected))
      expect(found[name as keyof typeof found]).toBeCloseTo(value, 12);
  });

  test('is that of a sort, with many equal values too', () => {
    const values = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.double({ min: 0, max: 9, noNaN: true }));
    fc.assert(
      fc.property(fc.array(values, { minLength: 1, maxLength: 60 }), (list) => {
        const sorted = Float64Array.from(list).sort();
        const at = (share: number) => {
          const place = (sorted.length - 1) * share;
          const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
          return low + (high - low) * (place % 1);
        };
        for (const parts of [[list], [list.slice(0, 9), list.slice(9)]]) {
          const found = distributionOf(parts.map((part) => Float64Array.from(part)));
          expect(found.median).toBeCloseTo(at(0.5), 12);
          expect(found.p90).toBeCloseTo(at(0.9), 12);
        }
      }),
    );
  });
});

test('rounding is relative above 1 and absolute below, and explains no infinity', () => {
  expect(isBeyondRounding(0.00009, 0)).toBe(false);
  expect(isBeyondRounding(0.00011, 0)).toBe(true);
  expect(isBeyondRounding(100.009, 100)).toBe(false);
  expect(isBeyondRounding(100.011, 100)).toBe(true);
  expect(isBeyondRounding(Number.POSITIVE_INFINITY, 1)).toBe(true);
});
