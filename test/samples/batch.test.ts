import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Batch, InputError, packLossMasks } from '../../src/index.ts';
import { columnsOfBatch, MOST_TOKENS, statusFromText } from '../../src/samples/batch.ts';
import { COUNT_THE_MASK, isRemoved, KEYED_BY_INDEX, STATUSES, statusOf } from '../../src/samples/columns.ts';
import { NO_ID } from '../../src/samples/ids.ts';
import { requireRewards } from '../../src/samples/rewards.ts';

const untyped = (batch: object) => batch as unknown as Batch;

describe('a batch that breaks a rule is bad input, and the message says', () => {
  test.each<[string, object, string]>([
    ['too few ids', { reward: [1, 2], groupIndex: [1] }, 'groupIndex has 1 entries but reward has 2'],
    ['too many', { reward: [1], rolloutId: [1, 2] }, 'rolloutId has 2 entries but reward has 1'],
    ['packed masks', { reward: [1], lossMask: packLossMasks([[1], [0]]) }, 'lossMask has 2 entries but reward has 1'],
    ['an empty status column', { reward: [1], status: [] }, 'status has 0 entries but reward has 1'],
    ['text as reward', { reward: [1, '2'] }, 'row 2: reward must be a number, a boolean or null, got string'],
    ['a list as reward', { reward: [[1]] }, 'row 1: reward must be a number, a boolean or null, got object'],
    ['a bigint as reward', { reward: [1n] }, 'row 1: reward must be a number, a boolean or null, got bigint'],
    [
      'a fraction as id',
      { reward: [1, 1], index: [1, 1.5] },
      'row 2: index must be a whole number (a bigint past 2^53) or a string, got 1.5',
    ],
    [
      'a number too large to be exact',
      { reward: [1], groupIndex: [2 ** 53] },
      'row 1: groupIndex must be a whole number (a bigint past 2^53) or a string, got 9007199254740992',
    ],
    [
      'NaN in a typed array',
      { reward: [1], groupIndex: Float64Array.of(Number.NaN) },
      'row 1: groupIndex must be a whole number (a bigint past 2^53) or a string, got NaN',
    ],
    [
      'a boolean as id',
      { reward: [1], rolloutId: [true] },
      'row 1: rolloutId must be a whole number or a string, got boolean',
    ],
    [
      'an object as id',
      { reward: [1], rolloutId: [{}] },
      'row 1: rolloutId must be a whole number or a string, got object',
    ],
    [
      'text among numbers',
      { reward: [1, 1, 1], rolloutId: [1, null, 'a'] },
      'row 3: rolloutId mixes numbers and strings, got a string after a number',
    ],
    [
      'a bigint among text',
      { reward: [1, 1], groupIndex: ['1', 1n] },
      'row 2: groupIndex mixes numbers and strings, got a number after a string',
    ],
    [
      'a mask of another length',
      { reward: [1, 1], lossMask: [null, [1, 0, 1]], responseLength: [1, 4] },
      'row 2: lossMask has 3 entries but responseLength is 4',
    ],
    [
      'an empty mask of a response',
      { reward: [1], lossMask: [[]], responseLength: [4] },
      'row 1: lossMask has 0 entries but responseLength is 4',
    ],
    ['a mask entry', { reward: [1], lossMask: [[2]] }, 'row 1: lossMask entry 1 must be 0 or 1, got 2'],
    [
      'a negative length',
      { reward: [1], responseLength: [-1] },
      'row 1: responseLength must be a whole number from 0 to 4294967294, got -1',
    ],
    [
      'half a token',
      { reward: [1, 1], trainableTokens: [1, 0.5] },
      'row 2: trainableTokens must be a whole number from 0 to 4294967294, got 0.5',
    ],
    [
      'a count past u32',
      { reward: [1], trainableTokens: [COUNT_THE_MASK] },
      'row 1: trainableTokens must be a whole number from 0 to 4294967294, got 4294967295',
    ],
    [
      'a removal that is text',
      { reward: [1], removeSample: ['no'] },
      'row 1: removeSample must be a boolean, got "no"',
    ],
    ['a removal of 2', { reward: [1], removeSample: [2] }, 'row 1: removeSample must be a boolean, got 2'],
    ['a status that is a number', { reward: [1, 1], status: [null, 3] }, 'row 2: status must be text, got number'],
  ])('%s', (_, batch, message) => {
    expect(() => columnsOfBatch(untyped(batch))).toThrow(new InputError(message));
  });

  test.each([[[0.5]], [[true]], [[1, 'a']]])('index %j, though every row has a rolloutId', (index) => {
    const reward = index.map(() => 1);
    const rolloutId = index.map((_, row) => row);
    expect(() => columnsOfBatch(untyped({ reward, rolloutId, index }))).toThrow(InputError);
  });
});

