import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Batch, createEngine, InputError, type PackedLossMasks, packLossMasks } from '../../src/index.ts';
import { columnsOfBatch } from '../../src/samples/batch.ts';

type Mask = ArrayLike<number | boolean> | null | undefined;

/** The entries of a packed row, read bit by bit. */
function bitsOf({ words, wordOffsets }: ReturnType<typeof packLossMasks>, row: number): number[] {
  const bits: number[] = [];
  for (let word = wordOffsets[row]; word < wordOffsets[row + 1]; word++)
    for (let bit = 0; bit < 32; bit++) bits.push((words[word] >>> bit) & 1);
  return bits;
}

/** The row that stands for the rollout when all rows are one: the one with most trainable tokens. */
async function winnerOf(batch: Pick<Batch, 'lossMask' | 'responseLength' | 'trainableTokens' | 'removeSample'>) {
  const count = (batch.lossMask as ArrayLike<unknown>).length;
  // Row r has reward r + 1. Beside a rollout of reward 0 the chosen reward shows: its advantage is half of it.
  const partner = (field: string) => (field === 'lossMask' ? [] : 0);
  const withPartner = Object.entries(batch).map(([field, column]) => [field, [...(column as []), partner(field)]]);
  const { advantages } = await createEngine({ backend: 'cpu' }).normalize(
    {
      ...Object.fromEntries(withPartner),
      reward: [...Array.from({ length: count }, (_, row) => row + 1), 0],
      rolloutId: [...Array<number>(count).fill(0), 1],
    },
    { estimator: 'dr_grpo' },
  );
  return advantages[0] * 2 - 1;
}

describe('packLossMasks', () => {
  test.each<[string, Mask[], number[], number[]]>([
    ['no rows', [], [0], []],
    ['an empty mask', [[]], [0, 0], []],
    ['no mask', [null, undefined], [0, 0, 0], []],
    ['one bit, least significant first', [[1]], [0, 1], [1]],
    ['booleans', [[true, false, true]], [0, 1], [0b101]],
    ['the top bit of a word', [[...Array(31).fill(0), 1]], [0, 1], [0x80000000]],
    ['32 entries are one word', [Array(32).fill(1)], [0, 1], [0xffffffff]],
    ['33 entries are two', [Array(33).fill(1)], [0, 2], [0xffffffff, 1]],
    ['every row starts a word', [[1], [], [0, 1]], [0, 1, 1, 2], [1, 2]],
    ['typed arrays', [Uint8Array.of(0, 1, 1)], [0, 1], [0b110]],
    ['-0 is 0', [[-0, 1]], [0, 1], [2]],
  ])('%s', (_, masks, offsets, words) => {
    const packed = packLossMasks(masks);
    expect([...packed.wordOffsets]).toEqual(offsets);
    expect([...packed.words]).toEqual(words);
  });

  test('keeps every entry and leaves the unused bits 0', () => {
    const mask = fc.option(fc.array(fc.oneof(fc.constantFrom(0, 1), fc.boolean()), { maxLength: 100 }));
    fc.assert(
      fc.property(fc.array(mask, { maxLength: 20 }), (masks) => {
        const packed = packLossMasks(masks);
        for (const [row, entries] of masks.entries()) {
          const bits = bitsOf(packed, row);
          expect(bits.slice(0, entries?.length ?? 0)).toEqual((entries ?? []).map(Number));
          expect(bits.slice(entries?.length ?? 0)).not.toContain(1);
          expect(bits.length).toBe(Math.ceil((entries?.length ?? 0) / 32) * 32);
        }
      }),
    );
  });

  test.each<[Mask[], string]>([
    [[[0, 2]], 'row 1: lossMask entry 2 must be 0 or 1, got 2'],
    [[[], [1, 1, -1]], 'row 2: lossMask entry 3 must be 0 or 1, got -1'],
    [[[0.5]], 'row 1: lossMask entry 1 must be 0 or 1, got 0.5'],
    [[[Number.NaN]], 'row 1: lossMask entry 1 must be 0 or 1, got NaN'],
    [[Float32Array.of(1, 1.5)], 'row 1: lossMask entry 2 must be 0 or 1, got 1.5'],
  ])('%j is bad input', (masks, message) => {
    expect(() => packLossMasks(masks)).toThrow(new InputError(message));
  });

  test.each([[null], ['1'], [''], [[]]])('an entry %j is neither 0, 1 nor a boolean', (entry) => {
    expect(() => packLossMasks([[entry as unknown as number]])).toThrow(InputError);
  });
});

