/** Dialects and estimators as options: what beats what, what is refused and why. */

import { afterAll, describe, expect, test } from 'vitest';
import type { Dialect, DialectEstimator } from '../../src/estimators/dialect.ts';
import { DIALECT_NAMES, DIALECTS, type DialectName } from '../../src/estimators/dialects.ts';
import { ESTIMATORS, type EstimatorName } from '../../src/estimators/estimators.ts';
import { zeroesFlatGroups } from '../../src/estimators/rule.ts';
import { type Batch, createEngine, type NormalizeOptions, UsageError } from '../../src/index.ts';
import { checkOptions } from '../../src/options.ts';

const engine = createEngine({ backend: 'cpu' });
afterAll(() => engine.close());

const CELLS = DIALECT_NAMES.flatMap((like) =>
  (Object.entries(DIALECTS[like].estimators) as [EstimatorName, DialectEstimator][]).map(
    ([estimator, cell]) => [like, estimator, cell] as const,
  ),
);

/** Two groups of two rollouts; the first rollout became two rows. */
const ROWS: Batch = {
  reward: [1, 1, 0, 0.5, 0.25],
  groupIndex: ['a', 'a', 'a', 'b', 'b'],
  rolloutId: [0, 0, 1, 2, 3],
  trainableTokens: [3, 4, 5, 6, 7],
  baseline: [0.5, 0.5, 0.5, 0.25, 0.25],
};
const { reward, ...REST } = ROWS;
const TWO_REWARDS: Batch = { ...REST, rewards: { right: reward!, short: [0, 0, 1, 1, 0] } };

describe('every cell', () => {
  test.each(CELLS)('--like %s --advantage-estimator %s runs', async (like, estimator) => {
    const batch = ESTIMATORS[estimator].perReward ? TWO_REWARDS : ROWS;
    const { advantages, report } = await engine.normalize(batch, { like, estimator });
    expect([...advantages].every(Number.isFinite)).toBe(true);
    expect(report).toMatchObject({ like, estimator });
    if (!report.rule.clip && report.grouping === 2) expect(advantages[0]).toBe(advantages[1]);
  });

  test.each(CELLS)('--like %s --advantage-estimator %s: explicit flags beat it', (like, estimator, cell) => {
    const { rule } = cell;
    const passes = rule.baseline === 'pass-through';
    const own: NormalizeOptions = {
      epsilon: 0.5,
      ddof: 1 - rule.ddof === 1 ? 1 : 0,
      siblings: 'max',
      clip: [-1, 2],
      clipReward: [-3, 4],
      ...(passes ? {} : { minStd: 0.25, exclude: ['truncated'] }),
    };
    const { estimator: found, policies } = checkOptions({ like, estimator, ...own });
    const { epsilon, ddof, clip, clipReward } = own;
    // Where flat groups are like others, none becomes flat.
    const minStd = zeroesFlatGroups(found) ? (own.minStd ?? 0) : 0;
    expect(found).toMatchObject({ epsilon, ddof, clip, clipReward, minStd });
    expect(policies).toEqual({ siblings: 'max', exclude: own.exclude ?? [] });
  });

  test.each(CELLS)('--like %s --advantage-estimator %s: without flags it is the cell', (like, estimator, cell) => {
    const dialect: Dialect = DIALECTS[like];
    const { estimator: found, policies, byPosition } = checkOptions({ like, estimator });
    const passes = cell.rule.baseline === 'pass-through';
    expect(found).toMatchObject(passes ? { baseline: 'pass-through' } : cell.rule);
    expect(found).toMatchObject({ clip: cell.clip ?? null, clipReward: dialect.clipReward ?? null });
    expect(policies.siblings).toBe(cell.siblings ?? dialect.siblings);
    expect(policies.exclude).toEqual(passes ? [] : dialect.exclude);
    expect(byPosition).toBe(dialect.grouping === 'position');
  });
});

describe('an estimator that a framework does not have', () => {
  const refused = DIALECT_NAMES.flatMap((like) =>
    (Object.keys(ESTIMATORS) as EstimatorName[])
      .filter((estimator) => !Object.hasOwn(DIALECTS[like].estimators, estimator))
      .map((estimator) => [like, estimator] as const),
  );

  test.each(refused)('--like %s --advantage-estimator %s is refused', (like, estimator) => {
    const known = Object.keys(DIALECTS[like].estimators).join(', ');
    expect(() => checkOptions({ like, estimator })).toThrow(
      new UsageError(`${like} has no estimator '${estimator}' that is reproduced here; it has ${known}`),
    );
  });

  test('an unknown framework', () => {
    expect(() => checkOptions({ like: 'nobody' as DialectName })).toThrow(
      new UsageError(`unknown dialect 'nobody'; known: ${DIALECT_NAMES.join(', ')}`),
    );
  });
});

