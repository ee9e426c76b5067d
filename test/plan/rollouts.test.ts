import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { describeGroup, groupOfRow } from '../../src/plan/describe.ts';
import { type Plan, type PlanOptions, planBatch, rowAt } from '../../src/plan/plan.ts';
import { columnsOfBatch } from '../../src/samples/batch.ts';
import { columnsOf, modelOf, type PlainRow } from '../support/oracle.ts';
import { Random } from '../support/random.ts';

/** [group, rollout_id, index] of a row. */
type Ids = [PlainRow['groupIndex'], PlainRow['rolloutId'], PlainRow['index']];

const rowsOf = (ids: readonly Ids[]): PlainRow[] =>
  ids.map(([groupIndex, rolloutId, index]) => ({
    groupIndex: groupIndex!,
    rolloutId: rolloutId!,
    index: index!,
    reward: 0,
  }));

function planOf(rows: readonly PlainRow[], options: PlanOptions = {}): Plan {
  return planBatch(columnsOfBatch(columnsOf(rows)), options);
}

/** Rows of every rollout of every group. */
function rolloutsOf(plan: Plan): number[][][] {
  return Array.from({ length: plan.groupCount }, (_, group) => {
    const rollouts: number[][] = [];
    for (let rollout = plan.groupOffsets[group]; rollout < plan.groupOffsets[group + 1]; rollout++) {
      const rows: number[] = [];
      for (let at = plan.rowOffsets[rollout]; at < plan.rowOffsets[rollout + 1]; at++) rows.push(rowAt(plan, at));
      rollouts.push(rows);
    }
    return rollouts;
  });
}

function expectConsistent(plan: Plan, rowCount: number): void {
  expect(plan.rowCount).toBe(rowCount);
  expect(plan.groupOffsets.length).toBe(plan.groupCount + 1);
  expect(plan.groupOffsets[plan.groupCount]).toBe(plan.rolloutCount);
  expect(plan.rowOffsets.length).toBe(plan.rolloutCount + 1);
  const flat = rolloutsOf(plan).flat();
  expect(flat.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: rowCount }, (_, row) => row));
  for (const [rollout, rows] of flat.entries()) for (const row of rows) expect(plan.rowRollout[row]).toBe(rollout);
  for (const [group, rollouts] of rolloutsOf(plan).entries())
    for (const row of rollouts.flat()) expect(groupOfRow(plan, row)).toBe(group);
}

describe('rows of one group with the same key are one rollout', () => {
  test.each<[string, Ids[], number[][][]]>([
    [
      'contiguous',
      [
        [1, 5, 0],
        [1, 5, 1],
        [1, 6, 2],
      ],
      [[[0, 1], [2]]],
    ],
    [
      'apart',
      [
        [1, 5, 0],
        [1, 6, 1],
        [1, 5, 2],
      ],
      [[[0, 2], [1]]],
    ],
    [
      'without ids every row is one',
      [
        [1, null, null],
        [1, null, null],
      ],
      [[[0], [1]]],
    ],
    [
      'index where rollout_id is absent',
      [
        [1, null, 3],
        [1, null, 4],
        [1, null, 3],
      ],
      [[[0, 2], [1]]],
    ],
    [
      'rollout_id wins over index',
      [
        [1, 5, 3],
        [1, 6, 3],
      ],
      [[[0], [1]]],
    ],
    [
      'rollout_id and index share one key space',
      [
        [1, 5, 3],
        [1, null, 5],
        [1, 3, null],
      ],
      [[[0, 1], [2]]],
    ],
    [
      'a row without ids never joins, even between siblings',
      [
        [1, 5, 0],
        [1, null, null],
        [1, 5, 0],
      ],
      [[[0, 2], [1]]],
    ],
    [
      'the same id in two groups is two rollouts',
      [
        [1, 5, 0],
        [2, 5, 0],
        [1, 5, 0],
      ],
      [[[0, 2]], [[1]]],
    ],
    [
      'text keys',
      [
        ['a', 'x', null],
        ['a', 'y', null],
        ['a', 'x', null],
      ],
      [[[0, 2], [1]]],
    ],
    [
      'neighbours past 2^53',
      [
        [1, 2n ** 53n, 0],
        [1, 2n ** 53n + 1n, 0],
        [1, 2n ** 53n, 0],
      ],
      [[[0, 2], [1]]],
    ],
    [
      '0 and -0',
      [
        [0, -0, 0],
        [-0, 0, 0],
      ],
      [[[0, 1]]],
    ],
  ])('%s', (_, ids, rollouts) => {
    expect(rolloutsOf(planOf(rowsOf(ids)))).toEqual(rollouts);
    expect(modelOf(rowsOf(ids)).rollouts.map((group) => group.map(({ rows }) => rows))).toEqual(rollouts);
  });

  test('everyRowIsARollout leaves the keys unread', () => {
    const ids: Ids[] = [
      [1, 5, 0],
      [2, 5, 0],
      [1, 5, 0],
    ];
    const plan = planOf(rowsOf(ids), { everyRowIsARollout: true });
    expect(rolloutsOf(plan)).toEqual([[[0], [2]], [[1]]]);
    expect(plan.hygiene.repeatedKeys.count).toBe(0);
  });

  test('rows that lie rollout by rollout need no permutation', () => {
    expect(
      planOf(
        rowsOf([
          [1, 5, 0],
          [1, 5, 0],
          [1, null, null],
          [2, 5, 0],
        ]),
      ).rowsByRollout,
    ).toBeNull();
    expect(
      planOf(
        rowsOf([
          [1, 5, 0],
          [1, 6, 0],
          [1, 5, 0],
        ]),
      ).rowsByRollout,
    ).not.toBeNull();
  });
});

