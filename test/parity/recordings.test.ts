/** Two recordings of one batch: what is the same, what may be called otherwise, what differs. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { membersOf } from '../../src/parity/members.ts';
import { runCli } from '../support/run-cli.ts';

interface Row {
  readonly [field: string]: unknown;
}

const ROWS: readonly Row[] = [
  { group_index: 1, rollout_id: 10, index: 0, reward: 1, response_length: 5, text: 'a', tokens: [1, 2] },
  { group_index: 1, rollout_id: 10, index: 1, reward: 1, response_length: 7, text: 'b', tokens: [3] },
  { group_index: 1, rollout_id: 11, index: 2, reward: 0.5, response_length: 2, text: 'c', tokens: [] },
  { group_index: 2, rollout_id: 12, index: 3, reward: -0, response_length: 9, text: 'd', tokens: [4] },
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollnorm-recordings-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const textOf = (row: Row) => JSON.stringify(row).replace('"reward":0,', '"reward":-0,');

let files = 0;
function file(rows: readonly (Row | string)[]): string {
  const path = join(folder, `${files++}.jsonl`);
  writeFileSync(path, rows.map((row) => `${typeof row === 'string' ? row : textOf(row)}\n`).join(''));
  return path;
}

async function compare(a: readonly (Row | string)[], b: readonly (Row | string)[], ...flags: string[]) {
  const run = await runCli(['parity', '--rows', file(a), file(b), '--json', ...flags]);
  return {
    status: run.status,
    stderr: run.stderr,
    found: run.stdout.length > 0 ? JSON.parse(run.stdout.toString()) : null,
  };
}

const changed = (at: number, change: Row) => ROWS.map((row, i) => (i === at ? { ...row, ...change } : row));

describe('two recordings', () => {
  test('of the same rows are equal, however they are written', async () => {
    const other = ROWS.map((row) => textOf(Object.fromEntries(Object.entries(row).reverse())).replace('0.5', '5e-1'));
    expect(await compare(ROWS, other)).toMatchObject({
      status: 0,
      found: { rows: [4, 4], compared: 4, differing: {} },
    });
  });

  test('may call rollouts otherwise, if that is said', async () => {
    const renamed = ROWS.map((row) => ({ ...row, rollout_id: `r${row.rollout_id}`, index: null }));
    expect((await compare(ROWS, renamed, '--ignore', 'index,rollout_id')).status).toBe(0);
    const { status, found } = await compare(ROWS, renamed);
    expect([status, found.differing]).toEqual([1, { rollout_id: 4, index: 4 }]);
  });

  test('differ where what is one rollout or one group is two', async () => {
    const split = await compare(ROWS, changed(1, { rollout_id: 99 }), '--ignore', 'rollout_id');
    expect([split.status, split.found.differing]).toEqual([1, { 'rollout structure': 1 }]);
    expect(split.found.examples[0]).toMatchObject({ rowA: 2, rowB: 2 });
    const merged = await compare(ROWS, changed(3, { group_index: 1 }), '--ignore', 'group_index');
    expect(merged.found.differing).toEqual({ 'group structure': 1 });
  });

  test.each([
    ['a reward in its last bit', changed(2, { reward: 0.5 + Number.EPSILON / 2 }), { reward: 1 }],
    ['a zero of another sign', changed(3, { reward: 0.0001 }), { reward: 1 }],
    ['tokens', changed(0, { response_length: 6 }), { 'trainable tokens': 1, response_length: 1 }],
    ['a status', changed(0, { status: 'aborted' }), { status: 1 }],
    ['a field that is no column', changed(1, { text: 'B', tokens: [3, 3] }), { text: 1, tokens: 1 }],
    ['a field that only one has', changed(1, { extra: null }), { extra: 1 }],
    ['a row less', ROWS.slice(0, 3), { row: 1 }],
  ])('differ by %s', async (_, other, differing) => {
    expect(await compare(ROWS, other)).toMatchObject({ status: 1, found: { differing } });
  });

  test('in another order are equal by their identities', async () => {
    const shuffled = [ROWS[3], ROWS[0], ROWS[2], ROWS[1]];
    expect((await compare(ROWS, shuffled)).status).toBe(1);
    expect(await compare(ROWS, shuffled, '--match-by', 'identity')).toMatchObject({
      status: 0,
      found: { compared: 4 },
    });
    const missing = await compare(ROWS, shuffled.slice(1), '--match-by', 'identity');
    expect(missing).toMatchObject({ status: 1, found: { differing: { row: 1 }, compared: 3 } });
  });
});

test('rows without identity are refused in words that a miles user knows', async () => {
  const nameless = changed(2, { rollout_id: null, index: null });
  const { status, stderr } = await compare(ROWS, nameless);
  expect([status, stderr]).toEqual([3, expect.stringMatching(/line 3: .*require Sample\.rollout_id or Sample\.index/)]);
});

test.each([
  ['one recording', ['--rows', 'a.jsonl'], /compares two recordings, got 1/],
  ['--ignore without --rows', ['--ignore', 'index'], /--ignore is for --rows/],
])('%s is a usage error', async (_, args, message) => {
  const { status, stderr } = await runCli(['parity', ...args]);
  expect([status, stderr]).toEqual([2, expect.stringMatching(message)]);
});

describe('members of a record', () => {
  test('are equal where their values are', () => {
    const one = membersOf('{"a": 1.0, "b": [1e2, -0.0], "c": {"x": 1, "y": "1"}, "d": 9007199254740993}');
    const other = membersOf('{"d":9007199254740993,"c":{"y":"1","x":1},"b":[100,-0],"a":1}');
    expect([...one].sort()).toEqual([...other].sort());
  });

  test.each([
    ['{"a": 9007199254740993}', '{"a": 9007199254740992}'],
    ['{"a": "1"}', '{"a": 1}'],
    ['{"a": -0}', '{"a": 0}'],
    ['{"a": NaN}', '{"a": null}'],
    ['{"a": "#1"}', '{"a": 1}'],
    ['{"a": [1, 2]}', '{"a": [2, 1]}'],
  ])('%s is not %s', (one, other) => {
    expect(membersOf(one).get('a')).not.toBe(membersOf(other).get('a'));
  });
});
