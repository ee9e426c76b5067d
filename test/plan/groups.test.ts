import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InputError, RollnormError } from '../../src/index.ts';
import { type GroupingOptions, groupRows, type RowGroups } from '../../src/plan/groups.ts';
import { judgeTiers } from '../../src/plan/tiers.ts';
import { columnsOfBatch } from '../../src/samples/batch.ts';
import { NO_ID } from '../../src/samples/ids.ts';
import { modelOf } from '../support/oracle.ts';

type Ids = (number | null)[];

const place = (row: number) => `row ${row + 1}`;

function group(ids: Ids | null, options: GroupingOptions = {}, rowCount = ids?.length ?? 0): RowGroups {
  return groupRows(ids && Uint32Array.from(ids, (id) => id ?? NO_ID), rowCount, options, place);
}

function rowsOf({ groupCount, rowOffsets, rowsByGroup }: RowGroups): number[][] {
  expect(rowOffsets.length).toBe(groupCount + 1);
  return Array.from({ length: groupCount }, (_, at) =>
    Array.from({ length: rowOffsets[at + 1] - rowOffsets[at] }, (_, i) => {
      const position = rowOffsets[at] + i;
      return rowsByGroup === null ? position : rowsByGroup[position];
    }),
  );
}

const layout = (nSamplesPerPrompt: number, rolloutBatchSize: number) => ({ nSamplesPerPrompt, rolloutBatchSize });

describe('the first tier that fits is used', () => {
  test.each<[string, Ids | null, GroupingOptions, number, number, number[][]]>([
    ['sizes win over ids', [7, 7, 7], { promptGroupSizes: [1, 2] }, 3, 1, [[0], [1, 2]]],
    ['sizes of 0 are skipped', null, { promptGroupSizes: [0, 2, 0, 1, 0] }, 3, 1, [[0, 1], [2]]],
    ['no sizes for no rows', null, { promptGroupSizes: [] }, 0, 1, []],
    ['sizes satisfy strict', null, { promptGroupSizes: [2], strict: true }, 2, 1, [[0, 1]]],
    [
      'ids win over the layout',
      [1, 2, 1, 2],
      layout(2, 2),
      4,
      2,
      [
        [0, 2],
        [1, 3],
      ],
    ],
    ['ids in first-seen order', [9, 3, 9, 3, 5], {}, 5, 2, [[0, 2], [1, 3], [4]]],
    ['the largest and smallest code', [NO_ID - 1, 0, NO_ID - 1], {}, 3, 2, [[0, 2], [1]]],
    [
      'one row without id disables ids',
      [1, 1, null, 1],
      layout(2, 2),
      4,
      3,
      [
        [0, 1],
        [2, 3],
      ],
    ],
    ['the layout needs the exact product', [1, null, 1], layout(2, 2), 3, 4, [[0, 1, 2]]],
    ['half a layout is none', null, { nSamplesPerPrompt: 2 }, 2, 4, [[0, 1]]],
    ['the other half', null, { rolloutBatchSize: 1 }, 1, 4, [[0]]],
    ['a layout of single rows', null, layout(1, 3), 3, 3, [[0], [1], [2]]],
    ['no ids and no layout', null, {}, 3, 4, [[0, 1, 2]]],
    ['no rows are no groups', null, layout(2, 2), 0, 2, []],
    ['no rows satisfy strict', [], { strict: true }, 0, 2, []],
    ['strict with every id', [4, 4], { strict: true }, 2, 2, [[0, 1]]],
  ])('%s', (_, ids, options, rowCount, tier, groups) => {
    const found = group(ids, options, rowCount);
    expect(found.tier).toBe(tier);
    expect(rowsOf(found)).toEqual(groups);
  });
});

