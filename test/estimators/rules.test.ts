/** Every estimator and option against exact arithmetic, and the CPU against the GPU, on seeded batches. */
import { afterAll, describe, expect, test } from 'vitest';
import { DIALECTS, type DialectName } from '../../src/estimators/dialects.ts';
import { ESTIMATORS, type EstimatorName } from '../../src/estimators/estimators.ts';
import { createEngine, type Engine } from '../../src/index.ts';
import { checkOptions, type NormalizeOptions } from '../../src/options.ts';
import { type ExactRollout, exactRuleAdvantages, outsideRuleBound } from '../support/exact-rules.ts';
import { Random } from '../support/random.ts';

const SEED = 0x65_73_74;
const SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 65];

/** Kinds of rewards. Those of opposite signs cancel in means and sums. */
const KINDS: Readonly<Record<string, (random: Random) => number>> = {
  'zeros and ones': (random) => random.integer(0, 1),
  decimals: (random) => random.integer(0, 20) / 10,
  signed: (random) => random.integer(-50, 50) / 7,
  'mixed magnitudes': (random) => (random.next() - 0.4) * 10 ** random.integer(-4, 4),
  'far from zero': (random) => 1e6 + random.integer(0, 3),
};

/** Software drivers are slow: these are enough to meet every branch of the kernels, which have tests of their own. */
const ON_GPU = [KINDS['zeros and ones'], KINDS['mixed magnitudes']];

const cpu = createEngine({ backend: 'cpu' });
const tiled = createEngine({ backend: 'cpu', cpuLimits: { pieceLength: 4, tileRollouts: 5, tileRows: 11 } });
const gpu = createEngine({ backend: 'webgpu' });
const slicedGpu = createEngine({ backend: 'webgpu', gpuLimits: { pieceLength: 8, bindingBytes: 256 } });
afterAll(async () => {
  for (const engine of [cpu, tiled, gpu, slicedGpu]) await engine.close();
});

interface RandomBatch {
  readonly groups: readonly (readonly ExactRollout[])[];
  readonly batch: Parameters<Engine['normalize']>[0];
}

/** Rollouts of two rows each; the tokens of a rollout are those of both. */
function batchOf(kind: (random: Random) => number, seed: number): RandomBatch {
  const random = new Random(seed);
  const groups = SIZES.map((size) =>
    Array.from({ length: size }, () => ({
      rewards: [kind(random), kind(random)],
      tokens: 2 * random.integer(0, 9),
      baseline: kind(random),
    })),
  );
  const rows = groups.flatMap((rollouts, group) =>
    rollouts.flatMap((rollout) => [0, 1].map(() => ({ ...rollout, group }))),
  );
  const rolloutId = rows.map((_, row) => row >> 1);
  return {
    groups,
    batch: {
      rewards: { a: rows.map(({ rewards }) => rewards[0]), b: rows.map(({ rewards }) => rewards[1]) },
      baseline: rows.map(({ baseline }) => baseline),
      groupIndex: rows.map(({ group }) => group),
      rolloutId,
      trainableTokens: rows.map(({ tokens }) => tokens / 2),
    },
  };
}

const CASES: readonly (readonly [name: string, options: NormalizeOptions])[] = [
  ...(Object.keys(ESTIMATORS) as EstimatorName[])
    .filter((estimator) => ESTIMATORS[estimator].baseline !== 'pass-through')
    .flatMap((estimator): [string, NormalizeOptions][] => [
      [estimator, { estimator }],
      [`${estimator}, ddof 0, epsilon 0.01`, { estimator, ddof: 0, epsilon: 0.01 }],
      [`${estimator}, bounded`, { estimator, clip: [-0.5, 0.75] }],
      [`${estimator}, weighed by tokens`, { estimator, weight: 'tokens' }],
      [`${estimator}, flat below 0.4`, { estimator, minStd: 0.4 }],
    ]),
  ...(['mean', 'leave-one-out', 'median', 'none'] as const).flatMap((baseline) =>
    (['group', 'batch', 'mad', 'none'] as const).map((scale): [string, NormalizeOptions] => [
      `baseline ${baseline}, scale ${scale}`,
      { estimator: 'grpo', baseline, scale },
    ]),
  ),
  ['gdpo with weights', { estimator: 'gdpo', rewardWeights: [0.25, -3] }],
  ['opo, scale group', { estimator: 'opo', scale: 'group' }],
  ['remax, scale batch', { estimator: 'remax', scale: 'batch' }],
  ['grpo_passk, scale mad', { estimator: 'grpo_passk', scale: 'mad' }],
];

/** Dialects share many rules: each is tried once, under the first name that has it. */
const DIALECT_CASES = [
  ...new Map(
    (Object.keys(DIALECTS) as DialectName[])
      .flatMap((like) =>
        (Object.keys(DIALECTS[like].estimators) as EstimatorName[]).map((name) => [like, name] as const),
      )
      .filter(([like, name]) => ESTIMATORS[name].baseline !== 'pass-through' || like === 'verl')
      .map(([like, estimator]): [string, [string, NormalizeOptions]] => {
        const { name: _, ...rule } = checkOptions({ like, estimator }).estimator;
        return [JSON.stringify(rule), [`${estimator} like ${like}`, { like, estimator }]];
      })
      .reverse(), // the first of equal keys is to win
  ).values(),
].reverse();

describe.each([...CASES, ...DIALECT_CASES])('%s', (_, options) => {
  const { estimator } = checkOptions(options);
  // What is tested is the rule; groups and representatives have tests of their own.
  const own = { ...options, siblings: options.siblings ?? 'mainstream', exclude: [] } as const;
  const passes = estimator.baseline === 'pass-through';

  test.each(Object.entries(KINDS))('keeps the accuracy bound on %s, with one result everywhere', async (_, kind) => {
    const { groups, batch } = batchOf(kind, SEED);
    const byPosition = checkOptions(options).byPosition;
    const promptGroupSizes = byPosition ? groups.map((group) => 2 * group.length) : undefined;
    const asked = { ...own, promptGroupSizes };
    const result = await cpu.normalize(batch, asked);
    const bits = (array: Float32Array) => [...new Uint32Array(array.buffer, array.byteOffset, array.length)];
    for (const engine of ON_GPU.includes(kind) ? [tiled, gpu, slicedGpu] : [tiled]) {
      const other = await engine.normalize(batch, asked);
      expect(bits(other.advantages)).toEqual(bits(result.advantages));
      expect({ ...other.report, seconds: 0, backend: 0, backend_reason: 0, adapter: 0 }).toEqual({
        ...result.report,
        ...{ seconds: 0, backend: 0, backend_reason: 0, adapter: 0 },
      });
    }
    if (passes) return;
    const rewardsOf = (rollout: ExactRollout) =>
      estimator.perReward ? rollout.rewards : [rollout.rewards[0] + rollout.rewards[1]];
    const clipped = (reward: number) =>
      estimator.clipReward ? Math.min(Math.max(reward, estimator.clipReward[0]), estimator.clipReward[1]) : reward;
    const counted = groups.map((rollouts) =>
      rollouts.map((rollout) => ({ ...rollout, rewards: rewardsOf(rollout).map(clipped) })),
    );
    const settings = {
      rule: estimator,
      rewardWeights: estimator.rewardWeights ?? undefined,
      clip: estimator.clip ?? undefined,
    };
    const exact = exactRuleAdvantages(counted, settings);
    let from = 0;
    const found = groups.map((rollouts) => rollouts.map(() => result.advantages[2 * from++]));
    expect(outsideRuleBound(found, exact, estimator)).toEqual([]);
  });
});
