/** What a batch has stays; what it lacks comes from the joined file, field by field. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { statusOf } from '../../src/samples/columns.ts';
import { samplesFile } from '../io/torch/pickled.ts';
import { readFiles, rowsOfBatch } from '../support/read-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollnorm-join-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function file(rows: readonly object[]): string {
  const path = join(folder, `${files++}.jsonl`);
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return path;
}

const joined = (rows: readonly object[], others: readonly object[] | string) =>
  readFiles([file(rows)], {}, { path: typeof others === 'string' ? others : file(others), on: 'uid' });
const rollouts = async (rows: readonly object[], others: readonly object[]) =>
  rowsOfBatch(await joined(rows, others)).map(({ rollout }) => rollout);

describe('the rollout', () => {
  const rewards = { reward: 1 };
  test('own rollout_id before an index, and before a rollout_id, of the other file', async () => {
    const rows = [
      { uid: 1, rollout_id: 'a' },
      { uid: 2, rollout_id: 'a' },
    ];
    expect(
      await rollouts(rows, [
        { uid: 1, index: 0, ...rewards },
        { uid: 2, index: 1, ...rewards },
      ]),
    ).toEqual(['"a"', '"a"']);
    expect(
      await rollouts(rows, [
        { uid: 2, rollout_id: 'y', ...rewards },
        { uid: 1, rollout_id: 'x', ...rewards },
      ]),
    ).toEqual(['"a"', '"a"']);
  });

  test('own index before an index of the other file, and after its rollout_id', async () => {
    const rows = [
      { uid: 1, index: 4 },
      { uid: 2, index: 5 },
    ];
    expect(
      await rollouts(rows, [
        { uid: 1, index: 7, ...rewards },
        { uid: 2, index: 8, ...rewards },
      ]),
    ).toEqual(['index 4', 'index 5']);
    expect(
      await rollouts(rows, [
        { uid: 1, rollout_id: -7, ...rewards },
        { uid: 2, rollout_id: null, ...rewards },
      ]),
    ).toEqual(['-7', 'index 5']);
  });

  test('rows without an own rollout_id take an index that only the other file has', async () => {
    const rows = [{ uid: 1, rollout_id: 3 }, { uid: 2 }];
    expect(
      await rollouts(rows, [
        { uid: 1, index: 3, ...rewards },
        { uid: 2, index: 8, ...rewards },
      ]),
    ).toEqual(['3', 'index 8']);
  });

  test('of the other file where the rows have neither', async () => {
    expect(await rollouts([{ uid: 1 }], [{ uid: 1, rollout_id: 'x', ...rewards }])).toEqual(['"x"']);
    expect(await rollouts([{ uid: 1 }], [{ uid: 1, index: 3, ...rewards }])).toEqual(['index 3']);
  });
});

describe('the reward', () => {
  test('is the own one, and then the other file needs none and none is read there', async () => {
    const rows = [{ uid: 1, reward: 5 }];
    const others = [{ uid: 1, group_index: 3, reward: { accuracy: 1 } }];
    expect(rowsOfBatch(await joined(rows, others))).toMatchObject([{ group: '3', reward: 5 }]);
    expect(rowsOfBatch(await joined(rows, [{ uid: 1, group_index: 3 }]))).toMatchObject([{ group: '3', reward: 5 }]);
  });

  test('is that of the other file where every own one is null', async () => {
    expect(rowsOfBatch(await joined([{ uid: 1, reward: null }], [{ uid: 1, reward: 2 }]))).toMatchObject([
      { reward: 2 },
    ]);
  });

  test('that is in neither file is missed in the joined one', async () => {
    await expect(joined([{ uid: 1 }], [{ uid: 1, x: 1 }])).rejects.toThrow(
      /no row has a reward; the fields are uid, x/,
    );
  });
});

test('tokens of the rows stay; a status of either file counts, the own one first', async () => {
  const rows = [
    { uid: 1, response_length: 3, status: 'truncated' },
    { uid: 2, response_length: 4, remove_sample: true },
  ];
  const others = [
    { uid: 1, response_length: 30, status: 'aborted', reward: 1 },
    { uid: 2, response_length: 40, status: 'aborted', reward: 1 },
  ];
  const read = await joined(rows, others);
  expect(rowsOfBatch(read).map(({ tokens }) => tokens)).toEqual([3, 0]);
  expect([0, 1].map((row) => statusOf(read.batch.columns.flags, row))).toEqual(['truncated', 'aborted']);
});

describe('groups that a torch file states by their sizes', () => {
  const samples = [0, 1, 2].map((uid) => ({ uid, reward: uid }));
  const stated = (sizes: number[]) => {
    const path = join(folder, `${files++}.pt`);
    writeFileSync(path, samplesFile(samples, { prompt_group_sizes: sizes }));
    return path;
  };

  test('are those of the rows that ask for its samples', async () => {
    const read = await joined([{ uid: 2 }, { uid: 0 }, { uid: 1 }], stated([2, 0, 1]));
    expect(rowsOfBatch(read).map(({ group }) => group)).toEqual(['2', '0', '0']);
  });

  test('go after own groups', async () => {
    const read = await joined([{ uid: 2, group_index: 9 }], stated([2, 1]));
    expect(rowsOfBatch(read).map(({ group }) => group)).toEqual(['9']);
  });

  test('must sum to its samples', async () => {
    await expect(joined([{ uid: 0 }], stated([2, 2]))).rejects.toThrow(/sum to 4 but the file has 3 rows/);
  });

  test('are those of one batch, which --batch-by must not split', async () => {
    const path = stated([2, 1]);
    await expect(readFiles([path], { batchBy: 'uid' })).rejects.toThrow(
      `${path}: metadata.prompt_group_sizes states the groups of one batch, and --batch-by makes several of the rows`,
    );
  });
});

describe('groups of a fixed size are numbered from 0', () => {
  const rows = (first: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ group_index: first + i, reward: i % 2 }));
  test.each([0, 5_000_000_000, -5_000_000_000])('whatever ids the file has: from %i', async (first) => {
    const read = await readFiles([file(rows(first, 6000)), file(rows(first + 9e9, 6000))], { groupSize: 2 });
    const groups = rowsOfBatch(read).map(({ group }) => group);
    expect(groups).toEqual(Array.from({ length: 12_000 }, (_, row) => String(row >> 1)));
  });
});
