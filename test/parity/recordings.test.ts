/** Two recordings of one batch: what is the same, what may be called otherwise, what differs. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEEPEST_REORDERED, membersOf, sameValue } from '../../src/parity/members.ts';
import { CLI, runCli } from '../support/run-cli.ts';

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
    ['tokens', changed(0, { response_length: 6 }), { trainable_tokens: 1, response_length: 1 }],
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

describe('every other field is compared', () => {
  const other = changed(3, { text: 'other', tokens: [9] });

  test('in what comes through a pipe', async () => {
    const [a, b] = [file(ROWS), file(other)];
    const stdin = await runCli(['parity', '--rows', a, '-', '--json'], { input: readFileSync(b) });
    expect([stdin.status, JSON.parse(stdin.stdout.toString()).differing]).toEqual([1, { text: 1, tokens: 1 }]);
    const both = `"${process.execPath}" "${CLI}" parity --rows <(cat "${a}") <(cat "${b}") --json; :`;
    const piped = JSON.parse(execFileSync('bash', ['-c', both]).toString());
    expect(piped).toMatchObject({ other_fields: 'compared', differing: { text: 1, tokens: 1 } });
  });

  test('of standard input, which is named by its name and is not two recordings', async () => {
    const bad = await runCli(['parity', '--rows', file(ROWS), '-'], { input: '{"reward": 1, "index": true}\n' });
    expect([bad.status, bad.stderr]).toEqual([3, expect.stringMatching(/stdin: line 1: index/)]);
    const twice = await runCli(['parity', '--rows', '-', '-'], { input: '' });
    expect([twice.status, twice.stderr]).toEqual([2, expect.stringMatching(/standard input is one/)]);
  });

  test('of rows that belong together by their identities', async () => {
    const shuffled = [other[3], '', other[0], other[2], other[1]];
    const byIdentity = ['--match-by', 'identity'];
    expect((await compare(ROWS, shuffled, ...byIdentity)).found).toMatchObject({
      other_fields: 'compared',
      differing: { text: 1, tokens: 1 },
      examples: [
        { field: 'text', rowA: 4, rowB: 1, a: '"d"', b: '"other"' },
        { field: 'tokens', rowA: 4, rowB: 1, a: '[4]', b: '[9]' },
      ],
    });
    const compressed = join(folder, 'shuffled.jsonl.gz');
    writeFileSync(compressed, gzipSync(readFileSync(file(shuffled))));
    const { stdout } = await runCli(['parity', '--rows', file(ROWS), compressed, '--json', ...byIdentity]);
    expect(JSON.parse(stdout.toString()).differing).toEqual({ text: 1, tokens: 1 });
    const index = await compare(ROWS, changed(2, { index: 77 }), ...byIdentity);
    expect(index.found.differing).toEqual({ index: 1 });
    const masked = (mask: number[]) => ROWS.map((row) => ({ ...row, response_length: 3, loss_mask: mask }));
    const pattern = await compare(masked([1, 1, 0]), masked([1, 0, 1]), ...byIdentity);
    expect(pattern.found.differing).toEqual({ loss_mask: 4 });
  });

  test('but what was read as a column', async () => {
    const objects = (fmt: number) => ROWS.map((row) => ({ ...row, reward: { acc: 1, fmt } }));
    const keyed = await compare(objects(0), objects(1), '--reward-key', 'acc');
    expect(keyed.found.differing).toEqual({ reward: 4 });
    const scored = (reward: number, score: unknown) => ROWS.map((row) => ({ ...row, reward, score }));
    const mapped = ['--map', 'reward=score'];
    expect((await compare(scored(0, 1), scored(1, 1), ...mapped)).found.differing).toEqual({ reward: 4 });
    expect((await compare(scored(0, 1), scored(0, true), ...mapped)).status).toBe(0);
    const named = (group: number, rollout: number) =>
      ROWS.map((row) => ({ ...row, g: row.group_index, r: row.rollout_id, group_index: group, rollout_id: rollout }));
    const ids = ['--map', 'group_index=g', '--map', 'rollout_id=r'];
    expect((await compare(named(1, 1), named(2, 2), ...ids)).found.differing).toEqual({
      group_index: 4,
      rollout_id: 4,
    });
  });

  test('or it is said that they were not', async () => {
    const parquet = join(folder, 'rows.parquet');
    const written = await runCli(['normalize', file(ROWS), '-o', parquet, '--only', '--emit', 'tokens']);
    expect(written.status).toBe(0);
    const flags = ['--map', 'reward=raw_reward'];
    const text = await runCli(['parity', '--rows', parquet, parquet, ...flags]);
    expect([text.status, text.stdout.toString()]).toEqual([
      0,
      expect.stringMatching(/other fields were not compared: .*rows\.parquet is Parquet, not JSONL\nequal in what was/),
    ]);
    const json = await runCli(['parity', '--rows', parquet, parquet, '--json', ...flags]);
    expect(JSON.parse(json.stdout.toString())).toMatchObject({
      other_fields: 'not compared',
      other_fields_reason: expect.stringMatching(/is Parquet/),
    });
  });
});

describe('what is not the same', () => {
  const line = (rest: string) => [`{"rollout_id": 1, ${rest}}`];

  test('is tokens that only one recording knows', async () => {
    const unknown = ROWS.map(({ response_length: _, ...row }) => row);
    const { status, found } = await compare(ROWS, unknown, '--ignore', 'response_length');
    expect([status, found.differing]).toEqual([1, { trainable_tokens: 4 }]);
    expect(found.examples[0]).toMatchObject({ a: '5', b: 'unknown (known in the first only)' });
    expect((await compare(ROWS, unknown, '--ignore', 'response_length,trainable_tokens')).status).toBe(0);
  });

  test.each([
    ['two words that are no status', '"reward": 1, "status": "weird"', '"reward": 1, "status": "other"', 'status'],
    ['rewards that are missing in two ways', '"reward": null, "x": 1', '"reward": Infinity, "x": 1', 'reward'],
  ])('is %s', async (_, one, other, field) => {
    expect((await compare(line(one), line(other))).found.differing).toEqual({ [field]: 1 });
  });

  test('is one byte and another where neither is UTF-8', async () => {
    const bytes = (byte: number) => {
      const path = join(folder, `byte-${byte}.jsonl`);
      writeFileSync(
        path,
        Buffer.concat([Buffer.from(`${line('"reward": 1, "text": "')}`.slice(0, -1)), Buffer.from([byte, 0x22, 0x7d])]),
      );
      return path;
    };
    const { status, stdout } = await runCli(['parity', '--rows', bytes(0xff), bytes(0xfe)]);
    expect([status, stdout.toString()]).toEqual([1, expect.stringContaining('"\\xff" against "\\xfe"')]);
  });

  test('is found in long strings and in deep values', async () => {
    const long = (last: string) => line(`"reward": 1, "text": "${'a'.repeat(8 << 20)}${last}"`);
    const found = (await compare(long('x'), long('y'))).found;
    expect(found.differing).toEqual({ text: 1 });
    expect(found.examples[0].a).toMatch(/^from byte \d+: aaaa.*x"$/);
    const deep = (inner: string) => line(`"reward": 1, "z": ${'['.repeat(200_000)}${inner}${']'.repeat(200_000)}`);
    expect((await compare(deep('1'), deep('2'))).found.differing).toEqual({ z: 1 });
    expect((await compare(deep('1'), deep('1.0'))).status).toBe(0);
  });

  test('is printed in a way that a terminal does not obey, and counted in words', async () => {
    const odd = (value: string) => line(`"reward": 1, "a\\u001b[31m\\nequal\u009b": "\u009b31m${value}"`);
    const { stdout } = await runCli(['parity', '--rows', file(odd('x')), file(odd('y'))]);
    expect(stdout.toString()).toBe(
      '1 and 1 rows, 1 compared\n' +
        'a\\u001b[31m\\nequal\\u009b: 1 row differs\n' +
        '  row 1 and row 1: "\\u009b31mx" against "\\u009b31my"\n' +
        'NOT EQUAL\n',
    );
  });
});

describe('values', () => {
  const same = (one: string, other: string) => sameValue(Buffer.from(one), Buffer.from(other));

  test.each([
    ['[1.0, 1e2, -0.0]', '[1,100,-0]'],
    ['9007199254740993', '9007199254740993'],
    ['1e22', '10000000000000000000000'],
    ['{"x": 1, "y": {"a": [1, {"c": 2, "d": 3}], "b": 2}}', '{"y":{"b":2,"a":[1.0,{"d":3,"c":2}]},"x":1}'],
    ['{"a": 1, "a": 2, "b": 3}', '{"b": 3, "a": 2}'],
    ['[{"a": 1, "b": 2}, {"c": 1}]', '[{"b": 2, "a": 1}, {"c": 1.0}]'],
    ['"h\u00e9\u{1f600}\\n/"', '"h\\u00e9\\ud83d\\uDE00\\u000a\\/"'],
    ['{"\u00e9": 1, "b": 2}', '{"b": 2, "\\u00e9": 1}'],
    [
      '{"o": {"p": [{"a": 1, "b": 2}], "q": {"c": 3, "d": 4}}, "r": 5}',
      '{"o": {"p": [{"b": 2, "a": 1}], "q": {"d": 4, "c": 3}}, "r": 5.0}',
    ],
    ['{"o": {"a": 1, "b": 2}, "r": 5, "s": 6}', '{"o": {"b": 2, "a": 1}, "s": 6, "r": 5}'],
    ['{}', '{ }'],
  ])('%s is %s', (one, other) => {
    expect([same(one, other), same(other, one)]).toEqual([true, true]);
  });

  test.each([
    ['9007199254740993', '9007199254740992'],
    ['10000000000000000000000', '10000000000000000000001'],
    ['1e400', '1e500'],
    ['"1"', '1'],
    ['-0', '0'],
    ['NaN', 'null'],
    ['"#1"', '1'],
    ['[1, 2]', '[2, 1]'],
    ['[1, [2]]', '[1, 2]'],
    ['{"a": 1, "b": 2}', '{"b": 1, "a": 2}'],
    ['{"a": 1, "b": 2}', '{"a": 1}'],
    ['{"a": 1}', '{"a": 1, "b": 2}'],
    ['{"__proto__": 1}', '{}'],
    ['{"o": {"a": 1, "b": 2}, "r": 5}', '{"o": {"b": 2, "a": 1}, "r": 6}'],
    ['{"o": {"a": 1, "b": [{"c": 2}]}, "r": 5}', '{"o": {"b": [{"c": 3}], "a": 1}, "r": 5}'],
    ['[{"a": 1, "b": 2}, {"c": 1}]', '[{"b": 2, "a": 1}, {"c": 2}]'],
    ['"\\ud800"', '"\\ud801"'],
    ['"\\x"', '"x"'],
    ['"a\\\\"', '"a\\u005c\\u005c"'],
  ])('%s is not %s', (one, other) => {
    expect([same(one, other), same(other, one)]).toEqual([false, false]);
  });

  test('of objects in objects are compared at any depth, in another order down to a limit', () => {
    const nested = (depth: number, open: string, close: string) => `${open.repeat(depth)}1${close.repeat(depth)}`;
    const one = (depth: number) => nested(depth, '{"b": 2, "a": ', '}');
    const other = (depth: number) => nested(depth, '{"a": ', ', "b": 2}');
    expect(same(one(1000), other(1000))).toBe(true);
    expect(same(one(100_000), `${one(100_000)} `)).toBe(true);
    expect(same(one(100_000), one(100_000).replace('1}', '3}'))).toBe(false);
    expect(() => same(one(DEEPEST_REORDERED + 1), other(DEEPEST_REORDERED + 1))).toThrow(/nested deeper than 2000/);
  });

  test('have names that are compared unescaped, of equal ones the last', () => {
    const members = membersOf(Buffer.from(' {"a": [1], "\\u0061" : {"b": "}"}, "\\"": 2}\r'));
    expect([...members].map(([name, value]) => [name, value.toString()])).toEqual([
      ['a', '{"b": "}"}'],
      ['"', '2'],
    ]);
  });
});
