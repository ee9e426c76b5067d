/** `rollnorm inspect` as its users meet it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { runCli } from '../support/run-cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollnorm-inspect-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function file(text: string | Uint8Array, ending = '.jsonl'): string {
  const path = join(folder, `input-${files++}${ending}`);
  writeFileSync(path, text);
  return path;
}

const row = (fields: object) => `${JSON.stringify(fields)}\n`;
const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

const SMALL =
  row({ group_index: 7, rollout_id: 'a', reward: 1, response_length: 5 }) +
  row({ group_index: 7, rollout_id: 'b', reward: 0, response_length: 9 }) +
  row({ group_index: 7, rollout_id: 'b', reward: 1, response_length: 0, status: 'truncated' }) +
  row({ group_index: 8, index: 4, reward: 1, response_length: 2, remove_sample: true }) +
  row({ group_index: 8, index: 5, reward: 1, response_length: 2, status: 'odd' });

async function inspectJson(args: readonly string[], input?: string) {
  const { stdout, stderr, status } = await runCli(['inspect', ...args, '--json'], input === undefined ? {} : { input });
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout.toString());
}

describe('text', () => {
  test('is one plain screen', async () => {
    const path = file(SMALL);
    const run = await runCli(['inspect', path]);
    expect(run.status).toBe(0);
    expect(run.stderr).toBe('');
    expect(run.stdout.toString()).toBe(`${path}: 5 rows, 4 rollouts, 2 prompt groups

rows per rollout                  rollouts per group                rows by reward
1 3 ############################  2 2 ############################  0 1 #######
2 1 ##########                                                      1 4 ############################

groups    tier 2 (group_index): every row has a group_index
          tier 1 not: no prompt group sizes are given
          would apply too: tier 4
          2 rollouts in a group and 1.25 rows in a rollout on average; 1 of 2 groups of two or more
            are flat (50 %), 0 have one rollout
rewards   0 to 1, mean 0.8; 2 values
success   reward = 1: 75.0 % (3 of 4) rollouts, 80.0 % (4 of 5) rows; fan-out moves it by +5.0
            points where rows are counted
siblings  1 of 4 rollouts have several rows; in 1 of these the rewards differ
          "b": line 2 0, line 3 1
ids       group_index integers; rollout_id strings on 3 rows, missing on 2; index instead integers
tokens    0 to 9, mean 3.2 trainable a row; 2 of 5 rows have none
status    3 completed, 1 truncated, 1 other, other: "odd"; 1 removed
warnings  siblings of 1 rollouts have different rewards (policy: mainstream): rollout "b" (line 2:
            0, line 3: 1)
`);
  });

  test('stays within a screen for a large file of many values', async () => {
    const lines = Array.from({ length: 3000 }, (_, i) =>
      row({
        group_index: i >> 5,
        rollout_id: Math.floor(Math.sqrt(i * 40)),
        reward: Math.sin(i),
        response_length: i % 90,
      }),
    );
    const { stdout } = await runCli(['inspect'], { input: lines.join('') });
    const shown = stdout.toString().trimEnd().split('\n');
    expect(shown.length).toBeLessThanOrEqual(40);
    for (const line of shown) expect(line.length).toBeLessThanOrEqual(100);
    expect(stdout.every((byte) => byte < 128)).toBe(true);
  });

  test('several files each have a screen, and there is one of all', async () => {
    const { stdout, status } = await runCli(['inspect', file(SMALL), file(SMALL)]);
    expect(status).toBe(0);
    const heads = stdout.toString().match(/^\S.*: \d+ rows?, .*$/gm)!;
    expect(heads.length).toBe(3);
    expect(heads[2]).toBe('all 2 files: 10 rows, 8 rollouts, 4 prompt groups in 2 batches');
  });
});

describe('JSON', () => {
  test('has the counts of one file and the sum of several', async () => {
    const path = file(SMALL);
    const { files: found, total } = await inspectJson([path, file(row({ reward: 0.5 }))]);
    expect(found[0]).toMatchObject({
      ...{ file: path, batches: 1, rows: 5, rollouts: 4, groups: 2, flat_groups: 1, singleton_groups: 0, removed: 1 },
      fan_out: { count: 4, min: 1, mean: 1.25, max: 2, histogram: [{ count: 3 }, { from: 2, to: 2, count: 1 }] },
      rewards: {
        count: 5,
        missing: 0,
        distinct: [
          { value: 0, rows: 1 },
          { value: 1, rows: 4 },
        ],
      },
      success: { means: 'reward = 1', by_row: { count: 4, of: 5 }, by_rollout: { count: 3, of: 4, share: 0.75 } },
      siblings: { multi_row: 1, disagreeing: 1, doubtful_representatives: 0 },
      ids: {
        group_index: { kind: 'integers', rows: 5, missing: 0 },
        rollout_id: { kind: 'strings', rows: 3, missing: 2 },
        index: { kind: 'integers', rows: 2, missing: 0 },
        ...{ nameless: 0, merged_keys: { count: 0, first: null }, repeated_keys: { count: 0, first: null } },
      },
      tokens: { known: true, untrainable: 2, max: 9 },
      statuses: { completed: 3, truncated: 1, other: 1 },
      ...{ recorded: null, comparison: null, refusals: [] },
    });
    expect(total).toMatchObject({ rows: 6, rollouts: 5, batches: 2, grouping: { tier: 4 } });
    expect(total.rewards.distinct.map(({ value }: { value: number }) => value)).toEqual([0, 0.5, 1]);
  });

  test('two rewards other than 0 and 1: the larger is a success; more: what is above 0', async () => {
    const two = await inspectJson([], row({ reward: -1 }) + row({ reward: 0.5 }));
    expect(two.files[0].success).toMatchObject({ means: 'reward >= 0.5', by_row: { count: 1, of: 2 } });
    const zeros = await inspectJson([], row({ reward: 0 }) + row({ reward: false }));
    expect(zeros.files[0].success).toMatchObject({ means: 'reward = 1', by_row: { count: 0, of: 2 } });
    const three = await inspectJson([], [-1, 0, 2].map((reward) => row({ reward })).join(''));
    expect(three.files[0].success).toMatchObject({ means: 'reward > 0', by_row: { count: 1, of: 3 } });
  });

  test('an advantage that the layout has is compared', async () => {
    const rows = [1, 0].map((reward, i) =>
      row({ problem_id: 1, step: 1, sample_id: i, reward, advantage: reward - 0.5 }),
    );
    const { files: found } = await inspectJson(['--from', 'prime-hosted'], rows.join(''));
    expect(found[0]).toMatchObject({
      recorded: { count: 2, min: -0.5, max: 0.5 },
      comparison: { column: 'advantage', rows: 2, differing: 2, rule: 'r - mean' },
    });
  });

  test('a file in batches is one survey', async () => {
    const rows = [1, 2, 1, 2].map((step, i) => row({ step, reward: i, rollout_id: 1 })).join('');
    const { files: found, total } = await inspectJson(['--batch-by', 'step'], rows);
    expect(found[0]).toMatchObject({ batches: 2, rows: 4, rollouts: 2, siblings: { multi_row: 2, disagreeing: 2 } });
    expect(total).toBeNull();
  });

  test('Parquet, Arrow and .pt of the same rows are surveyed alike', async () => {
    const alike = async (ending: string) => {
      const { files: found } = await inspectJson([fixture(`layouts/twins${ending}`)]);
      const { file: _, ...rest } = found[0];
      return JSON.parse(JSON.stringify(rest).replaceAll(/\b(line|row) (?=\d)/g, 'at '));
    };
    const lines = await alike('.jsonl');
    for (const ending of ['.pt', '.arrow', '-snappy.parquet']) expect(await alike(ending), ending).toEqual(lines);
  });

  test('nothing is surveyed as nothing', async () => {
    const { files: found } = await inspectJson([], '');
    expect(found[0]).toMatchObject({ file: 'stdin', rows: 0, grouping: null, success: null, warnings: [] });
  });
});

describe('looks where normalize refuses', () => {
  test.each([
    ['a missing reward', row({ reward: null }) + row({ reward: 1 }), [], /reward must be a finite number/],
    ['shared siblings that differ', SMALL, ['--siblings', 'shared'], /siblings must share one reward/],
    ['no group ids', row({ reward: 1 }), ['--grouping', 'strict'], /strict grouping needs group_index/],
    ['no identity', row({ reward: 1 }), ['--require-identity'], /neither rollout_id nor index/],
    ['sizes that do not fit', SMALL, ['--prompt-group-sizes', '2,2'], /sum to 4 but the batch has 5 rows/],
    ['sums past binary64', row({ reward: 1.7e308 }) + row({ reward: -1.7e308 }), [], /overflows binary64/],
  ] as const)('%s', async (_, input, args, refusal) => {
    const { files: found } = await inspectJson([...args], input);
    expect(found[0].refusals.join()).toMatch(refusal);
    expect(found[0].rows).toBe(input.trimEnd().split('\n').length);
    const { stdout } = await runCli(['inspect', ...args], { input });
    expect(stdout.toString()).toMatch(/^refused {3}normalize would refuse this: /m);
  });

  test('what is missing is said with the first place', async () => {
    const { files: found } = await inspectJson([], row({ reward: 1 }) + row({ reward: 'NaN' }).replace('"NaN"', 'NaN'));
    expect(found[0].rewards).toMatchObject({ count: 1, missing: 1, first_missing: { place: 'line 2', found: 'NaN' } });
  });
});

describe('refusals', () => {
  test('what cannot be read: exit 3, and of several files the others are shown', async () => {
    const bad = file('{"reward":"x"}\n');
    const one = await runCli(['inspect', bad]);
    expect([one.status, one.stdout.length]).toEqual([3, 0]);
    expect(one.stderr).toContain('line 1');
    const both = await runCli(['inspect', bad, file(SMALL), '--json']);
    expect(both.status).toBe(3);
    const { files: found, failures } = JSON.parse(both.stdout.toString());
    expect([found.length, failures.length, failures[0].file]).toEqual([1, 1, bad]);
    const absent = await runCli(['inspect', join(folder, 'absent.jsonl')]);
    expect([absent.status, absent.stdout.length]).toEqual([74, 0]);
  });

  test.each([
    [['--nope'], /unknown option/],
    [['--advantage-estimator', 'best'], /unknown advantage estimator/],
    [['--prompt-group-sizes', '5', '--batch-by', 'group_index'], /--prompt-group-sizes is for one batch/],
  ])('%j', async (args, message) => {
    const run = await runCli(['inspect', file(SMALL), ...args]);
    expect([run.status, run.stdout.length]).toEqual([2, 0]);
    expect(run.stderr).toMatch(message);
  });
});

test('the example of the docs is what the command prints', async () => {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const [, command, expected] = /```\n\$ rollnorm (inspect .*)\n([\s\S]*?)```/.exec(
    readFileSync(join(root, 'docs/inspect.md'), 'utf8'),
  )!;
  const { stdout } = await runCli(command.split(' '), { cwd: root });
  expect(stdout.toString()).toBe(expected);
});