describe('bad input', () => {
  test.each<[number[], number, string]>([
    [[2, 2], 5, 'prompt group sizes sum to 4 but the batch has 5 rows'],
    [[3, 3], 5, 'prompt group sizes sum to 6 but the batch has 5 rows'],
    [[], 1, 'prompt group sizes sum to 0 but the batch has 1 rows'],
    [[1], 0, 'prompt group sizes sum to 1 but the batch has 0 rows'],
  ])('sizes %j for %i rows', (promptGroupSizes, rowCount, message) => {
    expect(() => group(null, { promptGroupSizes }, rowCount)).toThrow(new InputError(message));
  });

  test.each<[Ids | null, number, string]>([
    [[1, null, 1], 3, 'row 2'],
    [[null, 1, null], 3, 'row 1, row 3'],
    [null, 2, 'row 1, row 2'],
    [null, 5, 'row 1, row 2, row 3, row 4, row 5'],
    [null, 9, 'row 1, row 2, row 3, row 4, row 5 and 4 more'],
  ])('rows without a group are named, of ids %j the same by the tiers', (ids, rowCount, named) => {
    const columns = columnsOfBatch({ reward: Array(rowCount).fill(0), groupIndex: ids ?? undefined });
    const count = ids ? ids.filter((id) => id === null).length : rowCount;
    expect(judgeTiers(columns, {})[1].reason).toBe(`${count} of ${rowCount} rows have no group_index (${named})`);
  });

  test.each<[Ids | null, number, string]>([
    [[1, null, 1], 3, 'row 2'],
    [[null, 1, null], 3, 'row 1, row 3'],
    [null, 2, 'row 1, row 2'],
    [null, 9, 'row 1, row 2, row 3, row 4, row 5 and 4 more'],
  ])('strict with ids %j of %i rows', (ids, rowCount, named) => {
    const message = `strict grouping needs group_index on every row; it is missing on ${named}`;
    for (const options of [{ strict: true }, { strict: true, ...layout(1, rowCount) }])
      expect(() => group(ids, options, rowCount)).toThrow(new InputError(message));
  });

  test.each<[string, GroupingOptions, number]>([
    ['a negative size', { promptGroupSizes: [-1, 3] }, 2],
    ['halves of a row', { promptGroupSizes: [1.5, 0.5] }, 2],
    ['a negative layout', layout(-2, -3), 6],
    ['half a row per prompt', layout(2.5, 2), 5],
    ['half a prompt', layout(2, 2.5), 5],
  ])('%s is refused, though the product or sum is the row count', (_, options, rowCount) => {
    expect(() => group(null, options, rowCount)).toThrow(RollnormError);
  });
});

describe('groups of ids agree with a Map', () => {
  /** Codes close together are looked up in a plain array, codes far apart in a hash table. */
  const spreads = { near: (id: number) => id, far: (id: number) => Math.imul(id, 0x9e3779b1) >>> 1 };
  const orders: Record<string, fc.Arbitrary<number[]>> = {
    'any order': fc.array(fc.nat(6), { maxLength: 60 }),
    contiguous: fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 12 }).map((sizes) => runs(sizes, (at) => at)),
    'repeated runs': fc
      .array(fc.integer({ min: 1, max: 4 }), { maxLength: 20 })
      .map((sizes) => runs(sizes, (at) => at % 5)),
    'contiguous, then one more row of the first': fc
      .array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 12 })
      .map((sizes) => [...runs(sizes, (at) => at), 0]),
  };
  const runs = (sizes: number[], id: (at: number) => number) =>
    sizes.flatMap((size, at) => Array<number>(size).fill(id(at)));

  for (const [spread, codeOf] of Object.entries(spreads)) {
    test.each(Object.entries(orders))(`%s, codes ${spread}`, (_, order) => {
      fc.assert(
        fc.property(order, (ids) => {
          const expected = modelOf(ids.map((id) => ({ groupIndex: id, reward: 0 }))).groups;
          expect(rowsOf(group(ids.map(codeOf)))).toEqual(expected);
        }),
        { numRuns: 300 },
      );
    });
  }

  test('contiguous groups need no permutation, others do', () => {
    expect(group([3, 3, 1, 2, 2]).rowsByGroup).toBeNull();
    expect([...group([3, 1, 3]).rowsByGroup!]).toEqual([0, 2, 1]);
  });

  test('through every growth of the hash table', () => {
    const ids = Array.from({ length: 40_000 }, (_, row) => spreads.far(row % 17_001));
    const found = group(ids);
    expect(found.groupCount).toBe(17_001);
    expect(rowsOf(found).every((rows, at) => rows.every((row) => row % 17_001 === at))).toBe(true);
    expect(found.rowOffsets[17_001]).toBe(40_000);
  });

  test('codes just inside and outside of what a plain array holds', () => {
    for (const span of [2 ** 16 - 1, 2 ** 16, 2 ** 16 + 1, NO_ID - 1])
      expect(rowsOf(group([span, 0, span, 1, 0]))).toEqual([[0, 2], [1, 4], [3]]);
  });
});
