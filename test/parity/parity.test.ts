/** What a parity run compares, that it can fail, and what it leaves behind. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine, InputError } from '../../src/index.ts';
import { FIXED_CASES } from '../../src/parity/generate.ts';
import { junitOf } from '../../src/parity/junit.ts';
import { PLANTED } from '../../src/parity/planted.ts';
import { describeParity } from '../../src/parity/render.ts';
import { batchOfRows, readReproducer, writeReproducer } from '../../src/parity/reproducer.ts';
import { generatedItems, noticeFault, runParity } from '../../src/parity/run.ts';
import { differencesOf } from '../../src/parity/stages.ts';
import { prepareBatch } from '../../src/prepare.ts';
import { columnsOfBatch } from '../../src/samples/batch.ts';
import { runCli } from '../support/run-cli.ts';
import { MUTATIONS } from './mutations.ts';

/** All of them take minutes on the slower drivers: ROLLNORM_MUTATIONS=all, which is `npm run mutations`. */
const FEW = ['sum-deviations.wgsl', 'group-mean.wgsl'];
const mutations = MUTATIONS.filter(({ file }) => process.env.ROLLNORM_MUTATIONS === 'all' || FEW.includes(file));

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollnorm-parity-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('there are twenty mutations or more, of different kernels', () => {
  expect(MUTATIONS.length).toBeGreaterThanOrEqual(20);
  expect(new Set(MUTATIONS.map(({ file }) => file)).size).toBeGreaterThan(15);
});

test.each(mutations)('$file: a run notices that $what', async (mutation) => {
  expect(await noticeFault(mutation, undefined)).not.toBeNull();
});

describe('the generated batches', () => {
  test('are as many as is said, have names of their own, and are the same for the same seed', () => {
    const [one, two, other] = [1, 1, 2].map((seed) => [...generatedItems(seed, false)]);
    expect(one).toHaveLength(FIXED_CASES);
    expect(new Set(one.map(({ name }) => name)).size).toBe(FIXED_CASES);
    const rewards = (items: typeof one) => items.map((item) => [...item.prepare().columns.rewards]);
    expect(rewards(one)).toEqual(rewards(two));
    expect(rewards(one)).not.toEqual(rewards(other));
  });

  test('go on for as long as is wanted', () => {
    let count = 0;
    for (const item of generatedItems(3, true)) {
      if (count++ < FIXED_CASES) continue;
      expect(item.prepare().columns.rowCount).toBeGreaterThan(0);
      if (count > FIXED_CASES + 40) break;
    }
  });
});