describe('rewards', () => {
  test.each<[string, Batch['reward'], number[], number | null]>([
    ['numbers', [1.5, -0, 5e-324], [1.5, -0, 5e-324], null],
    ['booleans are 1 and 0', [true, false], [1, 0], null],
    ['binary32 columns', Float32Array.of(0.1), [Math.fround(0.1)], null],
    ['null is missing', [1, null], [1, Number.NaN], 1],
    ['undefined is missing', [undefined, 2], [Number.NaN, 2], 0],
    ['NaN is missing', [Number.NaN], [Number.NaN], 0],
    ['infinities are missing', [1, -Infinity, Infinity], [1, Number.NaN, Number.NaN], 1],
  ])('%s', (_, reward, expected, missing) => {
    const { rewards, missingReward } = columnsOfBatch({ reward });
    expect([...rewards]).toEqual(expected);
    expect(missingReward?.row ?? null).toBe(missing);
  });

  test('are a copy, so that later changes of the caller do not reach them', () => {
    const reward = Float64Array.of(1, 2);
    const { rewards } = columnsOfBatch({ reward });
    reward[0] = 9;
    expect([...rewards]).toEqual([1, 2]);
  });

  test.each<[Batch['reward'], string]>([
    [[1, null, Number.NaN], 'row 2: reward must be a finite number, found null'],
    [[Number.NaN], 'row 1: reward must be a finite number, found NaN'],
    [[1, -Infinity], 'row 2: reward must be a finite number, found -Infinity'],
  ])('%j is refused unless missing rewards are excluded', (reward, message) => {
    const columns = columnsOfBatch({ reward });
    expect(() => requireRewards(columns, false, false)).toThrow(
      new InputError(`${message} (excluding missing-reward leaves such rollouts out)`),
    );
    expect(() => requireRewards(columns, true, false)).not.toThrow();
  });
});

describe('required identity', () => {
  const refusal = (row: number) => `row ${row}: neither rollout_id nor index, but identity is required`;

  test.each<[string, Batch, string | null]>([
    ['no id columns', { reward: [1, 1] }, refusal(1)],
    ['a row without either', { reward: [1, 1, 1], rolloutId: [1, null, null], index: [null, 2, null] }, refusal(3)],
    ['a group is no identity', { reward: [1], groupIndex: [1] }, refusal(1)],
    ['every row has one of them', { reward: [1, 1], rolloutId: [1, null], index: [null, 1] }, null],
    ['no rows', { reward: [] }, null],
  ])('%s', (_, batch, message) => {
    const check = () => requireRewards(columnsOfBatch(batch), false, true);
    if (message === null) expect(check).not.toThrow();
    else expect(check).toThrow(new InputError(message));
  });
});