describe('packed masks beside a length', () => {
  const ones = (count: number) => Array<number>(count).fill(1);
  const packedOf = (words: number[], wordOffsets: number[]) => ({
    words: Uint32Array.from(words),
    wordOffsets: Uint32Array.from(wordOffsets),
  });
  const check = (lossMask: PackedLossMasks, responseLength: (number | null)[]) => () =>
    columnsOfBatch({ reward: responseLength.map(() => 0), lossMask, responseLength });

  test.each<[string, PackedLossMasks, (number | null)[], string]>([
    [
      'more words than it needs',
      packedOf([15, 15, 0], [0, 1, 3]),
      [4, 4],
      'row 2: packed lossMask has 2 words of 32 entries but responseLength is 4, which needs 1',
    ],
    [
      'fewer words',
      packLossMasks([ones(32)]),
      [33],
      'row 1: packed lossMask has 1 words of 32 entries but responseLength is 33, which needs 2',
    ],
    [
      'words of nothing',
      packLossMasks([[0]]),
      [0],
      'row 1: packed lossMask has 1 words of 32 entries but responseLength is 0, which needs 0',
    ],
    [
      'a one past the end',
      packLossMasks([ones(4), ones(4)]),
      [4, 3],
      'row 2: packed lossMask has a one past the 3 entries of responseLength',
    ],
    [
      'a one past the end of the last word',
      packLossMasks([ones(64)]),
      [63],
      'row 1: packed lossMask has a one past the 63 entries of responseLength',
    ],
  ])('%s: refused', (_, lossMask, lengths, message) => {
    expect(check(lossMask, lengths)).toThrow(new InputError(message));
  });

  test.each<[string, PackedLossMasks, (number | null)[]]>([
    ['whole words', packLossMasks([ones(32), ones(64)]), [32, 64]],
    ['a part of a word', packLossMasks([ones(33), [0, 1]]), [33, 2]],
    ['zeros to the end', packLossMasks([[1, 0, 0]]), [30]],
    ['rows without a mask or without a length', packLossMasks([null, ones(70)]), [9, null]],
  ])('%s: taken', (_, lossMask, lengths) => {
    expect(check(lossMask, lengths)).not.toThrow();
  });
});

test.each([[[1, 1]], [['11']], [[true, false]], [[{ length: 1, 0: 1 }]], [[new DataView(new ArrayBuffer(1))]]])(
  'masks that are no lists are bad input: %o',
  (masks) => {
    const untyped = masks as unknown as Mask[];
    expect(() => packLossMasks(untyped)).toThrow(/^row 1: lossMask must be an array or a typed array, got/);
  },
);

describe('the count of a mask', () => {
  const mask = fc.array(fc.constantFrom(0, 1), { maxLength: 150 });

  test('chooses the row with most ones, the first on a tie', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(mask, { minLength: 1, maxLength: 6 }), async (lossMask) => {
        const counts = lossMask.map((entries) => entries.reduce<number>((sum, entry) => sum + entry, 0));
        expect(await winnerOf({ lossMask })).toBe(counts.indexOf(Math.max(...counts)));
      }),
      { numRuns: 200 },
    );
  });

  test('of a removed row is 0', async () => {
    expect(await winnerOf({ lossMask: [[1, 1], [1]], removeSample: [true, false] })).toBe(1);
  });

  test.each<[string, Parameters<typeof winnerOf>[0], number]>([
    ['trainableTokens win over the mask', { lossMask: [[1, 1, 1], [0]], trainableTokens: [0, 2] }, 1],
    ['a row without a mask counts its response', { lossMask: [[1, 1], null], responseLength: [2, 3] }, 1],
    ['an empty mask counts 0', { lossMask: [[], [1]], responseLength: [0, 1] }, 1],
    ['a mask of zeros counts 0, whatever the response', { lossMask: [[0, 0, 0], [1]], responseLength: [3, 1] }, 1],
    ['a row with nothing counts 0', { lossMask: [null, [1]], responseLength: [null, null] }, 1],
  ])('%s', async (_, batch, winner) => {
    expect(await winnerOf(batch)).toBe(winner);
  });
});

test('packed masks give what lists give, rows without a mask included', async () => {
  const engine = createEngine({ backend: 'cpu' });
  const row = fc.record({
    rollout: fc.nat(3),
    reward: fc.integer({ min: -5, max: 5 }),
    mask: fc.option(fc.array(fc.constantFrom(0, 1), { maxLength: 70 }), { freq: 3 }),
    length: fc.nat(70),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 2, maxLength: 12 }), async (rows) => {
      const batch = {
        reward: rows.map(({ reward }) => reward),
        rolloutId: rows.map(({ rollout }) => rollout),
        responseLength: rows.map(({ mask, length }) => mask?.length ?? length),
      };
      const masks = rows.map(({ mask }) => mask);
      const lists = await engine.normalize({ ...batch, lossMask: masks });
      const packed = await engine.normalize({ ...batch, lossMask: packLossMasks(masks) });
      expect([...packed.advantages]).toEqual([...lists.advantages]);
    }),
    { numRuns: 300 },
  );
});
