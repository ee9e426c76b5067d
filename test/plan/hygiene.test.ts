import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createEngine } from '../../src/index.ts';
import type { KeyHygiene } from '../../src/plan/hygiene.ts';
import { planBatch } from '../../src/plan/plan.ts';
import { columnsOfBatch } from '../../src/samples/batch.ts';
import { columnsOf, keyOf, modelOf, type PlainRow } from '../support/oracle.ts';

type Key = number | bigint | string | null;

const rowsOf = (ids: readonly [Key, Key, Key][]): PlainRow[] =>
  ids.map(([groupIndex, rolloutId, index]) => ({ groupIndex, rolloutId, index, reward: 0 }));

const hygieneOf = (rows: readonly PlainRow[]): KeyHygiene => planBatch(columnsOfBatch(columnsOf(rows))).hygiene;

const NONE = { count: 0, row: -1 };

describe('merged keys', () => {
  test.each<[string, [Key, Key, Key][], KeyHygiene['mergedKeys']]>([
    [
      'rollout_id beside an equal index',
      [
        [1, 5, 9],
        [1, null, 5],
      ],
      { count: 1, row: 1 },
    ],
    [
      'the index first',
      [
        [1, null, 5],
        [1, 5, 9],
      ],
      { count: 1, row: 1 },
    ],
    [
      'one rollout counts once',
      [
        [1, 5, 9],
        [1, null, 5],
        [1, null, 5],
      ],
      { count: 1, row: 1 },
    ],
    [
      'two rollouts',
      [
        [1, 5, 9],
        [1, 6, 9],
        [1, null, 5],
        [1, null, 6],
      ],
      { count: 2, row: 2 },
    ],
    [
      'only inside one group',
      [
        [1, 5, 9],
        [2, null, 5],
      ],
      NONE,
    ],
    [
      'not by rollout_id alone',
      [
        [1, 5, 5],
        [1, 5, 5],
      ],
      NONE,
    ],
    [
      'not by index alone',
      [
        [1, null, 5],
        [1, null, 5],
      ],
      NONE,
    ],
    [
      'not rows without ids',
      [
        [1, null, null],
        [1, 5, 9],
      ],
      NONE,
    ],
    [
      'not text and number',
      [
        [1, 5, null],
        [1, null, '5'],
      ],
      NONE,
    ],
  ])('%s', (_, ids, finding) => {
    expect(hygieneOf(rowsOf(ids)).mergedKeys).toEqual(finding);
  });
});