describe('a difference', () => {
  const engine = createEngine({ backend: 'cpu' });
  const batch = { reward: [1, 2, 3, 5, 5], groupIndex: [0, 0, 0, 1, 1], rolloutId: [0, 0, 1, 2, 3] };
  const prepared = prepareBatch(columnsOfBatch(batch), {});
  const result = () => engine.normalizePlanned(prepared, {}, true);

  test('is found in the first stage that has one, with its place, bits and distance', async () => {
    const [expected, found] = [await result(), await result()];
    expect(differencesOf(prepared.plan, expected, found)).toEqual([]);
    found.details!.groups[0].means[1] += Number.EPSILON * 4;
    found.advantages[2] = -found.advantages[2];
    const differences = differencesOf(prepared.plan, expected, found);
    expect(differences.map(({ stage }) => stage)).toEqual(['moments', 'advantages']);
    expect(differences[0]).toMatchObject({
      ...{ what: 'means', group: 2, row: 4, rollout: null, count: 1, ulps: '1' },
      ...{ expected: '5', expectedHex: '0x4014000000000000', foundHex: '0x4014000000000001' },
    });
    expect(differences[1]).toMatchObject({ what: 'advantage (binary32)', row: 3, rollout: 2, group: 1, count: 1 });
  });

  test('is reproduced from its group alone, which a file holds to the bit', async () => {
    const rows = Uint32Array.of(0, 1, 2);
    const rewards = [0.1, 5e-324, -0, Number.MAX_VALUE, 1];
    const columns = columnsOfBatch({ ...batch, reward: rewards, status: ['aborted', null, null, null, null] });
    const small = batchOfRows(columns, rows);
    const text = writeReproducer({ name: 'x', adapter: null, options: { ddof: 0 }, cut: true, batch: small }, '1');
    const read = readReproducer('x.json', text);
    expect(read.options).toEqual({ ddof: 0 });
    expect(read.cut).toBe(true);
    expect([...(read.batch.reward as Float64Array)].map((value) => [value, 1 / value])).toEqual(
      rewards.slice(0, 3).map((value) => [value, 1 / value]),
    );
    const again = columnsOfBatch(read.batch);
    expect([...again.flags!]).toEqual([...columnsOfBatch(small).flags!]);
  });

  test.each([
    ['no JSON', '{', /is no reproducer/],
    ['another format', '{"rollnorm_parity_reproducer": 9}', /format 1, found 9/],
    ['no batch', '{"rollnorm_parity_reproducer": 1, "name": "n", "cut": false}', /has no batch/],
    [
      'a mask that is no mask',
      '{"rollnorm_parity_reproducer": 1, "name": "n", "cut": false, "batch": {"lossMask": 5}}',
      /lossMask must have words/,
    ],
    [
      'rewards that are none',
      '{"rollnorm_parity_reproducer": 1, "name": "n", "cut": false, "batch": {"rewards": null}}',
      /rewards must be an object/,
    ],
    [
      'options that are none',
      '{"rollnorm_parity_reproducer": 1, "name": "n", "cut": false, "options": "grpo", "batch": {}}',
      /options must be an object/,
    ],
    [
      'an unknown option',
      '{"rollnorm_parity_reproducer": 1, "name": "n", "cut": false, "options": {"x": 1}, "batch": {}}',
      /unknown option "x"/,
    ],
    [
      'a name that is none',
      '{"rollnorm_parity_reproducer": 1, "name": {"toString": 1}, "batch": {}}',
      /name must be text/,
    ],
    [
      'cut that is no switch',
      '{"rollnorm_parity_reproducer": 1, "name": "n", "cut": "yes", "batch": {}}',
      /cut must be/,
    ],
    [
      'rewards that are no bits',
      '{"rollnorm_parity_reproducer": 1, "name": "n", "cut": false, "batch": {"reward": [1]}}',
      /16 hex digits/,
    ],
  ])('a reproducer with %s is refused', (_, text, message) => {
    expect(() => readReproducer('x.json', text)).toThrow(InputError);
    expect(() => readReproducer('x.json', text)).toThrow(message);
  });
});

test('a device that fails proves no planted fault', async () => {
  const deadline = Number.POSITIVE_INFINITY;
  const result = await runParity([], { adapter: undefined, timeoutMs: 0.001, deadline });
  expect(result.passed).toBe(false);
  expect(result.planted.map(({ noticedIn }) => noticedIn)).toEqual(PLANTED.map(() => null));
  const run = { version: '0', seed: 1, seconds: 0, adapters: [result], passed: false };
  expect(describeParity(run, [])).toMatch(/NOT PROVED: .*did not answer/);
  expect(junitOf(run)).toContain('nothing is proved');
});

