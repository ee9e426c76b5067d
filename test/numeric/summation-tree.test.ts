import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BLOCK_LENGTH, sumOfBlock, TreeAccumulator } from '../../src/numeric/summation-tree.ts';
import { Random } from '../support/random.ts';

/** The definition: pair neighbours level by level; a last one without a neighbour goes up unchanged. */
function pairwise(values: readonly number[]): number {
  if (values.length === 0) return 0;
  let level = values;
  while (level.length > 1) {
    const above: number[] = [];
    for (let i = 0; i < level.length; i += 2) above.push(i + 1 < level.length ? level[i] + level[i + 1] : level[i]);
    level = above;
  }
  return level[0];
}

function accumulated(values: Iterable<number>, tree = new TreeAccumulator()): number {
  tree.reset();
  for (const value of values) tree.add(value);
  return tree.total();
}

/** Sums pieces of `pieceLength` by themselves, then the sums of pieces in pieces, until one is left. */
function piecewise(values: readonly number[], pieceLength: number): number {
  let level = values;
  do {
    const sums: number[] = [];
    for (let from = 0; from < level.length; from += pieceLength)
      sums.push(accumulated(level.slice(from, from + pieceLength)));
    level = sums;
  } while (level.length > 1);
  return level.length === 0 ? 0 : level[0];
}

/** Values whose sum depends on the order: magnitudes from 2^-60 to 2^60, both signs. */
function unruly(seed: number, count: number): number[] {
  const random = new Random(seed);
  return Array.from({ length: count }, () => (random.next() - 0.5) * 2 ** random.integer(-60, 60));
}

const sameNumber = (actual: number, expected: number) => Object.is(actual, expected);

describe('the tree of n values', () => {
  test.each([
    ['nothing', [], 0],
    ['one value goes up unchanged', [-0], -0],
    ['two', [0.1, 0.2], 0.1 + 0.2],
    ['three: the last waits', [0.1, 0.2, 0.3], 0.1 + 0.2 + 0.3],
    ['four: pairs first', [2 ** 53, 1, 1, 1], 2 ** 53 + 2],
    ['five', [2 ** 53, 1, 1, 1, 1], 2 ** 53 + 2 + 1],
    ['six: the last pair waits as a pair', [2 ** 53, 1, 1, 1, 1, 1], 2 ** 53 + 2 + 2],
    ['an infinity stays', [1, Infinity, 1], Infinity],
    ['opposite infinities are no number', [Infinity, 1, -Infinity], NaN],
  ])('%s', (_, values, sum) => {
    expect(accumulated(values)).toBe(sum);
    expect(pairwise(values)).toBe(sum);
  });

  test('is the level-by-level pairing for every n up to 300', () => {
    for (let count = 0; count <= 300; count++) {
      for (let seed = 0; seed < 4; seed++) {
        const values = unruly(count * 4 + seed, count);
        expect(accumulated(values), `n = ${count}`).toBe(pairwise(values));
      }
    }
  });

  test.each([9, 10, 11, 12, 16])('is the level-by-level pairing around 2^%i', (height) => {
    for (const count of [2 ** height - 1, 2 ** height, 2 ** height + 1]) {
      const values = unruly(count, count);
      expect(accumulated(values)).toBe(pairwise(values));
    }
  });

  test('differs from adding one after the other, so the comparison can fail', () => {
    const values = unruly(7, 100);
    const sequential = values.reduce((sum, value) => sum + value, 0);
    expect(accumulated(values)).not.toBe(sequential);
  });

  test('is the level-by-level pairing for any doubles', () => {
    fc.assert(
      fc.property(fc.array(fc.double(), { maxLength: 200 }), (values) =>
        sameNumber(accumulated(values), pairwise(values)),
      ),
      { numRuns: 500 },
    );
  });
});

describe('pieces of a power of two', () => {
  const pieceLengths = Array.from({ length: 10 }, (_, height) => 2 ** (height + 1));

  test.each(pieceLengths)('of %i give the same bits for every n up to 300', (pieceLength) => {
    for (let count = 0; count <= 300; count++) {
      const values = unruly(count, count);
      expect(piecewise(values, pieceLength), `n = ${count}`).toBe(accumulated(values));
    }
  });

  test('of any length give the same bits for any doubles', () => {
    fc.assert(
      fc.property(fc.array(fc.double(), { maxLength: 400 }), fc.constantFrom(...pieceLengths), (values, pieceLength) =>
        sameNumber(piecewise(values, pieceLength), accumulated(values)),
      ),
      { numRuns: 500 },
    );
  });

  test('matter: pieces of three give other bits', () => {
    const values = unruly(11, 300);
    expect(piecewise(values, 3)).not.toBe(accumulated(values));
  });
});

describe('blocks', () => {
  test('have the sum of their values, for every n', () => {
    for (let count = 0; count <= BLOCK_LENGTH; count++) {
      const values = unruly(count, count);
      expect(sumOfBlock(Float64Array.from(values), count), `n = ${count}`).toBe(pairwise(values));
    }
  });

  test('are subtrees: their sums are added as values are', () => {
    for (const count of [65, 127, 128, 129, 191, 192, 193, 1000, 4097]) {
      const values = unruly(count, count);
      const sums: number[] = [];
      for (let from = 0; from < count; from += BLOCK_LENGTH) {
        const block = values.slice(from, from + BLOCK_LENGTH);
        sums.push(sumOfBlock(Float64Array.from(block), block.length));
      }
      expect(accumulated(sums), `n = ${count}`).toBe(pairwise(values));
    }
  });

  test('leave the sign of a single zero, and what is no number', () => {
    expect(sumOfBlock(Float64Array.of(-0), 1)).toBe(-0);
    expect(sumOfBlock(Float64Array.of(Infinity, 1, -Infinity), 3)).toBeNaN();
  });
});

describe('reset', () => {
  test('forgets every partial sum, whatever was added before', () => {
    fc.assert(
      fc.property(fc.array(fc.double()), fc.array(fc.double()), (before, values) => {
        const tree = new TreeAccumulator();
        for (const value of before) tree.add(value);
        return sameNumber(accumulated(values, tree), accumulated(values));
      }),
    );
  });

  test('total() may be asked for between values', () => {
    const tree = new TreeAccumulator();
    const values = unruly(3, 40);
    for (const [i, value] of values.entries()) {
      tree.add(value);
      expect(tree.total()).toBe(pairwise(values.slice(0, i + 1)));
    }
  });
});
