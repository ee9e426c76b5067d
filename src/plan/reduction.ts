/** Cuts segments into pieces of bounded length, level above level, until every segment is one value. */

import { UsageError } from '../errors.ts';

/** @throws UsageError where pieces of this length would not be subtrees, or never become one */
export function requirePieceLength(pieceLength: number, longest: number): void {
  if (pieceLength >= 2 && pieceLength <= longest && Number.isInteger(Math.log2(pieceLength))) return;
  throw new UsageError(`pieceLength must be a power of two from 2 to ${longest}, got ${pieceLength}`);
}

/** One dispatch of a segmented reduction: item i reduces the elements [elementOffsets[i], elementOffsets[i + 1]). */
export interface ReductionLevel {
  readonly itemCount: number;
  /** Length itemCount + 1. The first entry need not be 0 on the lowest level. */
  readonly elementOffsets: Uint32Array;
  /** Segment of each item; null: item and segment are the same. */
  readonly itemSegments: Uint32Array | null;
}

/**
 * Levels of a reduction over segments given by their offsets (length segmentCount + 1).
 * Items hold at most `pieceLength` elements, a power of two: a piece is then a subtree of the summation tree, and any
 * piece length gives the same sums. A segment without elements keeps one empty item.
 */
export function planReduction(segmentOffsets: Uint32Array, pieceLength: number): ReductionLevel[] {
  const levels: ReductionLevel[] = [];
  let offsets = segmentOffsets;
  while (longest(offsets, pieceLength) > pieceLength) {
    const level = cut(offsets, pieceLength);
    levels.push(level.lower);
    offsets = level.upperOffsets;
  }
  levels.push({ itemCount: offsets.length - 1, elementOffsets: offsets, itemSegments: null });
  return levels;
}

/** At least the length of the longest segment, and exactly that where it matters. */
function longest(offsets: Uint32Array, pieceLength: number): number {
  const all = offsets[offsets.length - 1] - offsets[0];
  if (all <= pieceLength) return all;
  let length = 0;
  for (let i = 1; i < offsets.length; i++) length = Math.max(length, offsets[i] - offsets[i - 1]);
  return length;
}

function cut(offsets: Uint32Array, pieceLength: number): { lower: ReductionLevel; upperOffsets: Uint32Array } {
  const segmentCount = offsets.length - 1;
  const upperOffsets = new Uint32Array(segmentCount + 1);
  for (let segment = 0; segment < segmentCount; segment++) {
    const pieces = Math.max(1, Math.ceil((offsets[segment + 1] - offsets[segment]) / pieceLength));
    upperOffsets[segment + 1] = upperOffsets[segment] + pieces;
  }
  const itemCount = upperOffsets[segmentCount];
  const elementOffsets = new Uint32Array(itemCount + 1);
  const itemSegments = new Uint32Array(itemCount);
  for (let segment = 0; segment < segmentCount; segment++) {
    for (let item = upperOffsets[segment], start = offsets[segment]; item < upperOffsets[segment + 1]; item++) {
      elementOffsets[item] = start;
      itemSegments[item] = segment;
      start += pieceLength;
    }
  }
  elementOffsets[itemCount] = offsets[segmentCount];
  return { lower: { itemCount, elementOffsets, itemSegments }, upperOffsets };
}