describe('the command', () => {
  const rows = join(tmpdir(), `rollnorm-parity-${process.pid}.jsonl`);
  beforeAll(() => writeFileSync(rows, '{"reward": 1, "group_index": 1}\n{"reward": 0, "group_index": 1}\n'));
  afterAll(() => rmSync(rows));

  test('compares the rows of a file, and writes JSON', async () => {
    const { status, stdout } = await runCli(['parity', rows, '--json']);
    expect(status).toBe(0);
    const report = JSON.parse(stdout.toString());
    expect(report).toMatchObject({ passed: true, seed: null, reproducers: [] });
    expect(report.adapters[0]).toMatchObject({ rows: 2, complete: true, passed: true });
    expect(report.adapters[0].planted.map((planted: { noticedIn: string }) => planted.noticedIn)).toEqual(
      report.adapters[0].planted.map((planted: { stage: string }) => planted.stage),
    );
  });

  test('an adapter that is not there: exit 4; bad rows: 3; a budget that is no time: 2', async () => {
    expect((await runCli(['parity', '--adapter', 'no such adapter'])).status).toBe(4);
    const bad = join(folder, 'bad.jsonl');
    writeFileSync(bad, '{"reward": "x"}\n');
    const refused = await runCli(['parity', bad]);
    expect([refused.status, refused.stderr]).toEqual([3, expect.stringMatching(/bad\.jsonl: line 1: /)]);
    expect((await runCli(['parity', '--budget', '0'])).status).toBe(2);
    expect((await runCli(['parity', rows, '--seed', '2'])).status).toBe(2);
    const edited = join(folder, 'edited.json');
    writeFileSync(
      edited,
      '{"rollnorm_parity_reproducer": 1, "name": "n", "cut": false, "batch": {"reward": [], "groupIndex": [1]}}',
    );
    const mismatched = await runCli(['parity', edited]);
    expect([mismatched.status, mismatched.stderr]).toEqual([
      3,
      expect.stringMatching(/edited\.json: groupIndex has 1/),
    ]);
    expect((await runCli(['parity', edited, '--ddof', '0'])).status).toBe(2);
  });

  test('a batch that nobody computes is bad input, as is a file without rows', async () => {
    const over = join(folder, 'over.jsonl');
    writeFileSync(over, '{"rollout_id": 1, "reward": 1.7e308}\n{"rollout_id": 2, "reward": -1.7e308}\n');
    const refused = await runCli(['parity', over]);
    expect([refused.status, refused.stderr]).toEqual([3, expect.stringMatching(/over\.jsonl: .*overflows/)]);
    const empty = join(folder, 'empty.jsonl');
    writeFileSync(empty, '');
    const none = await runCli(['parity', empty]);
    expect([none.status, none.stderr]).toEqual([
      3,
      expect.stringMatching(/empty\.jsonl: there are no rows to compare/),
    ]);
  });

  test('an output that is an input, or standard output, is a usage error', async () => {
    const before = readFileSync(rows, 'utf8');
    for (const [flag, path] of [
      ['--junit', rows],
      ['--reproducer', rows],
      ['--junit', '-'],
    ] as const)
      expect((await runCli(['parity', rows, flag, path])).status).toBe(2);
    const both = join(folder, 'both');
    expect((await runCli(['parity', rows, '--junit', both, '--reproducer', both])).status).toBe(2);
    expect(readFileSync(rows, 'utf8')).toBe(before);
  });

  test('what cannot be written does not hide what was found', async () => {
    const { status, stdout, stderr } = await runCli(['parity', rows, '--junit', join(folder, 'nowhere', 'x.xml')]);
    expect([status, stdout.toString()]).toEqual([74, expect.stringMatching(/^CPU against[\s\S]*\nequal /)]);
    expect(stderr).toContain('cannot');
  });

  test('a flag that nobody reads is refused', async () => {
    for (const flags of [
      ['--rows', '--junit', 'x.xml'],
      ['--rows', '--seed', '3'],
      ['--rows', '--like', 'verl'],
    ])
      expect((await runCli(['parity', rows, rows, ...flags])).stderr).toContain('has no meaning with it');
    expect((await runCli(['parity', rows, '--match-by', 'identity'])).status).toBe(2);
  });

  test('a time that is over before every batch was compared is no success', async () => {
    const { status, stdout } = await runCli(['parity', '--budget', '0.001']);
    expect(status).toBe(1);
    expect(stdout.toString()).toMatch(/time was over/);
  });
});