describe('what a flag makes of a dialect', () => {
  const ruleOf = (options: NormalizeOptions) => checkOptions(options).estimator;

  test('without its division, verl gives a group of one its reward, as it does by its own switch', async () => {
    const single = { reward: [3], groupIndex: [0] };
    const scaled = await engine.normalize(single, { like: 'verl' });
    expect(scaled.advantages[0]).toBe(Math.fround(3 / (1 + 1e-6)));
    for (const options of [{ disableGrpoStdNormalization: true }, { scale: 'none' }] as const) {
      const { advantages } = await engine.normalize(single, { like: 'verl', ...options });
      expect(advantages[0]).toBe(3);
    }
  });

  test('another baseline than the mean leaves nothing of a group of one', () => {
    expect(ruleOf({ like: 'verl', baseline: 'median' }).singleton).toBe('zero');
    expect(ruleOf({ like: 'verl', baseline: 'mean' }).singleton).toBe('own-scaled');
  });

  test('the leave-one-out baseline of a plain estimator can be changed', async () => {
    const options = { like: 'nemo-rl', baseline: 'mean', scale: 'group' } as const;
    const one = await engine.normalize(ROWS, { ...options, siblings: 'first' });
    const other = await engine.normalize(ROWS, { siblings: 'first' });
    expect([...one.advantages]).toEqual([...other.advantages]);
  });

  test('bounds of a dialect give way to infinite ones', () => {
    const free = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY] as const;
    expect(ruleOf({ like: 'openrlhf' }).clip).toEqual([-10, 10]);
    expect(ruleOf({ like: 'openrlhf', clip: free }).clip).toEqual(free);
    expect(ruleOf({ like: 'areal', clipReward: free }).clipReward).toEqual(free);
  });

  test('epsilon and ddof reach a step over rollouts, and not one over tokens', () => {
    const options = { epsilon: 0.5, ddof: 0 } as const;
    expect(ruleOf({ like: 'trl', estimator: 'gdpo', ...options }).step).toMatchObject(options);
    expect(ruleOf({ like: 'verl', estimator: 'gdpo', ...options }).step).toMatchObject({ epsilon: 1e-8, ddof: 1 });
  });

  test('a framework that groups by position takes sizes, and one group where it has none', async () => {
    const sized = await engine.normalize(ROWS, { like: 'slime', promptGroupSizes: [3, 2] });
    expect(sized.report).toMatchObject({ grouping: 1, groups: 2 });
    const whole = await engine.normalize(ROWS, { like: 'slime' });
    expect(whole.report).toMatchObject({ grouping: 4, groups: 1 });
    expect(whole.report.warnings).toContain(
      'slime groups rows by their position, and a layout takes both n-samples-per-prompt and rollout-batch-size: all rows are one prompt group (tier 4)',
    );
  });
});

describe('a combination without a meaning is a usage error', () => {
  const REFUSED: readonly (readonly [name: string, options: NormalizeOptions, message: string, batch?: Batch])[] = [
    [
      '--like slime --grouping strict',
      { like: 'slime', strict: true },
      'slime groups rows by their position, which strict grouping refuses',
    ],
    [
      'rloo with --baseline median',
      { estimator: 'rloo', baseline: 'median' },
      'rloo is a baseline by itself: dr_grpo with --baseline median leaves it out',
    ],
    [
      'opo with --baseline none',
      { estimator: 'opo', baseline: 'none' },
      'opo is a baseline by itself: dr_grpo with --baseline none leaves it out',
    ],
    [
      'maxrl with --scale group',
      { estimator: 'maxrl', scale: 'group' },
      'maxrl divides by the mean: dr_grpo with --scale group leaves it out',
    ],
    [
      'maxrl with --baseline none',
      { estimator: 'maxrl', baseline: 'none' },
      'maxrl is a baseline by itself: dr_grpo with --baseline none leaves it out',
    ],
    [
      '--like skyrl, maxrl with --scale none',
      { like: 'skyrl', estimator: 'maxrl', scale: 'none' },
      'maxrl divides by the mean: dr_grpo with --scale none leaves it out',
    ],
    [
      'raw with --weight tokens',
      { estimator: 'raw', weight: 'tokens' },
      'weight has no meaning with the estimator raw, by which every row keeps its own reward; dr_grpo with --baseline none groups without a baseline',
    ],
    [
      'normalization disabled, with --scale batch',
      { disableRewardsNormalization: true, scale: 'batch' },
      'scale has no meaning with disabled rewards normalization, by which every row keeps its own reward',
    ],
    [
      'no division, with --scale batch',
      { disableGrpoStdNormalization: true, scale: 'batch' },
      'disabled standard deviation normalization and --scale batch exclude each other',
    ],
    [
      'gdpo with one reward',
      { estimator: 'gdpo' },
      'gdpo normalizes several rewards, each by itself: name two or more (reward keys)',
    ],
    [
      'remax without a baseline',
      { estimator: 'remax' },
      'remax subtracts a recorded baseline: name its column (--map baseline=COLUMN)',
      { reward: [1, 2] },
    ],
    [
      'more weights than rewards',
      { estimator: 'gdpo', rewardWeights: [1, 2, 3] },
      '3 reward weights for 2 rewards (right, short)',
      TWO_REWARDS,
    ],
    [
      'two weights of one reward',
      { rewardWeights: [1, 2] },
      'reward weights are for several rewards (reward keys), and there is one',
    ],
    [
      'a weight that is no number',
      { estimator: 'gdpo', rewardWeights: [1, Number.NaN] },
      'a reward weight must be a finite number, got NaN',
      TWO_REWARDS,
    ],
    ['--clip 1,-1', { clip: [1, -1] }, 'clip must be two numbers, the lower one first, got [1,-1]'],
    ['--clip-reward 1,-1', { clipReward: [1, -1] }, 'clipReward must be two numbers, the lower one first, got [1,-1]'],
    ['a negative --min-std', { minStd: -1 }, 'minStd must be finite and >= 0, got -1'],
    [
      '--exclude of a framework that passes rewards through',
      { like: 'miles', estimator: 'ppo', exclude: ['failed'] },
      'exclude has no meaning with the estimator ppo, by which every row keeps its own reward',
    ],
  ];

  const cases = REFUSED.map(([name, options, message, batch = ROWS]) => [name, options, message, batch] as const);

  test.each(cases)('%s', async (_, options, message, batch) => {
    const failure = await engine.normalize(batch, options).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UsageError);
    expect(failure).toMatchObject({ message, exitStatus: 2 });
  });
});
