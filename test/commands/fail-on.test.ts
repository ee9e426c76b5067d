/** Runs that write all of their output and then fail, because of what --fail-on names. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { WARNING_CODES } from '../../src/warnings.ts';
import { runCli } from '../support/run-cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollnorm-fail-on-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
const target = (ending: string) => join(folder, `${made++}${ending}`);
const asLines = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
function file(rows: readonly object[]): string {
  const path = target('.jsonl');
  writeFileSync(path, asLines(rows));
  return path;
}

/** Two rollouts a group; `flat` of the groups have equal rewards, `single` more have one rollout. */
function groups(flat: number, uneven: number, single = 0): object[] {
  const rows: object[] = [];
  for (let group = 0; group < flat + uneven; group++)
    rows.push({ group_index: group, reward: 1 }, { group_index: group, reward: group < flat ? 1 : 0 });
  for (let i = 0; i < single; i++) rows.push({ group_index: 1000 + i, reward: i });
  return rows;
}

/** Rollouts of two rows in one group, of which some disagree. */
function siblings(disagreeing: number, agreeing: number): object[] {
  return Array.from({ length: disagreeing + agreeing }, (_, id) => [
    { group_index: 0, rollout_id: id, reward: id, response_length: 9 },
    { group_index: 0, rollout_id: id, reward: id < disagreeing ? -1 : id, response_length: 3 },
  ]).flat();
}

const failed = (count: number, others: number) =>
  Array.from({ length: count + others }, (_, i) => ({
    group_index: 0,
    reward: i,
    ...(i < count && { status: 'failed' }),
  }));

const SHARES: [what: string, rows: object[], name: string, share: number, counts: RegExp, flags?: string[]][] = [
  ['flat groups', groups(3, 7), 'flat', 0.3, /3 of 10 groups of two or more are flat \(0\.3\)/],
  ['flat groups beside groups of one', groups(1, 9, 5), 'flat', 0.1, /1 of 10 groups of two or more/],
  ['groups of one', groups(1, 6, 3), 'singletons', 0.3, /3 of 10 groups have one counted rollout/],
  ['siblings that disagree', siblings(7, 3), 'disagreement', 0.7, /7 of 10 rollouts of several rows have siblings/],
  ['excluded rollouts', failed(6, 4), 'excluded', 0.6, /6 of 10 rollouts are excluded/, ['--exclude', 'failed']],
];

describe.each(SHARES)('%s', (_, rows, name, share, counts, flags = []) => {
  const input = file(rows);

  test('fail above a limit; a share that is exactly the limit, or below it, does not', async () => {
    const above = [name, `${name}>0`, `${name}>${share - 0.01}`, `${name} > ${share - 1e-9}`];
    const within = [`${name}>${share}`, `${name}>${share + 0.01}`];
    const [output, summary] = [target('.jsonl'), target('.json')];
    const conditions = ['--fail-on', [...above, ...within].join(',')];
    const run = await runCli(['normalize', input, '-o', output, '--summary', summary, ...conditions, ...flags]);
    expect(run.status).toBe(1);
    for (const condition of above) expect(run.stderr).toMatch(`rollnorm: failed on ${condition}: `);
    expect(run.stderr).toMatch(counts);
    expect(readFileSync(output, 'utf8').trimEnd().split('\n').length).toBe(rows.length);
    expect(JSON.parse(readFileSync(summary, 'utf8'))).toMatchObject({ rows: rows.length, failed_on: above });
    const passes = await runCli(['normalize', input, '--fail-on', within.join(','), ...flags]);
    expect([passes.status, passes.stderr]).toEqual([0, expect.not.stringContaining('failed on')]);
  });
});

const clean = [
  { group_index: 1, rollout_id: 1, reward: 1 },
  { group_index: 1, rollout_id: 2, reward: 0 },
];
const ungrouped = clean.map(({ group_index: _, ...rest }) => rest);
const tied = siblings(2, 0).map((row, i) => ({ ...row, response_length: 100 - (i % 2) }));
const median = [0, 0, 0, 1].map((reward) => ({ group_index: 1, reward }));
const noDriver = { VK_DRIVER_FILES: '/nonexistent', VK_ICD_FILENAMES: '/nonexistent', LD_LIBRARY_PATH: '' };

