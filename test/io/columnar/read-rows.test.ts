/** Columns mean what the same rows mean as JSON, or are refused by name. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { writeFlatArrow } from '../../../src/io/arrow/write-flat.ts';
import type { FlatColumn } from '../../../src/io/parquet/write-flat.ts';
import { writeFlatParquet } from '../../support/parquet-writers.ts';
import { readFiles, rowsOfBatch } from '../../support/read-file.ts';
import { fixture } from '../parquet/support.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollnorm-columnar-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const doubles = (name: string, values: number[]): FlatColumn => ({
  name,
  kind: 'double',
  nullable: true,
  values: { kind: 'double', values: Float64Array.from(values), present: null },
});
const integers = (name: string, values: bigint[], present: number[] | null = null): FlatColumn => ({
  name,
  kind: 'int64',
  nullable: true,
  values: { kind: 'int64', values: BigInt64Array.from(values), present: present && Uint8Array.from(present) },
});

let files = 0;
function both(columns: readonly FlatColumn[], rowCount: number): string[] {
  const base = join(folder, String(files++));
  const write = (path: string, to: (sink: (bytes: Uint8Array) => void) => void) => {
    const pieces: Uint8Array[] = [];
    to((bytes) => pieces.push(bytes.slice()));
    writeFileSync(path, Buffer.concat(pieces));
    return path;
  };
  return [
    write(`${base}.parquet`, (sink) => writeFlatParquet(columns, rowCount, 'none', sink)),
    write(`${base}.arrow`, (sink) => writeFlatArrow(columns, rowCount, 'file', sink)),
  ];
}

const rewards = doubles('reward', [1, 0]);

test('an index is checked where every row has a rollout_id too', async () => {
  const ids = integers('rollout_id', [1n, 2n]);
  for (const path of both([ids, doubles('index', [1, 0.5]), rewards], 2))
    await expect(readFiles([path])).rejects.toThrow(/row 2: index must be a whole number or a string, found 0.5/);
  for (const path of both([ids, doubles('index', [1, 2]), rewards], 2)) await readFiles([path]);
});

test('recorded integers count, and NaN is told from nothing', async () => {
  for (const path of both([integers('a', [3n, 0n], [1, 0]), rewards], 2)) {
    const { batch } = await readFiles([path], { map: ['recorded=a'] });
    expect(batch.side.recorded).toEqual(Float64Array.of(3, NaN));
  }
  for (const path of both([doubles('a', [NaN, 2]), rewards], 2)) {
    const { batch } = await readFiles([path], { map: ['recorded=a'] });
    expect(batch.side.recorded).toEqual(Float64Array.of(Infinity, 2));
  }
});

test('the place of a row in its record is 0', async () => {
  for (const path of both([rewards], 2)) {
    const read = await readFiles([path], { map: ['rollout_id=#entry'] });
    expect(rowsOfBatch(read).map(({ rollout }) => rollout)).toEqual(['0', '0']);
  }
});

test.each(['group_index', 'rollout_id', 'index', 'reward', 'loss_mask', 'response_length', 'status', 'recorded'])(
  'a column that is mapped to %s and is not there is refused',
  async (field) => {
    for (const path of both([rewards], 2))
      await expect(readFiles([path], { map: [`${field}=typo`] })).rejects.toThrow(
        `${path}: no row has typo (--map ${field}=typo); the fields are reward`,
      );
  },
);

describe('types that only nesting has', () => {
  const NESTING = join(folder, 'nesting.parquet');
  writeFileSync(NESTING, fixture('nesting.parquet'));
  const read = (...map: string[]) => readFiles([NESTING], { map: ['reward=metrics.accuracy', ...map] });

  test('a mask, an id and a reward of nulls alone are absent', async () => {
    const { batch } = await read('loss_mask=nothing', 'group_index=nothing');
    expect([batch.columns.fixedTokens, batch.columns.groupCodes]).toEqual([null, null]);
  });

  test('a list of one entry is its entry only where the column is written so', async () => {
    await expect(readFiles([NESTING], { map: ['reward=always'] })).rejects.toThrow(
      /column always is list<double>, expected a single value; of lists of one entry each, the entry is always\.0/,
    );
    const { batch } = await readFiles([NESTING], { map: ['reward=always.0'] });
    expect(batch.columns.rewards.some(Number.isFinite)).toBe(true);
    await expect(readFiles([NESTING], { map: ['reward=metrics.accuracy.0'] })).rejects.toThrow(
      /no row has metrics\.accuracy\.0/,
    );
  });

  test.each(['group_index', 'loss_mask'])('an object is refused as %s without a word of rewards', async (field) => {
    await expect(read(`${field}=metrics`)).rejects.toThrow(
      /metrics is an object, expected a value: --map can name one of its members \(metrics\.NAME\): "accuracy", "format"/,
    );
  });
});

describe('bytes that are not UTF-8', () => {
  const texts = (name: string, values: number[][]): FlatColumn => {
    const offsets = Uint32Array.from([0, ...values.map((_, i) => values.slice(0, i + 1).flat().length)]);
    const bytes = Uint8Array.from(values.flat());
    const codes = Uint32Array.from(values.keys());
    return { name, kind: 'text', nullable: true, values: { kind: 'text', codes, bytes, offsets, present: null } };
  };
  const columns = [texts('x', [[0x70, 0x5f], [0xff], [0xfe]]), texts('y', [[0x70], [0x70], [0x70]])];

  test.each(['group_index=x', 'group_index=x+y', 'group_index=y+x', 'rollout_id=x+y', 'group_index=x<_1', 'index=x|y'])(
    'are no id: %s',
    async (map) => {
      for (const path of both([...columns, doubles('reward', [1, 0, 1])], 3))
        await expect(readFiles([path], { map: [map] })).rejects.toThrow(
          /row 2: \w+ \(x\) has bytes that are not UTF-8/,
        );
    },
  );
});
