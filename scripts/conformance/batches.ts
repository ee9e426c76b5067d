/** The small batches that every conformance file computes, group by group; null is a missing reward. */

export interface ConformanceBatch {
  readonly about: string;
  readonly rewards: readonly (readonly (number | null)[])[];
  readonly tokens: readonly (readonly number[])[];
  readonly baselines: readonly (readonly number[])[];
  /** A second reward of every rollout, for estimators that normalize each by itself. */
  readonly secondRewards?: readonly (readonly number[])[];
}

const SIZES = {
  rewards: [
    [0.7],
    [1, 0],
    [0.1, 0.2, 0.4],
    [-1.5, 0.25, 0.25, -0.75, 2, -3, 0.125, 1],
    [0.9, 0.9, 0.9],
    [1, 0.3, 1],
    [0, 0, 0, 1],
  ],
  tokens: [[5], [12, 3], [7, 7, 1], [4, 9, 2, 16, 1, 8, 3, 5], [6, 2, 4], [3, 8, 8], [10, 20, 30, 15]],
  baselines: [
    [0.5],
    [0.25, 0.25],
    [0.3, 0.1, 0.4],
    [-1, -1, 0, 0.5, 0.5, -2, 0.125, 1],
    [0.9, 0.5, 1],
    [1, 1, 0],
    [0.1, 0.1, 0.1, 0.1],
  ],
} as const;

export const BATCHES = {
  sizes: {
    about:
      'groups of 1, 2, 3 and 8; one flat (0.9 is no binary fraction), one with a tie for the best, one with equal peers; decimals and negative rewards',
    ...SIZES,
  },
  shifted: {
    about: 'eighths, and the same eighths + 1000: rules that subtract a mean give the same advantages to both groups',
    rewards: [
      [0, 0.125, 0.375, 1, 0.5],
      [1000, 1000.125, 1000.375, 1001, 1000.5],
    ],
    tokens: [
      [3, 1, 4, 1, 5],
      [3, 1, 4, 1, 5],
    ],
    baselines: [
      [0.25, 0.25, 0.25, 0.25, 0.25],
      [1000.25, 1000.25, 1000.25, 1000.25, 1000.25],
    ],
  },
  flat: {
    about: 'nothing but flat groups',
    rewards: [
      [0.1, 0.1, 0.1],
      [2, 2],
    ],
    tokens: [
      [2, 3, 4],
      [5, 6],
    ],
    baselines: [
      [0.1, 0.1, 0.1],
      [1, 1],
    ],
  },
  missing: {
    about: 'missing rewards: not counted, advantage 0; one group keeps a single rollout, one none',
    rewards: [
      [0.5, null, 1.5, 0],
      [null, 2, null, null],
      [null, null, null, null],
      [0.1, 0.2, 0.4, 0.8],
    ],
    tokens: [
      [3, 1, 4, 1],
      [5, 9, 2, 6],
      [5, 3, 5, 8],
      [9, 7, 9, 3],
    ],
    baselines: [
      [0.5, 0.5, 0.5, 0.5],
      [1, 1, 1, 1],
      [0, 0, 0, 0],
      [0.1, 0.2, 0.3, 0.4],
    ],
  },
  two_rewards: {
    about: 'two rewards of every rollout; the second is flat in one group where the first is not',
    ...SIZES,
    secondRewards: [
      [0.2],
      [0.5, 0.5],
      [1, 0, 1],
      [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
      [0, 1, 0],
      [-1, -2, 3],
      [0.9, 0.9, 0.9, 0.9],
    ],
  },
} as const satisfies Record<string, ConformanceBatch>;

export type BatchName = keyof typeof BATCHES;
export const BATCH_NAMES = Object.keys(BATCHES) as BatchName[];

/** Names of the two rewards. */
export const REWARD_KEYS = ['first', 'second'] as const;