describe('ids', () => {
  const codes = (batch: Batch) => [...(columnsOfBatch(batch).rolloutCodes ?? [])];
  const reward = [0, 0, 0, 0];

  test.each<[string, NonNullable<Batch['rolloutId']>]>([
    ['numbers', [5, 6, 5, -7]],
    ['bigints and numbers together', [5n, 6, 5, 7n]],
    ['strings', ['a', 'b', 'a', 'A']],
    ['int32', Int32Array.of(5, -6, 5, 7)],
    ['uint32', Uint32Array.of(5, 2 ** 32 - 1, 5, 7)],
    ['binary64', Float64Array.of(-0, 1, 0, 2 ** 53 - 1)],
    ['int64', BigInt64Array.of(2n ** 63n - 1n, 2n ** 63n - 2n, 2n ** 63n - 1n, -(2n ** 63n))],
    ['uint64', BigUint64Array.of(2n ** 64n - 1n, 2n ** 64n - 2n, 2n ** 64n - 1n, 0n)],
    ['neighbours past 2^53', [9007199254740992n, 9007199254740993n, 9007199254740992n, 9007199254740991n]],
  ])('of kind %s compare by identity', (_, rolloutId) => {
    const [a, b, c, d] = codes({ reward, rolloutId });
    expect(c).toBe(a);
    expect(new Set([a, b, d]).size).toBe(3);
  });

  test('rollout_id and index share one key space; index only fills gaps', () => {
    const columns = columnsOfBatch({ reward, rolloutId: [5, null, undefined, 6], index: [9, 5, null, 9] });
    const [a, b, none, d] = columns.rolloutCodes!;
    expect([b, none]).toEqual([a, NO_ID]);
    expect(d).not.toBe(a);
    expect([0, 1, 3].map((row) => columns.flags![row] & KEYED_BY_INDEX)).toEqual([0, KEYED_BY_INDEX, 0]);
  });

  test('a text index never meets an equal-looking integer rollout_id', () => {
    const [a, b] = codes({ reward: [0, 0], rolloutId: [5, null], index: [null, '5'] });
    expect(a).not.toBe(b);
  });

  test('index alone is the key of every row', () => {
    const columns = columnsOfBatch({ reward, index: [1, 1, 2, null] });
    const [a, b, c, none] = columns.rolloutCodes!;
    expect([b, none]).toEqual([a, NO_ID]);
    expect(c).not.toBe(a);
    expect(columns.flags!.every((flags) => (flags & KEYED_BY_INDEX) !== 0)).toBe(true);
  });

  test('groups and rollouts have key spaces of their own', () => {
    const columns = columnsOfBatch({ reward: [0, 0], groupIndex: ['a', 'b'], rolloutId: [1, 2] });
    expect(columns.groupIds.describe(columns.groupCodes![1])).toBe('"b"');
    expect(columns.rolloutIds.describe(columns.rolloutCodes![1])).toBe('2');
  });

  test('no id columns, no codes', () => {
    const { groupCodes, rolloutCodes, flags } = columnsOfBatch({ reward });
    expect([groupCodes, rolloutCodes, flags]).toEqual([null, null, null]);
  });
});

describe('flags', () => {
  test('removal by booleans or 0/1, and every status', () => {
    const removeSample = [true, false, 1, 0, null];
    const status = ['truncated', 'aborted', 'failed', 'completed', null];
    const { flags } = columnsOfBatch({ reward: [0, 0, 0, 0, 0], removeSample, status });
    expect(removeSample.map((_, row) => isRemoved(flags, row))).toEqual([true, false, true, false, false]);
    expect(status.map((_, row) => statusOf(flags, row))).toEqual([...status.slice(0, 4), 'completed']);
  });

  test('without the columns every row is completed and kept', () => {
    expect([isRemoved(null, 3), statusOf(null, 3)]).toEqual([false, 'completed']);
  });

  test('texts that name no status are collected, the first three', () => {
    const status = ['pending', 'other', 'completed', 'pending', 'Failed', 'x'];
    const columns = columnsOfBatch({ reward: status.map(() => 0), status });
    expect(columns.unknownStatuses).toEqual(['pending', 'other', 'Failed']);
    expect(status.map((_, row) => statusOf(columns.flags, row))).toEqual([
      ...['other', 'other', 'completed', 'other', 'other', 'other'],
    ]);
  });

  test('statusFromText knows exactly the four names', () => {
    for (const text of [...STATUSES, '', 'toString']) {
      const unknown = new Set<string>();
      const known = ['completed', 'truncated', 'aborted', 'failed'].includes(text);
      expect(statusFromText(text, unknown)).toBe(known ? text : 'other');
      expect([...unknown]).toEqual(known ? [] : [text]);
    }
  });
});

