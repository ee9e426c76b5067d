/** Histograms of any number of values in bounded memory. */
import { describe, expect, test } from 'vitest';
import { SizeTally, ValueTally } from '../../src/inspect/tally.ts';

function sizes(...all: number[]): SizeTally {
  const tally = new SizeTally();
  for (const size of all) tally.add(size);
  return tally;
}

function values(all: readonly number[]): ValueTally {
  const tally = new ValueTally();
  for (const value of all) tally.add(value);
  return tally;
}

describe('sizes', () => {
  test('few are told apart', () => {
    expect(sizes(3, 1, 3).bins(4)).toEqual([
      { from: 1, to: 1, count: 1 },
      { from: 3, to: 3, count: 2 },
    ]);
  });

  test('many fall into powers of two', () => {
    const bins = sizes(1, 2, 3, 4, 5, 8, 9, 100).bins(4);
    expect(bins.map(({ from, to, count }) => [from, to, count])).toEqual([
      [1, 1, 1],
      [2, 2, 1],
      [3, 4, 2],
      [5, 8, 2],
      [9, 16, 1],
      [65, 128, 1],
    ]);
  });
});

describe('values', () => {
  test('few are told apart, and -0 is 0', () => {
    expect(values([1, -0, 0, 1]).bins(4)).toEqual([
      { from: 0, to: 0, count: 2 },
      { from: 1, to: 1, count: 2 },
    ]);
  });

  test.each([
    ['growing', Array.from({ length: 1000 }, (_, i) => i)],
    ['shrinking', Array.from({ length: 1000 }, (_, i) => -i / 7)],
    ['of every size', Array.from({ length: 600 }, (_, i) => (-1) ** i * 2 ** (i - 300))],
    ['next to each other', Array.from({ length: 200 }, (_, i) => 1 + i * 2 ** -50)],
    ['almost nothing', Array.from({ length: 200 }, (_, i) => i * Number.MIN_VALUE)],
    ['at the ends', [...Array.from({ length: 100 }, (_, i) => i), -Number.MAX_VALUE, Number.MAX_VALUE]],
  ])('%s: every value is in its bin, and bins are few', (_, all) => {
    for (const most of [4, 32]) {
      const bins = values(all).bins(most);
      expect(bins.length).toBeLessThanOrEqual(most + 1);
      expect(bins.reduce((sum, { count }) => sum + count, 0)).toBe(all.length);
      for (const { from, to, count } of bins)
        expect(all.filter((value) => value >= from && value < to).length).toBe(count);
    }
  });

  test('a sum past binary64 has no mean', () => {
    expect(values([Number.MAX_VALUE, Number.MAX_VALUE]).mean).toBeNull();
    expect(values([1, 2]).mean).toBe(1.5);
    expect(values([]).mean).toBeNull();
  });
});
