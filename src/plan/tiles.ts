/** Runs of whole prompt groups, small enough to be worked on at once. */
import type { RowRollouts } from './rollouts.ts';

/** Groups, rollouts and positions [from, to) that belong together. */
export interface Tile {
  readonly firstGroup: number;
  readonly groupEnd: number;
  readonly firstRollout: number;
  readonly rolloutEnd: number;
  readonly firstPosition: number;
  readonly positionEnd: number;
}

/** Cuts a batch into tiles of at most these many rollouts and rows; a group that has more is a tile by itself. */
export function* tilesOf(plan: RowRollouts, maxRollouts: number, maxRows: number): Generator<Tile> {
  const { groupOffsets, rowOffsets } = plan;
  const groupCount = groupOffsets.length - 1;
  for (let group = 0; group < groupCount; ) {
    const first = group++;
    const rollouts = groupOffsets[first] + maxRollouts;
    const rows = rowOffsets[groupOffsets[first]] + maxRows;
    while (group < groupCount && groupOffsets[group + 1] <= rollouts && rowOffsets[groupOffsets[group + 1]] <= rows)
      group++;
    yield tileOf(plan, first, group);
  }
}

export function tileOf(plan: RowRollouts, firstGroup: number, groupEnd: number): Tile {
  const firstRollout = plan.groupOffsets[firstGroup];
  const rolloutEnd = plan.groupOffsets[groupEnd];
  const firstPosition = plan.rowOffsets[firstRollout];
  return { firstGroup, groupEnd, firstRollout, rolloutEnd, firstPosition, positionEnd: plan.rowOffsets[rolloutEnd] };
}