describe('repeated keys', () => {
  test.each<[string, [Key, Key, Key][], KeyHygiene['repeatedKeys']]>([
    [
      'an id in two groups',
      [
        [1, 5, null],
        [2, 5, null],
      ],
      { count: 1, row: 1 },
    ],
    [
      'an index in two groups',
      [
        [1, null, 5],
        [2, null, 5],
      ],
      { count: 1, row: 1 },
    ],
    [
      'siblings count once',
      [
        [1, 5, null],
        [1, 5, null],
        [2, 5, null],
        [2, 5, null],
      ],
      { count: 1, row: 2 },
    ],
    [
      'two ids',
      [
        [1, 5, null],
        [1, 6, null],
        [2, 5, null],
        [2, 6, null],
      ],
      { count: 2, row: 2 },
    ],
    [
      'descending ids that do not repeat',
      [
        [1, 9, null],
        [1, 8, null],
        [2, 7, null],
        [2, 1, null],
      ],
      NONE,
    ],
    [
      'ascending ids',
      [
        [1, 1, null],
        [1, 2, null],
        [2, 3, null],
      ],
      NONE,
    ],
    [
      'rows without ids never repeat',
      [
        [1, null, null],
        [2, null, null],
      ],
      NONE,
    ],
    [
      'far apart',
      [
        [1, 0, null],
        [1, 2 ** 30, null],
        [2, 5, null],
        [2, 0, null],
      ],
      { count: 1, row: 3 },
    ],
    [
      'far and huge',
      [
        [1, 10n ** 30n, null],
        [1, 1, null],
        [2, 10n ** 30n, null],
      ],
      { count: 1, row: 2 },
    ],
    [
      'texts',
      [
        [1, 'b', null],
        [1, 'a', null],
        [2, 'b', null],
      ],
      { count: 1, row: 2 },
    ],
    [
      'an id in three groups is one id',
      [
        [1, 5, null],
        [2, 5, null],
        [3, 5, null],
      ],
      { count: 1, row: 1 },
    ],
  ])('%s', (_, ids, finding) => {
    expect(hygieneOf(rowsOf(ids)).repeatedKeys).toEqual(finding);
  });

  test.each(['near', 'far'])('agree with a Map in which groups each key stands, codes %s', (spread) => {
    const key = fc.nat(12).map((id) => (spread === 'near' ? id : (id * 80_000_003) % 2 ** 30));
    const id = fc.tuple(fc.nat(1), fc.option(key, { freq: 6 }), fc.option(key, { freq: 3 }));
    fc.assert(
      fc.property(fc.array(id, { maxLength: 60, size: 'max' }), (ids) => {
        const rows = rowsOf(ids);
        const groupsByKey = new Map<string, Set<number>>();
        const merged = new Set<string>();
        for (const [group, rollouts] of modelOf(rows).rollouts.entries()) {
          for (const { rows: members } of rollouts) {
            const own = rows[members[0]].rolloutId ?? rows[members[0]].index ?? null;
            if (own === null) continue;
            groupsByKey.set(keyOf(own), (groupsByKey.get(keyOf(own)) ?? new Set()).add(group));
            const sources = new Set(members.map((row) => rows[row].rolloutId === null));
            if (sources.size === 2) merged.add(`${group} ${keyOf(own)}`);
          }
        }
        const repeated = [...groupsByKey.values()].filter((groups) => groups.size > 1).length;
        const hygiene = hygieneOf(rows);
        expect([hygiene.repeatedKeys.count, hygiene.mergedKeys.count]).toEqual([repeated, merged.size]);
        expect([hygiene.repeatedKeys.row >= 0, hygiene.mergedKeys.row >= 0]).toEqual([repeated > 0, merged.size > 0]);
      }),
      { numRuns: 400 },
    );
  });
});

describe('the report warns', () => {
  const OF_KEYS = ['merged-keys', 'repeated-keys', 'fallback'];
  const warningsOf = async (rows: PlainRow[], options = {}) => {
    const { report } = await createEngine({ backend: 'cpu' }).normalize(columnsOf(rows), options);
    return report.warnings.filter((_, i) => OF_KEYS.includes(report.warning_codes[i]));
  };

  test('of merged keys, naming the id and a row', async () => {
    expect(
      await warningsOf(
        rowsOf([
          [1, 5, 9],
          [1, null, 5],
        ]),
      ),
    ).toEqual(['1 rollouts join rows by rollout_id with rows by an equal index (first: 5 at row 2)']);
  });

  test('of keys in two groups', async () => {
    expect(
      await warningsOf(
        rowsOf([
          [1, 'a', null],
          [2, 'a', null],
        ]),
      ),
    ).toEqual([
      '1 rollout ids stand in more than one prompt group and count as a rollout in each (first: "a" at row 2)',
    ]);
  });

  test('of rollouts on both sides of a cut', async () => {
    const warnings = await warningsOf(
      rowsOf([
        [null, 1, null],
        [null, 2, null],
        [null, 2, null],
        [null, 3, null],
      ]),
      {
        nSamplesPerPrompt: 2,
        rolloutBatchSize: 2,
      },
    );
    expect(warnings).toEqual([
      '4 of 4 rows have no group_index (row 1, row 2, row 3, row 4): grouped by position, 2 rows each (tier 3)',
      '1 rollout ids stand on both sides of a group boundary (first: 2 at row 3)',
    ]);
  });

  test('of a single group by default', async () => {
    expect(
      await warningsOf(
        rowsOf([
          [null, 1, null],
          [null, 2, null],
        ]),
      ),
    ).toEqual(['2 of 2 rows have no group_index (row 1, row 2): all rows are one prompt group (tier 4)']);
  });

  test('of nothing where ids are clean', async () => {
    expect(
      await warningsOf(
        rowsOf([
          [1, 1, null],
          [1, 2, null],
          [2, 3, null],
          [2, 3, null],
        ]),
      ),
    ).toEqual([]);
  });
});
