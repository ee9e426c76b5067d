import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planReduction, type ReductionLevel } from '../../src/plan/reduction.ts';

function offsetsOf(sizes: readonly number[], base = 0): Uint32Array {
  const offsets = Uint32Array.of(base, ...sizes);
  for (let i = 1; i < offsets.length; i++) offsets[i] += offsets[i - 1];
  return offsets;
}

const segmentOf = ({ itemSegments }: ReductionLevel, item: number) =>
  itemSegments === null ? item : itemSegments[item];

/** Checks one plan against the definition; returns how many levels it has. */
function expectSound(sizes: readonly number[], pieceLength: number, base = 0): number {
  const levels = planReduction(offsetsOf(sizes, base), pieceLength);
  let lengths = sizes;
  let from = base;
  for (const [height, level] of levels.entries()) {
    const { itemCount, elementOffsets } = level;
    expect(elementOffsets.length).toBe(itemCount + 1);
    expect(elementOffsets[0]).toBe(from);
    const items: number[][] = lengths.map(() => []);
    let last = 0;
    for (let item = 0; item < itemCount; item++) {
      const segment = segmentOf(level, item);
      expect(segment).toBeGreaterThanOrEqual(last);
      items[segment].push(elementOffsets[item + 1] - elementOffsets[item]);
      last = segment;
    }
    for (const [segment, pieces] of items.entries()) {
      expect(pieces.length, `segment ${segment} on level ${height}`).toBe(
        Math.max(1, Math.ceil(lengths[segment] / pieceLength)),
      );
      expect(pieces.slice(0, -1).every((piece) => piece === pieceLength)).toBe(true);
      expect(pieces.at(-1)).toBeLessThanOrEqual(pieceLength);
      expect(pieces.reduce((sum, piece) => sum + piece, 0)).toBe(lengths[segment]);
    }
    lengths = items.map(({ length }) => length);
    from = 0;
  }
  expect(levels.at(-1)!.itemCount).toBe(sizes.length);
  expect(levels.at(-1)!.itemSegments).toBeNull();
  return levels.length;
}

/** A giant segment takes this many levels. */
const levelsFor = (size: number, pieceLength: number) => {
  let levels = 1;
  for (let length = size; length > pieceLength; length = Math.ceil(length / pieceLength)) levels++;
  return levels;
};

describe.each([2, 4, 64, 1024])('pieces of %i', (pieceLength) => {
  test.each<[string, number[]]>([
    ['no segments', []],
    ['an empty segment keeps an item', [0]],
    ['empty segments among others', [0, 1, 0, 0, pieceLength + 1, 0]],
    ['one element', [1]],
    ['a piece less one', [pieceLength - 1]],
    ['a piece', [pieceLength]],
    ['a piece and one', [pieceLength + 1]],
    ['all of them', [0, 1, pieceLength - 1, pieceLength, pieceLength + 1, 2 * pieceLength, 2 * pieceLength + 1]],
    ['a square of the piece', [pieceLength ** 2]],
    ['a square and one', [pieceLength ** 2 + 1, 1]],
    ['a giant between small ones', [1, 2, 100_000, 0, 3]],
  ])('%s: every element in exactly one item', (_, sizes) => {
    const levels = Math.max(1, ...sizes.map((size) => levelsFor(size, pieceLength)));
    expect(expectSound(sizes, pieceLength)).toBe(levels);
    expect(expectSound(sizes, pieceLength, 12_345)).toBe(levels);
  });
});

test('segments that fit are not cut, and keep their own offsets', () => {
  const offsets = offsetsOf([3, 0, 4]);
  expect(planReduction(offsets, 4)).toEqual([{ itemCount: 3, elementOffsets: offsets, itemSegments: null }]);
  expect(planReduction(offsets, 2 ** 31)).toHaveLength(1);
});

test('any segments, any piece, any base', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.nat(5), fc.nat(200)), { maxLength: 30 }),
      fc.integer({ min: 1, max: 8 }),
      fc.nat(1000),
      (sizes, height, base) => {
        expectSound(sizes, 2 ** height, base);
      },
    ),
    { numRuns: 400 },
  );
});
