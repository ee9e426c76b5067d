/** Samples mean what the same rows mean as JSON, or are refused by name. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readFiles, rowsOfBatch } from '../../support/read-file.ts';
import { type Plain, samplesFile } from './pickled.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollnorm-torch-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Row = { readonly [name: string]: Plain };
let files = 0;
function both(rows: readonly Row[]): [torch: string, json: string] {
  const base = join(folder, String(files++));
  writeFileSync(`${base}.pt`, samplesFile(rows));
  writeFileSync(`${base}.jsonl`, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return [`${base}.pt`, `${base}.jsonl`];
}

const request = (map: readonly string[], key?: string) => ({ map, ...(key && { rewardKeys: [key] }) });

describe('the same rows are the same', () => {
  const cases: [what: string, rows: Row[], map: string[], key?: string][] = [
    ['#entry', [{ reward: 1 }, { reward: 0.5 }], ['rollout_id=#entry']],
    ['#record', [{ reward: 1 }, { reward: 0.5 }], ['rollout_id=#record']],
    ['a prompt taken off', [{ reward: 1, all: 5, prompt: 5 }], ['response_length=all', 'prompt_length=prompt']],
    ['a key that some lack', [{ reward: { a: 1 } }, { reward: { b: 2 } }, { reward: null }], [], 'a'],
  ];
  test.each(cases)('%s', async (_, rows, map, key) => {
    const [torch, json] = both(rows);
    const found = rowsOfBatch(await readFiles([torch], request(map, key)));
    expect(found).toEqual(rowsOfBatch(await readFiles([json], request(map, key))));
  });

  test('what is recorded and no number is not compared', async () => {
    const rows = [{ a: 1 }, { a: 0.5 }, { a: 'x' }, { a: null }, { a: true }].map((row) => ({ reward: 1, ...row }));
    for (const path of both(rows)) {
      const { batch } = await readFiles([path], request(['recorded=a']));
      expect(batch.side.recorded).toEqual(Float64Array.of(1, 0.5, NaN, NaN, NaN));
    }
  });
});

describe('the same rows are refused', () => {
  const cases: [what: string, rows: Row[], map: string[], message: RegExp, key?: string][] = [
    [
      'a prompt longer than the whole',
      [{ reward: 1, all: 3, prompt: 5 }],
      ['response_length=all', 'prompt_length=prompt'],
      /1: prompt is 5, more than the 3 of all/,
    ],
    [
      'a cut of a number',
      [{ reward: 1, u: 5 }],
      ['group_index=u<_1'],
      /1: group_index \(u\) must be a string, found 5/,
    ],
    ['no reward', [{ score: 1 }], [], /no row has a reward; the fields are score/],
    ['a key that none has', [{ reward: { a: 1 } }], [], /no row's reward has the key "z"; keys there are: "a"/, 'z'],
    ['a number where a key is', [{ reward: 5 }], [], /reward must be an object with the key "z", found 5/, 'z'],
    ['a mapped column that none has', [{ reward: 1 }], ['status=state'], /no row has state \(--map status=state\)/],
  ];
  test.each(cases)('%s', async (_, rows, map, message, key) => {
    for (const path of both(rows)) await expect(readFiles([path], request(map, key))).rejects.toThrow(message);
  });
});

test('masks of labels are refused by name', async () => {
  const [torch] = both([{ reward: 1, labels: [0, -100] }]);
  await expect(readFiles([torch], request(['label_mask=labels']))).rejects.toThrow(
    /row 1: labels: masks of labels are only read from JSON/,
  );
});