describe('any interleaving agrees with the naive model', () => {
  const key = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 4 }) },
    fc.constantFrom(2n ** 53n, 2n ** 53n + 1n, -(2n ** 64n), 2 ** 40),
  );
  const ids = fc.tuple(
    fc.option(fc.integer({ min: 0, max: 3 }), { freq: 40 }),
    fc.option(key, { freq: 4 }),
    fc.option(key, { freq: 4 }),
  );
  const rows = fc.array(ids, { maxLength: 60, size: 'max' }).map((many) => rowsOf(many));
  const options = fc.record({ n: fc.integer({ min: 1, max: 4 }), sizes: fc.array(fc.nat(5), { maxLength: 10 }) });

  test('by group_index, layout or as one group', () => {
    fc.assert(
      fc.property(rows, options, (many, { n }) => {
        const layout = { nSamplesPerPrompt: n, rolloutBatchSize: Math.floor(many.length / n) };
        const plan = planOf(many, layout);
        const model = modelOf(many, layout);
        expectConsistent(plan, many.length);
        expect(plan.tier).toBe(many.length === 0 ? 2 : model.tier);
        expect(rolloutsOf(plan)).toEqual(model.rollouts.map((group) => group.map((rollout) => rollout.rows)));
      }),
      { numRuns: 500 },
    );
  });

  test('by sizes', () => {
    fc.assert(
      fc.property(rows, options, (many, { sizes }) => {
        const fitted: number[] = [];
        let rest = many.length;
        for (const size of sizes) {
          fitted.push(Math.min(size, rest));
          rest -= fitted.at(-1)!;
        }
        const promptGroupSizes = [...fitted, rest];
        const plan = planOf(many, { promptGroupSizes });
        expectConsistent(plan, many.length);
        expect(plan.tier).toBe(1);
        expect(rolloutsOf(plan)).toEqual(
          modelOf(many, { promptGroupSizes }).rollouts.map((group) => group.map((rollout) => rollout.rows)),
        );
      }),
      { numRuns: 500 },
    );
  });

  test.each<[string, (random: Random, rows: PlainRow[]) => PlainRow[]]>([
    ['contiguous', (_, rows) => rows],
    ['shuffled', (random, rows) => random.shuffled(rows)],
    [
      'in repeated runs',
      (_, rows) => [...rows.filter((_, i) => i % 100 < 50), ...rows.filter((_, i) => i % 100 >= 50)],
    ],
    [
      'rows of a rollout far apart',
      (_, rows) => [...rows.filter((_, i) => i % 2 === 0), ...rows.filter((_, i) => i % 2 === 1)],
    ],
  ])('a giant group before many small ones, %s', (_, arrange) => {
    const random = new Random(1);
    const giant = Array.from({ length: 5000 }, (_, i): Ids => [0, Math.floor(i / 2) * 7, null]);
    const small = Array.from({ length: 4000 }, (_, i): Ids => [1 + Math.floor(i / 8), random.integer(0, 5), null]);
    const another = Array.from({ length: 3000 }, (_, i): Ids => [10_000, (i * 7919) % 1500, null]);
    const rows = arrange(random, rowsOf([...giant, ...small, ...another]));
    const plan = planOf(rows);
    expect(rolloutsOf(plan)).toEqual(modelOf(rows).rollouts.map((group) => group.map((rollout) => rollout.rows)));
  });
});

describe('a group is named', () => {
  const columns = columnsOfBatch({ reward: [0, 0, 0, 0, 0], groupIndex: ['a', 'b', 'a', 'c', 'a'] });

  test.each([
    [0, 'group 1 (group_index "a", row 1 to row 5)'],
    [1, 'group 2 (group_index "b", row 2)'],
    [2, 'group 3 (group_index "c", row 4)'],
  ])('by its id and rows: %i', (group, text) => {
    expect(describeGroup(planBatch(columns), columns, group)).toBe(text);
  });

  test('by its rows alone where no id formed it', () => {
    const plan = planBatch(columns, { promptGroupSizes: [2, 3] });
    expect(describeGroup(plan, columns, 1)).toBe('group 2 (row 3 to row 5)');
  });
});
