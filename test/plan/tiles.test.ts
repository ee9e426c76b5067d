import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RowRollouts } from '../../src/plan/rollouts.ts';
import { type Tile, tileOf, tilesOf } from '../../src/plan/tiles.ts';

/** Groups as lists of rollout sizes (rows each). */
type Groups = readonly (readonly number[])[];

function planOf(groups: Groups): RowRollouts {
  const running = (lengths: readonly number[]) => {
    const offsets = Uint32Array.of(0, ...lengths);
    for (let i = 1; i < offsets.length; i++) offsets[i] += offsets[i - 1];
    return offsets;
  };
  const groupOffsets = running(groups.map(({ length }) => length));
  const rowOffsets = running(groups.flat());
  const rolloutCount = rowOffsets.length - 1;
  return { rolloutCount, groupOffsets, rowOffsets, rowsByRollout: null, rowRollout: new Uint32Array(0) };
}

const sizeOf = ({ firstRollout, rolloutEnd, firstPosition, positionEnd }: Tile) => ({
  rollouts: rolloutEnd - firstRollout,
  rows: positionEnd - firstPosition,
});

function expectSound(groups: Groups, maxRollouts: number, maxRows: number): Tile[] {
  const plan = planOf(groups);
  const tiles = [...tilesOf(plan, maxRollouts, maxRows)];
  let next = { firstGroup: 0, firstRollout: 0, firstPosition: 0 };
  for (const tile of tiles) {
    expect(tile).toMatchObject(next);
    expect(tile.groupEnd).toBeGreaterThan(tile.firstGroup);
    expect(tile.rolloutEnd).toBe(plan.groupOffsets[tile.groupEnd]);
    expect(tile.positionEnd).toBe(plan.rowOffsets[tile.rolloutEnd]);
    const { rollouts, rows } = sizeOf(tile);
    if (tile.groupEnd - tile.firstGroup > 1) {
      expect(rollouts).toBeLessThanOrEqual(maxRollouts);
      expect(rows).toBeLessThanOrEqual(maxRows);
    }
    if (tile.groupEnd < groups.length) {
      const wider = sizeOf(tileOf(plan, tile.firstGroup, tile.groupEnd + 1));
      expect(wider.rollouts > maxRollouts || wider.rows > maxRows, 'a tile takes every group that fits').toBe(true);
    }
    next = { firstGroup: tile.groupEnd, firstRollout: tile.rolloutEnd, firstPosition: tile.positionEnd };
  }
  expect(next.firstGroup).toBe(groups.length);
  expect(next.firstRollout).toBe(plan.rolloutCount);
  return tiles;
}

describe('tiles', () => {
  test.each<[string, Groups, number, number, number[]]>([
    ['of nothing', [], 4, 4, []],
    ['take groups while they fit', [[1, 1], [1, 1], [1]], 4, 100, [2, 3]],
    ['end at the rows too', [[3], [3], [3]], 100, 6, [2, 3]],
    [
      'an exact fit is taken',
      [
        [2, 2],
        [2, 2],
      ],
      4,
      8,
      [2],
    ],
    ['a larger group stands alone', [[1], [1, 1, 1, 1, 1], [1]], 2, 100, [1, 2, 3]],
    ['a larger group by its rows stands alone', [[1], [50], [1]], 10, 5, [1, 2, 3]],
    ['limits of one group one by one', [[1], [1], [1]], 1, 1, [1, 2, 3]],
  ])('%s', (_, groups, maxRollouts, maxRows, ends) => {
    expect(expectSound(groups, maxRollouts, maxRows).map(({ groupEnd }) => groupEnd)).toEqual(ends);
  });

  test('cover every group exactly once, within the limits unless one group exceeds them', () => {
    const groups = fc.array(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 }), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(groups, fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 60 }), (many, rollouts, rows) => {
        expectSound(many, rollouts, rows);
      }),
      { numRuns: 500 },
    );
  });
});
