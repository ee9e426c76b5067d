/** Several rewards of a row, recorded baselines and weights, from the command line and in every format. */
import { describe, expect, test } from 'vitest';
import { createEngine } from '../../src/index.ts';
import { Random } from '../support/random.ts';
import { rowsOf, runCli } from '../support/run-cli.ts';

const random = new Random(11);
const rows = Array.from({ length: 24 }, (_, i) => ({
  group_index: i >> 3,
  rollout_id: i >> 1,
  reward: { acc: random.integer(0, 1), fmt: random.next() },
  base: random.next(),
  response_length: random.integer(1, 9),
}));
const batch = {
  rewards: { acc: rows.map(({ reward }) => reward.acc), fmt: rows.map(({ reward }) => reward.fmt) },
  baseline: rows.map(({ base }) => base),
  groupIndex: rows.map(({ group_index }) => group_index),
  rolloutId: rows.map(({ rollout_id }) => rollout_id),
  responseLength: rows.map(({ response_length }) => response_length),
};
const engine = createEngine({ backend: 'cpu' });
const lines = (list: readonly unknown[]) => list.map((row) => `${JSON.stringify(row)}\n`).join('');

/** raw_reward and advantage of every row. */
async function normalize(input: readonly unknown[], ...flags: string[]) {
  const finished = await runCli(['normalize', ...flags], { input: lines(input) });
  const found = finished.status === 0 ? rowsOf(finished) : [];
  const { status, stderr } = finished;
  return { status, stderr, rewards: found.map((row) => row.raw_reward), advantages: found.map((row) => row.advantage) };
}

describe('several rewards', () => {
  test.each([
    ['keys of an object', rows, ['--reward-key', 'acc,fmt']],
    ['keys given one by one', rows, ['--reward-key', 'acc', '--reward-key', 'fmt']],
    ['columns', rows.map(({ reward, ...row }) => ({ ...row, ...reward })), ['--reward-columns', 'acc,fmt']],
  ])('gdpo takes %s apart', async (_, input, flags) => {
    const expected = await engine.normalize(batch, { estimator: 'gdpo' });
    const found = await normalize(input, '--advantage-estimator', 'gdpo', ...flags);
    expect(found.advantages).toEqual([...expected.advantages]);
    expect(found.rewards).toEqual([...expected.rawRewards]);
  });

  test('weights are those of the flag, or of the columns', async () => {
    const expected = await engine.normalize(batch, { estimator: 'gdpo', rewardWeights: [2, -0.5] });
    const flat = rows.map(({ reward, ...row }) => ({ ...row, ...reward }));
    const gdpo = ['--advantage-estimator', 'gdpo'];
    const byFlag = await normalize(rows, ...gdpo, '--reward-key', 'acc,fmt', '--reward-weights', '2,-0.5');
    const byColumn = await normalize(flat, ...gdpo, '--reward-columns', 'acc=2,fmt=-0.5');
    expect(byFlag.advantages).toEqual([...expected.advantages]);
    expect(byColumn.advantages).toEqual([...expected.advantages]);
    expect(byFlag.rewards).toEqual(rows.map(({ reward }) => 2 * reward.acc - 0.5 * reward.fmt));
  });

  test('other estimators take their weighted sum', async () => {
    const reward = rows.map(({ reward: { acc, fmt } }) => acc + 3 * fmt);
    const { rewards: _, ...others } = batch;
    const expected = await engine.normalize({ ...others, reward });
    const found = await normalize(rows, '--reward-key', 'acc,fmt', '--reward-weights', '1,3');
    expect(found.advantages).toEqual([...expected.advantages]);
  });

  test('a row that lacks one lacks all', async () => {
    const input = rows.map((row, i) => (i === 5 ? { ...row, reward: { acc: 1 } } : row));
    const flags = ['--advantage-estimator', 'gdpo', '--reward-key', 'acc,fmt', '--siblings', 'rows'];
    const refused = await normalize(input, ...flags);
    expect([refused.status, refused.stderr]).toEqual([3, expect.stringMatching(/line 6: reward .*no reward\["fmt"\]/)]);
    const found = await normalize(input, ...flags, '--exclude', 'missing-reward');
    expect(found.advantages[5]).toBe(0);
    expect(found.rewards[5]).toBe(null);
  });

  test.each([
    ['one reward', ['--advantage-estimator', 'gdpo', '--reward-key', 'acc'], 2, /name two or more/],
    [
      'a key that no row has',
      ['--reward-key', 'acc,nope'],
      3,
      /no row has reward\["nope"\]; keys there are: "acc", "fmt"/,
    ],
    ['a column that no row has', ['--reward-columns', 'base,nope'], 3, /no row has nope; the fields are group_index/],
    ['a key given twice', ['--reward-key', 'acc,acc'], 2, /--reward-key acc is given twice/],
    [
      'as many weights as rewards',
      ['--reward-key', 'acc,fmt', '--reward-weights', '1'],
      2,
      /1 reward weights for 2 rewards/,
    ],
    ['weights in two places', ['--reward-columns', 'base,other', '--reward-weights', '1,2'], 2, /weights of its own/],
  ] as const)('%s: refused', async (_, flags, status, message) => {
    const found = await normalize(rows, ...flags);
    expect([found.status, found.stderr]).toEqual([status, expect.stringMatching(message)]);
  });

  test('an infinity makes a weighted sum missing, what is null or NaN is left out of it', async () => {
    const input = [
      { a: null, b: 2 },
      { a: 1, b: 'NaN' },
      { a: 3, b: 4 },
    ];
    const text = lines(input).replace('"NaN"', 'NaN');
    const summed = await runCli(['normalize', '--reward-columns', 'a,b'], { input: text });
    expect(summed.stdout.toString().match(/"raw_reward": [^,]*/g)).toEqual([
      '"raw_reward": 2',
      '"raw_reward": 1',
      '"raw_reward": 7',
    ]);
    const infinite = await runCli(['normalize', '--reward-columns', 'a,b'], { input: text.replace('NaN', 'Infinity') });
    expect([infinite.status, infinite.stderr]).toEqual([
      3,
      expect.stringMatching(/line 2: reward must be a finite number/),
    ]);
  });
});

