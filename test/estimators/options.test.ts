import { describe, expect, test } from 'vitest';
import { resolveEstimator } from '../../src/estimators/estimators.ts';
import { resolvePolicies } from '../../src/estimators/policies.ts';
import {
  createEngine,
  ESTIMATORS,
  EXCLUSION_REASONS,
  InputError,
  type NormalizeOptions,
  SIBLING_POLICIES,
  UsageError,
} from '../../src/index.ts';

const engine = createEngine({ backend: 'cpu' });
const untyped = (options: object) => options as NormalizeOptions;

const REFUSED: [string, object, string][] = [
  [
    'an unknown estimator',
    { estimator: 'grpo2' },
    "unknown advantage estimator 'grpo2'; known: grpo, gspo, cispo, reinforce_plus_plus_baseline, dr_grpo, rloo, maxrl, opo, grpo_passk, gdpo, remax, ppo, reinforce_plus_plus, raw",
  ],
  [
    'a name that every object has',
    { estimator: 'toString' },
    `unknown advantage estimator 'toString'; known: ${Object.keys(ESTIMATORS).join(', ')}`,
  ],
  ['ddof 2', { ddof: 2 }, 'ddof must be 0 or 1, got 2'],
  ['ddof as text', { ddof: '1' }, 'ddof must be 0 or 1, got 1'],
  ['a negative epsilon', { epsilon: -1e-9 }, 'epsilon must be finite and >= 0, got -1e-9'],
  ['an infinite epsilon', { epsilon: Number.POSITIVE_INFINITY }, 'epsilon must be finite and >= 0, got Infinity'],
  ['an epsilon that is no number', { epsilon: Number.NaN }, 'epsilon must be finite and >= 0, got NaN'],
  [
    'an unknown policy',
    { siblings: 'median' },
    "unknown sibling policy 'median'; known: mainstream, shared, first, last, max, min, mean, sum, rows",
  ],
  [
    'an unknown reason',
    { exclude: ['removed', 'completed'] },
    "unknown reason to exclude 'completed'; known: removed, untrainable, truncated, aborted, failed, missing-reward",
  ],
  [
    'exclusion with pass-through',
    { estimator: 'ppo', exclude: ['removed'] },
    'exclude has no meaning with the estimator ppo, by which every row keeps its own reward',
  ],
  [
    'exclusion with normalization disabled',
    { disableRewardsNormalization: true, exclude: ['removed'] },
    'exclude has no meaning with disabled rewards normalization, by which every row keeps its own reward',
  ],
  ['an output of another length', { output: new Float32Array(3) }, 'output has 3 entries but the batch has 2 rows'],
];

describe('impossible options are a usage error', () => {
  test.each(REFUSED)('%s', async (_, options, message) => {
    const failure = await engine.normalize({ reward: [0, 1] }, untyped(options)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UsageError);
    expect(failure).not.toBeInstanceOf(InputError);
    expect(failure).toMatchObject({ name: 'UsageError', exitStatus: 2, message });
  });

  test('of an engine: an unknown backend', () => {
    expect(() => createEngine({ backend: 'gpu' as 'cpu' })).toThrow(
      new UsageError("unknown backend 'gpu'; known: auto, cpu, webgpu"),
    );
  });

  test('a closed engine', async () => {
    const closed = createEngine({ backend: 'cpu' });
    await closed.close();
    await expect(closed.normalize({ reward: [1] })).rejects.toThrow(new UsageError('the engine is closed'));
  });
});

describe('estimators', () => {
  const divides = { baseline: 'mean', scale: 'group' };
  const centres = { baseline: 'mean', scale: 'none' };
  const passes = { baseline: 'pass-through', scale: 'none' };
  const rloo = { baseline: 'leave-one-out', scale: 'none' };
  const maxrl = { baseline: 'mean', scale: 'mean', epsilon: 0 };
  const opo = { baseline: 'length-mean', scale: 'none' };
  const remax = { baseline: 'column', scale: 'none' };

  test.each([
    ['grpo', divides, centres],
    ['gspo', divides, centres],
    ['cispo', divides, centres],
    ['reinforce_plus_plus_baseline', centres, centres],
    ['dr_grpo', centres, centres],
    ['rloo', rloo, rloo],
    ['maxrl', maxrl, maxrl],
    ['opo', opo, opo],
    ['grpo_passk', { baseline: 'runner-up', scale: 'group' }, { baseline: 'runner-up', scale: 'none' }],
    ['gdpo', { ...divides, perReward: true }, { ...divides, perReward: true }],
    ['remax', remax, remax],
    ['ppo', passes, passes],
    ['reinforce_plus_plus', passes, passes],
    ['raw', passes, passes],
  ] as const)('%s: its rule, and without the division', (estimator, rule, withoutStd) => {
    const resolved = resolveEstimator({ estimator });
    expect(resolved).toMatchObject({ name: estimator, ddof: 1, epsilon: 1e-6, ...rule });
    expect(resolved.step).toEqual(
      estimator === 'gdpo' ? { weight: 'rollouts', ddof: 1, epsilon: 1e-6, epsilonAt: 'outside' } : null,
    );
    expect(resolveEstimator({ estimator, disableGrpoStdNormalization: true })).toMatchObject(withoutStd);
    expect(resolveEstimator({ estimator, disableRewardsNormalization: true })).toMatchObject(passes);
  });

  test('the default is grpo with ddof 1 and epsilon 1e-6', () => {
    expect(resolveEstimator({})).toMatchObject({ name: 'grpo', ...divides, ddof: 1, epsilon: 1e-6, minStd: 0 });
    expect(resolveEstimator({ estimator: undefined, ddof: undefined, epsilon: undefined }).name).toBe('grpo');
  });

  test('epsilon 0 and ddof 0 are possible', () => {
    expect(resolveEstimator({ epsilon: 0, ddof: 0 })).toMatchObject({ epsilon: 0, ddof: 0 });
  });

  test.each([
    ['grpo', [-0.7071057558059692, 0.7071057558059692]],
    ['gspo', [-0.7071057558059692, 0.7071057558059692]],
    ['cispo', [-0.7071057558059692, 0.7071057558059692]],
    ['reinforce_plus_plus_baseline', [-0.5, 0.5]],
    ['dr_grpo', [-0.5, 0.5]],
    ['ppo', [0, 1]],
    ['reinforce_plus_plus', [0, 1]],
    ['raw', [0, 1]],
  ] as const)('%s of rewards 0 and 1', async (estimator, advantages) => {
    const result = await engine.normalize({ reward: [0, 1] }, { estimator });
    expect([...result.advantages]).toEqual(advantages);
    expect(result.report.estimator).toBe(estimator);
  });
});