describe('conditions without a share', () => {
  test.each([
    ['fallback', ungrouped, [], /groups are by .*\(tier 4\)/],
    ['fallback', ungrouped, ['--n-samples-per-prompt', '2', '--rollout-batch-size', '1'], /\(tier 3\)/],
    ['doubtful', tied, [], /2 of 2 rollouts of several rows have a doubtful representative/],
    ['doubtful-representative', tied, [], /the representatives of 2 rollouts are doubtful/],
    [
      'unscaled',
      median,
      ['--scale', 'mad'],
      /1 of 1 groups of two or more are not scaled, as their median distance is 0/,
    ],
    [
      'not-positive',
      [...clean, ...clean.map((row) => ({ ...row, group_index: 2, reward: -1 - row.reward }))],
      ['--advantage-estimator', 'maxrl'],
      /1 of 2 groups of two or more have advantage 0, as their mean is not above 0/,
    ],
    ['no-effect', clean, ['--advantage-estimator', 'dr_grpo', '--epsilon', '1'], /epsilon has no effect/],
    ['warnings', ungrouped, [], /1 warnings, the first: .*no group_index/],
    [
      'warnings',
      clean,
      ['--to', 'parquet', '-o', 'OUT'],
      /the first: whole rows are not turned from jsonl into parquet/,
    ],
    [
      'input',
      clean.map((row) => ({ ...row, reward: String(row.reward) })),
      ['--from', 'verl', '--map', 'reward=reward', '--map', 'group_index=group_index'],
      /rewards were text/,
    ],
    ['backend', clean, ['--gpu-min-rows', '0'], /computed on the CPU/],
  ] as const)('%s fails', async (condition, rows, flags, message) => {
    const args = flags.map((flag) => (flag === 'OUT' ? target('.parquet') : flag));
    const run = await runCli(['normalize', file(rows), '--fail-on', condition, ...args], { env: noDriver });
    expect(run.stderr).toMatch(message);
    expect(run.stderr).toMatch(`failed on ${condition}: `);
    expect(run.status).toBe(1);
  });

  test('none of all there are fails where nothing is wrong', async () => {
    const counted = ['flat', 'singletons', 'disagreement', 'doubtful', 'excluded', 'unscaled', 'not-positive'];
    const all = [...counted, 'fallback', 'backend', 'warnings', ...WARNING_CODES].join(',');
    const summary = target('.json');
    const run = await runCli(['normalize', file(clean), '--fail-on', all, '--summary', summary]);
    expect([run.status, run.stderr]).toEqual([0, expect.not.stringContaining('failed on')]);
    expect(JSON.parse(readFileSync(summary, 'utf8')).failed_on).toEqual([]);
  });

  test('groups by position fail, though every row has a group_index', async () => {
    const rows = [...clean, ...clean].map((row, index) => ({ ...row, index }));
    const flags = ['--like', 'slime', '--n-samples-per-prompt', '2', '--rollout-batch-size', '2'];
    const run = await runCli(['normalize', file(rows), ...flags, '--fail-on', 'fallback']);
    expect([run.status, run.stderr]).toEqual([1, expect.stringMatching(/failed on fallback: .*tier 3/)]);
  });

  test('several conditions, in one list or repeated, are each told', async () => {
    const summary = target('.json');
    const flags = ['--fail-on', 'flat, singletons>0.9', '--fail-on', 'fallback,warnings', '--summary', summary];
    const rows = groups(2, 0).map(({ group_index: _, ...rest }: { group_index?: number }) => rest);
    const run = await runCli(['normalize', file(rows), ...flags]);
    expect(run.status).toBe(1);
    expect(JSON.parse(readFileSync(summary, 'utf8')).failed_on).toEqual(['flat', 'fallback', 'warnings']);
  });

  test('an empty file fails on no share', async () => {
    const run = await runCli([
      'normalize',
      file([]),
      '--fail-on',
      'flat,singletons,disagreement,excluded,doubtful>0.5',
    ]);
    expect(run.status).toBe(0);
  });
});

describe('several files', () => {
  function filesIn(contents: Record<string, string>): string {
    const path = target('');
    mkdirSync(path);
    for (const [name, content] of Object.entries(contents)) writeFileSync(join(path, name), content);
    return path;
  }

  test('each is judged by itself, and one that fails is enough', async () => {
    const input = filesIn({
      'a.jsonl': asLines(groups(1, 9)),
      'b.jsonl': asLines(groups(3, 1)),
      'c.jsonl': asLines(groups(0, 4)),
    });
    const [output, summary] = [target(''), target('.json')];
    const run = await runCli(['normalize', input, '--out-dir', output, '--summary', summary, '--fail-on', 'flat>0.5']);
    expect(run.status).toBe(1);
    expect(run.stderr.match(/failed on/g)).toHaveLength(1);
    expect(run.stderr).toMatch(/b\.jsonl: failed on flat>0\.5: 3 of 4 groups/);
    const told = JSON.parse(readFileSync(summary, 'utf8'));
    expect(told.failed_on).toEqual(['flat>0.5']);
    expect(told.files.map((one: { failed_on: string[] }) => one.failed_on)).toEqual([[], ['flat>0.5'], []]);
    expect(existsSync(join(output, 'c.jsonl'))).toBe(true);
  });

  test('a file that cannot be read goes before', async () => {
    const input = filesIn({ 'a.jsonl': asLines(groups(1, 0)), 'b.jsonl': '{"reward": [1]}\n' });
    const run = await runCli(['normalize', input, '--out-dir', target(''), '--fail-on', 'flat']);
    expect(run.status).toBe(3);
    expect(run.stderr).toMatch(/a\.jsonl: failed on flat: /);
  });
});

test.each([
  [
    'an unknown name',
    'flats',
    /unknown condition 'flats'; with a share, as in flat>0\.5: flat, singletons, .*fallback/,
  ],
  ['an empty name', 'flat,', /unknown condition ''/],
  ['a share of 1', 'flat>1', /'flat>1': expected a share from 0 to less than 1 after '>', got '1'/],
  ['a count', 'singletons>3', /expected a share/],
  ['a share below 0', 'flat>-0.1', /expected a share/],
  ['a share in percent', 'flat>50%', /expected a share.*got '50%'/],
  ['no share', 'flat>', /expected a share.*got ''/],
  ['another comparison', 'flat>=0.5', /expected a share.*got '=0\.5'/],
  ['a share of what has none', 'fallback>0.5', /fallback has no share/],
  ['a share of a warning', 'no-tokens>0', /no-tokens has no share/],
])('%s is a usage error', async (_, conditions, message) => {
  const run = await runCli(['normalize', '--fail-on', conditions], { input: '' });
  expect([run.status, run.stdout.length]).toEqual([2, 0]);
  expect(run.stderr).toMatch(message);
});
