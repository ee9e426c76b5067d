/** Several rewards of a row put together: a sum that overflows is refused by its row, never a missing reward. */
import { describe, expect, test } from 'vitest';
import { type Batch, createEngine, InputError, type NormalizeOptions } from '../../src/index.ts';

const engine = createEngine({ backend: 'cpu' });

describe('a weighted sum that overflows', () => {
  test.each<[string, Batch, NormalizeOptions]>([
    ['products that cancel', { rewards: { a: [1, 1e308, 2], b: [1, -1e308, 0] } }, { rewardWeights: [10, 10] }],
    ['a sum', { rewards: { a: [1, 1e308, 2], b: [1, 1e308, 0] } }, {}],
    [
      'a sum that would be bounded',
      { rewards: { a: [1, 1e308, 2], b: [1, 1e308, 0] } },
      { rewardWeights: [10, 10], clipReward: [0, 1] },
    ],
    [
      'of rewards that are normalized apart',
      { rewards: { a: [1, 1e308, 2], b: [1, 1, 0] } },
      { rewardWeights: [10, 10], estimator: 'gdpo' },
    ],
    [
      'of rewards that are bounded apart, as they were given',
      { rewards: { a: [1, 1e308, 2], b: [1, 1, 0] } },
      { rewardWeights: [10, 10], estimator: 'gdpo', clipReward: [0, 1] },
    ],
  ])('%s: names the row', async (_, batch, options) => {
    for (const exclude of [[], ['missing-reward']] as const) {
      const failure = await engine.normalize(batch, { ...options, exclude }).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(InputError);
      expect((failure as Error).message).toMatch(/^row 2: reward: the weighted sum of its parts is past binary64/);
    }
  });

  test('by 1 each, where weights bring it back, is none', async () => {
    const { rawRewards } = await engine.normalize(
      { rewards: { a: [1, 1e308], b: [1, 1e308] } },
      { rewardWeights: [0.25, 0.25], estimator: 'dr_grpo', clipReward: [-1, 1] },
    );
    expect([...rawRewards]).toEqual([0.5, 5e307]);
  });
});