describe('pass-through', () => {
  test.each<[string, NormalizeOptions]>([
    ['raw', { estimator: 'raw' }],
    ['normalization disabled', { disableRewardsNormalization: true }],
  ])('%s gives every row its own reward, rounded once, zero being +0', async (_, options) => {
    const reward = [0.1, -0, 1e-46, 16777217, -3];
    const { advantages, rawRewards } = await engine.normalize({ reward, rolloutId: [1, 1, 1, 2, 2] }, options);
    expect([...advantages]).toEqual([Math.fround(0.1), 0, 0, 16777216, -3]);
    expect([...rawRewards]).toEqual(reward);
  });

  test('checks neither siblings nor sizes, and says where they would have failed', async () => {
    const batch = { reward: [1, 2, 3], rolloutId: [1, 1, 2] };
    const options = { estimator: 'raw', siblings: 'shared', promptGroupSizes: [1], strict: true } as const;
    const { advantages, report } = await engine.normalize(batch, options);
    expect([...advantages]).toEqual([1, 2, 3]);
    expect(report.warnings).toEqual([
      'prompt group sizes sum to 1 but the batch has 3 rows; this is not checked, as raw passes rewards through here',
      'strict grouping needs group_index on every row, and it is missing on row 1, row 2, row 3; this is not checked, as raw passes rewards through here',
      'siblings of 1 rollouts have different rewards; this is not checked, as raw passes rewards through here',
    ]);
  });

  test('checks missing rewards', async () => {
    await expect(engine.normalize({ reward: [1, null] }, { estimator: 'raw' })).rejects.toThrow(
      /^row 2: reward must be a finite number, found null/,
    );
  });

  test('refuses a reward past binary32', async () => {
    await expect(engine.normalize({ reward: [0, 1e39] }, { estimator: 'raw' })).rejects.toThrow(
      /^row 2: reward \S+: overflows binary32/,
    );
  });
});

describe('policies', () => {
  test('the default is mainstream, nothing excluded', () => {
    expect(resolvePolicies({})).toEqual({ siblings: 'mainstream', exclude: [] });
  });

  test('every policy and reason is known', () => {
    for (const siblings of SIBLING_POLICIES) expect(resolvePolicies({ siblings }).siblings).toBe(siblings);
    expect(resolvePolicies({ exclude: EXCLUSION_REASONS }).exclude).toEqual(EXCLUSION_REASONS);
  });

  test('a reason named twice counts once, at its first place', () => {
    expect(resolvePolicies({ exclude: ['failed', 'removed', 'failed'] }).exclude).toEqual(['failed', 'removed']);
  });
});

describe('options without effect are said', () => {
  test.each<[NormalizeOptions, string[]]>([
    [{ estimator: 'dr_grpo', epsilon: 1 }, ['epsilon has no effect: dr_grpo does not divide here']],
    [{ disableGrpoStdNormalization: true, ddof: 0 }, ['ddof has no effect: grpo does not divide here']],
    [{ epsilon: 1, ddof: 0 }, []],
  ])('%j', async (options, warnings) => {
    const { report } = await engine.normalize({ reward: [0, 1], groupIndex: [0, 0] }, options);
    expect(report.warnings).toEqual(warnings);
  });
});

test('output receives the advantages', async () => {
  const output = new Float32Array(2).fill(9);
  const { advantages } = await engine.normalize({ reward: [0, 1] }, { estimator: 'dr_grpo', output });
  expect(advantages).toBe(output);
  expect([...output]).toEqual([-0.5, 0.5]);
});