describe('trainable tokens', () => {
  test.each<[string, Omit<Batch, 'reward'>, number[] | null]>([
    ['nothing is known', {}, null],
    ['columns of nulls say nothing', { responseLength: [null, null], lossMask: [null, undefined] }, null],
    ['one known row makes the rest 0', { responseLength: [null, 5] }, [0, 5]],
    ['trainableTokens win', { trainableTokens: [3, null], responseLength: [9, 9] }, [3, 9]],
    ['a mask is counted later', { lossMask: [[1, 1], null], responseLength: [2, 4] }, [COUNT_THE_MASK, 4]],
    ['a removed row has none', { trainableTokens: [7, 7], removeSample: [true, false] }, [0, 7]],
    ['removal alone says nothing of tokens', { removeSample: [true, false] }, null],
    ['the largest count', { trainableTokens: [MOST_TOKENS, 0] }, [MOST_TOKENS, 0]],
    ['-0 is 0', { trainableTokens: [-0, 1] }, [0, 1]],
  ])('%s', (_, fields, tokens) => {
    const { fixedTokens } = columnsOfBatch({ reward: [0, 0], ...fields });
    expect(fixedTokens && [...fixedTokens]).toEqual(tokens);
  });
});

test('rows are named from 1', () => {
  expect(columnsOfBatch({ reward: [0] }).place(0)).toBe('row 1');
});

test('equal consecutive ids get equal codes, whatever stands between them', () => {
  const id = fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 3 }), fc.constantFrom(1n, 2n ** 70n));
  fc.assert(
    fc.property(fc.array(id, { maxLength: 40 }), (groupIndex) => {
      const { groupCodes } = columnsOfBatch({ reward: groupIndex.map(() => 0), groupIndex });
      const seen = new Map<string, number>();
      for (const [row, value] of groupIndex.entries()) {
        const code = groupCodes![row];
        expect(code === NO_ID).toBe(value === null);
        if (value === null) continue;
        expect(seen.get(String(value)) ?? code).toBe(code);
        seen.set(String(value), code);
      }
      expect(new Set(seen.values()).size).toBe(seen.size);
    }),
  );
});

describe('what is no batch', () => {
  const broken: [string, object, RegExp][] = [
    [
      'a column of a name that is not read',
      { reward: [1], group_index: [1] },
      /unknown column group_index; known: reward, groupIndex/,
    ],
    ['a column of the name of one of several rewards', { reward: [1], 'rewards.x': [1] }, /unknown column rewards.x/],
    ['such a column beside them', { rewards: { x: [1] }, 'rewards.x': [1] }, /unknown column rewards.x/],
    ['a misspelt column that is absent', { reward: [1], groupindex: undefined }, /unknown column groupindex/],
    ['one of several rewards that is not there', { rewards: { a: [1], b: undefined } }, /rewards.b must be an array/],
    ['rewards without names', { rewards: [[1]] }, /rewards must be an object of columns by their names/],
    ['rewards that are one column', { rewards: Float64Array.of(1) }, /rewards must be an object of columns/],
    ['a text as masks', { reward: [1], lossMask: '1' }, /lossMask must be an array/],
    ['no reward', { groupIndex: [1] }, /reward must be an array/],
    ['a set', { reward: new Set([1]) }, /reward must be an array/],
    ['a view without elements', { reward: new DataView(new ArrayBuffer(8)) }, /reward must be an array/],
    ['a text as a column', { reward: [1, 2], groupIndex: 'ab' }, /groupIndex must be an array/],
    [
      'packed masks without words',
      { reward: [1], lossMask: { wordOffsets: Uint32Array.of(0, 1) } },
      /both Uint32Array/,
    ],
    [
      'packed masks past their words',
      { reward: [1], lossMask: { words: Uint32Array.of(1), wordOffsets: Uint32Array.of(0, 2) } },
      /has 1 words but its offsets end at 2/,
    ],
    [
      'packed masks that run backwards',
      { reward: [1, 2], lossMask: { words: Uint32Array.of(1, 1), wordOffsets: Uint32Array.of(0, 2, 1) } },
      /row 2: packed lossMask ends at word 1/,
    ],
  ];

  test.each(broken)('%s is refused', (_, batch, message) => {
    expect(() => columnsOfBatch(batch as Batch)).toThrow(InputError);
    expect(() => columnsOfBatch(batch as Batch)).toThrow(message);
  });

  test('a column that is null is absent', () => {
    expect(columnsOfBatch({ reward: [1], groupIndex: null } as unknown as Batch).groupCodes).toBeNull();
  });
});
