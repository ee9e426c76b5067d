/** A reward that is the sum of columns is the same in every format, in whatever order the columns are named. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { InputError } from '../../src/errors.ts';
import { adjustRewards } from '../../src/estimators/rewards.ts';
import { writeFlatArrow } from '../../src/io/arrow/write-flat.ts';
import type { FlatColumn } from '../../src/io/parquet/write-flat.ts';
import { NO_PARTS, SUM_OVERFLOWS } from '../../src/samples/reward-sum.ts';
import { writeFlatParquet } from '../support/parquet-writers.ts';
import { readFiles } from '../support/read-file.ts';
import { samplesFile } from './torch/pickled.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollnorm-sums-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Row = Readonly<Record<string, number | null>>;
const FORMATS = ['jsonl', 'parquet', 'arrow', 'pt'] as const;
let files = 0;

function written(make: (write: (bytes: Uint8Array) => void) => void): Buffer {
  const pieces: Uint8Array[] = [];
  make((bytes) => pieces.push(bytes.slice()));
  return Buffer.concat(pieces);
}

function columnsOf(rows: readonly Row[]): FlatColumn[] {
  return Object.keys(rows[0]).map((name) => ({
    name,
    kind: 'double',
    nullable: true,
    values: {
      kind: 'double',
      values: Float64Array.from(rows, (row) => row[name] ?? 0),
      present: Uint8Array.from(rows, (row) => (row[name] === null ? 0 : 1)),
    },
  }));
}

function bytesOf(format: (typeof FORMATS)[number], rows: readonly Row[]): Uint8Array | string {
  if (format === 'parquet') return written((write) => writeFlatParquet(columnsOf(rows), rows.length, 'none', write));
  if (format === 'arrow') return written((write) => writeFlatArrow(columnsOf(rows), rows.length, 'file', write));
  if (format === 'pt') return samplesFile(rows);
  return rows.map((row) => `{${Object.entries(row).map(([name, value]) => `"${name}": ${value}`)}}\n`).join('');
}

async function rewardOf(format: (typeof FORMATS)[number], row: Row, weights: Record<string, number>) {
  const path = join(folder, `${files++}.${format}`);
  writeFileSync(path, bytesOf(format, [{ ...row }, Object.fromEntries(Object.keys(row).map((name) => [name, 1]))]));
  const rewardColumns = Object.entries(weights).map(([name, weight]) => ({ name, weight }));
  const { columns } = (await readFiles([path], { rewardColumns })).batch;
  return columns.missingReward ? columns.missingReward.found : columns.rewards[0];
}

const ordersOf = (weights: Record<string, number>) => [
  weights,
  Object.fromEntries(Object.entries(weights).reverse()),
  Object.fromEntries([...Object.entries(weights).slice(1), Object.entries(weights)[0]]),
];

describe.each(FORMATS)('in %s', (format) => {
  test.each<[string, Row, Record<string, number>, number | string]>([
    ['parts are weighed', { a: 3, b: 4 }, { a: 1, b: 0.5 }, 5],
    ['null and NaN are left out', { a: null, b: NaN, c: 2 }, { a: 1, b: 1, c: 3 }, 6],
    ['none is there', { a: null, b: NaN }, { a: 1, b: 1 }, NO_PARTS],
    ['none is there of one', { a: null }, { a: 1 }, NO_PARTS],
    ['an infinite part', { a: Infinity, b: 2 }, { a: 1, b: 1 }, 'a Infinity'],
    ['an infinite part of weight 0', { a: Infinity, b: 2 }, { a: 0, b: 1 }, 'a Infinity'],
    ['an infinite part beside finite ones that overflow', { a: -Infinity, b: 1e308 }, { a: 1, b: 10 }, 'a -Infinity'],
  ])('%s', async (_, row, weights, expected) => {
    for (const order of ordersOf(weights)) expect(await rewardOf(format, row, order)).toBe(expected);
  });

  test.each<[string, Row, Record<string, number>]>([
    ['products that overflow and cancel', { a: 1e308, b: -1e308, c: 1 }, { a: 10, b: 10, c: 1 }],
    ['one product', { a: 1e308, b: 1 }, { a: -10, b: 1 }],
    ['a sum', { a: 1e308, b: 1e308 }, { a: 1, b: 1 }],
  ])('%s: refused, not missing', async (_, row, weights) => {
    for (const order of ordersOf(weights)) {
      const failure = await rewardOf(format, row, order).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(InputError);
      expect((failure as Error).message).toMatch(new RegExp(`(line|row) 1: ${SUM_OVERFLOWS}`));
    }
  });
});

test.each(['0.5', '"0.5"'])(
  'text that spells a number is one in every format, where a preset says so: %s',
  async (text) => {
    const rows = [{ a: JSON.parse(text), b: 2 }];
    const json = join(folder, `${files++}.jsonl`);
    const torch = join(folder, `${files++}.pt`);
    writeFileSync(json, `${JSON.stringify(rows[0])}\n`);
    writeFileSync(torch, samplesFile(rows));
    const rewardColumns = ['a', 'b'].map((name) => ({ name, weight: 1 }));
    for (const path of [json, torch])
      expect([...(await readFiles([path], { preset: 'verl', rewardColumns })).batch.columns.rewards]).toEqual([2.5]);
  },
);

describe.each(FORMATS)('several rewards that are kept apart, in %s', (format) => {
  const read = async (row: Row) => {
    const path = join(folder, `${files++}.${format}`);
    writeFileSync(path, bytesOf(format, [row, { a: 1, b: 1 }]));
    const rewardColumns = ['a', 'b'].map((name) => ({ name, weight: 1 }));
    return (await readFiles([path], { rewardColumns, rewardsApart: true })).batch.columns;
  };

  test.each<[Row, string]>([
    [{ a: 1, b: null }, 'null for b'],
    [{ a: NaN, b: null }, 'a NaN'],
    [{ a: 1, b: -Infinity }, 'b -Infinity'],
  ])('%o: missing, and named', async (row, found) => {
    expect((await read(row)).missingReward).toEqual({ row: 0, found });
  });

  test('that overflow as a sum are refused by whoever sums them', async () => {
    const columns = await read({ a: 1e308, b: 1e308 });
    const estimator = { clipReward: null, rewardWeights: null, perReward: false };
    expect(() => adjustRewards(columns, estimator)).toThrow(`1: ${SUM_OVERFLOWS}`);
    expect(adjustRewards(columns, { ...estimator, rewardWeights: [0.5, 0.5] }).rewards[0]).toBe(1e308);
  });
});

describe('scores with weights', () => {
  const read = async (rewards: string) => {
    const path = join(folder, `${files++}.jsonl`);
    writeFileSync(path, `{"rewards": ${rewards}}\n`);
    const { columns } = (await readFiles([path], { map: ['reward=rewards=scored'] })).batch;
    return columns.missingReward ? columns.missingReward.found : columns.rewards[0];
  };

  test.each<[string, string, number | string]>([
    ['are added up', '{"a": {"score": 1, "weight": 2}, "b": {"score": 3}, "c": null}', 5],
    ['nothing is 0', '{}', 0],
    [
      'an infinite score',
      '{"a": {"score": 1}, "b": {"score": Infinity}, "c": {"score": 2}}',
      'rewards: score Infinity',
    ],
    ['no score', '{"a": {"weight": 1}, "b": {"score": 1}}', 'no rewards: score'],
  ])('%s', async (_, rewards, expected) => {
    expect(await read(rewards)).toBe(expected);
  });

  test('that overflow are refused', async () => {
    const rewards = '{"a": {"score": 1e308, "weight": 10}, "b": {"score": -1e308, "weight": 10}}';
    await expect(read(rewards)).rejects.toThrow(SUM_OVERFLOWS);
  });
});