describe('a recorded baseline', () => {
  const flags = ['--advantage-estimator', 'remax', '--reward-key', 'acc'];

  test('is what remax subtracts, of the row that stands for the rollout', async () => {
    const { rewards, ...others } = batch;
    const expected = await engine.normalize({ ...others, reward: rewards.acc }, { estimator: 'remax' });
    const found = await normalize(rows, ...flags, '--map', 'baseline=base');
    expect(found.advantages).toEqual([...expected.advantages]);
  });

  test.each([
    ['not named', [], 2, /remax subtracts a recorded baseline: name its column/],
    ['nowhere', ['--map', 'baseline=nope'], 3, /no row has nope/],
    ['missing in a row', ['--map', 'baseline=base'], 3, /line 4: baseline must be a finite number/],
  ] as const)('%s: refused', async (what, more, status, message) => {
    const input = what === 'missing in a row' ? rows.map((row, i) => (i === 3 ? { ...row, base: null } : row)) : rows;
    const found = await normalize(input, ...flags, ...more);
    expect([found.status, found.stderr]).toEqual([status, expect.stringMatching(message)]);
  });
});

test('bounds of rewards and of advantages', async () => {
  const input = [-9, 1, 2, 30].map((reward) => ({ reward, group_index: 1 }));
  const found = await normalize(
    input,
    ...['--advantage-estimator', 'dr_grpo', '--clip-reward', '-2,10', '--clip', '-3,3'],
  );
  expect(found.rewards).toEqual([-9, 1, 2, 30]);
  expect(found.advantages).toEqual([-3, -1.75, -0.75, 3]);
});
