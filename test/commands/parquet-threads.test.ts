import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openParquet } from '../../src/io/parquet/metadata.ts';
import { readVectors } from '../../src/io/parquet/read-vectors.ts';
import type { FlatColumn } from '../../src/io/parquet/write-flat.ts';
import { openRandomAccess } from '../../src/io/random-access.ts';
import { prepareAllCodecs } from '../io/parquet/support.ts';
import { writeFlatParquet } from '../support/parquet-writers.ts';
import { runCli } from '../support/run-cli.ts';

const ROWS = 1_020_000;
const GROUP = 8;

let folder: string;
let input: string;

beforeAll(async () => {
  await prepareAllCodecs();
  folder = mkdtempSync(join(tmpdir(), 'rollnorm-'));
  input = join(folder, 'rows.parquet');
  const pieces: Uint8Array[] = [];
  writeFlatParquet(columns(), ROWS, 'snappy', (bytes) => pieces.push(bytes));
  writeFileSync(input, Buffer.concat(pieces));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Two rows a rollout; the rollouts of the second row group's later rows are known by their index alone. */
function columns(): FlatColumn[] {
  const bigint = (of: (row: number) => number) =>
    BigInt64Array.from({ length: ROWS }, (_, row) => BigInt(of(row)) + 2n ** 40n);
  const present = Uint8Array.from({ length: ROWS }, (_, row) => (row < 1_010_000 ? 1 : 0));
  const rewards = Float64Array.from({ length: ROWS }, (_, row) => (row >> 1) & 1);
  const lengths = Int32Array.from({ length: ROWS }, (_, row) => row % 50);
  return [
    int64(
      'group_index',
      bigint((row) => Math.floor(row / GROUP)),
      null,
    ),
    int64(
      'rollout_id',
      bigint((row) => row >> 1),
      present,
    ),
    int64(
      'index',
      bigint((row) => row),
      null,
    ),
    { name: 'reward', kind: 'double', nullable: true, values: { kind: 'double', values: rewards, present: null } },
    {
      name: 'response_length',
      kind: 'int32',
      nullable: false,
      values: { kind: 'int32', values: lengths, present: null },
    },
  ];
}

function int64(name: string, values: BigInt64Array, present: Uint8Array | null): FlatColumn {
  return { name, kind: 'int64', nullable: true, values: { kind: 'int64', values, present } };
}

async function normalized(args: readonly string[], threads: number): Promise<Buffer> {
  const path = join(folder, `${threads}.parquet`);
  const run = await runCli(['normalize', input, '-o', path, '--backend', 'cpu', '--threads', `${threads}`, ...args]);
  expect(run.stderr).toContain(`${ROWS} rows`);
  expect(run.status).toBe(0);
  return readFileSync(path);
}

describe.each([
  ['whole rows', []],
  ['a sidecar', ['--only']],
] as const)('%s', (_, args) => {
  test('are the same bytes on one thread and on several', async () => {
    const one = await normalized(args, 1);
    for (const threads of [2, 3]) expect((await normalized(args, threads)).equals(one)).toBe(true);
    const file = openRandomAccess(join(folder, '3.parquet'));
    const parquet = openParquet(file);
    expect(parquet.rowGroups.map(({ rowCount }) => rowCount)).toEqual([1_000_000, 20_000]);
    const [index, advantage] = readVectors(file, parquet, 1, [
      { path: ['index'], as: 'value' },
      { path: ['advantage'], as: 'value' },
    ]);
    file.close();
    if (index.kind !== 'integers' || advantage.kind !== 'numbers') throw new Error('columns of another kind');
    expect(index.values[19_999]).toBe(2n ** 40n + 1_019_999n);
    // Rewards 0, 1, 0, 1 of four rollouts, or each twice of eight.
    expect(Array.from(advantage.values.subarray(0, 4), (value) => value.toFixed(4))).toEqual([
      ...['-0.8660', '-0.8660', '0.8660', '0.8660'],
    ]);
    expect(advantage.values[19_999].toFixed(4)).toBe('0.9354');
  });
});
