import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createEngine, InputError, type NormalizeOptions, UsageError } from '../../src/index.ts';
import { checkOptions } from '../../src/options.ts';
import { exactRuleAdvantages } from '../support/exact-rules.ts';
import {
  apart,
  exactAdvantages,
  exactly,
  integerSquareRoot,
  outsideBound,
  type Rule,
  roundToBinary32,
  ulpOfBinary32,
} from '../support/oracle.ts';
import { huge, large, Random, REWARD_CLASSES, type RewardClass, subnormals } from '../support/random.ts';

const engine = createEngine({ backend: 'cpu' });

/** Sizes on both sides of the first few pairings, and one group that is larger than any training uses. */
const GROUP_SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 64, 257];

/** The rules of the two estimators under every option that changes a number. */
const RULES: [string, NormalizeOptions, Rule][] = [
  ['dr_grpo', { estimator: 'dr_grpo' }, { divide: false, ddof: 1, epsilon: 0 }],
  ...([0, 1] as const).flatMap((ddof) =>
    [1e-6, 0, 1].map((epsilon): [string, NormalizeOptions, Rule] => [
      `grpo, ddof ${ddof}, epsilon ${epsilon}`,
      { estimator: 'grpo', ddof, epsilon },
      { divide: true, ddof, epsilon },
    ]),
  ),
];

/** One batch, one prompt group per list of rewards; the advantages come back list by list. */
async function advantagesOf(groups: readonly number[][], options: NormalizeOptions = {}): Promise<number[][]> {
  const { advantages } = await engine.normalize(
    { reward: groups.flat(), groupIndex: groups.flatMap((rewards, group) => rewards.map(() => group)) },
    options,
  );
  let from = 0;
  return groups.map((rewards) => {
    from += rewards.length;
    return [...advantages.subarray(from - rewards.length, from)];
  });
}

function groupsOf(rewardClass: RewardClass, seed: number, perSize = 4): number[][] {
  const random = new Random(seed);
  return GROUP_SIZES.flatMap((size) => Array.from({ length: perSize }, () => rewardClass(random, size)));
}

const neverMinusZero = (advantages: number[]) => !advantages.some((value) => Object.is(value, -0));

describe('the oracle', () => {
  test.each([
    ['0', 0, 0],
    ['1/3 of binary64', 1 / 3, Math.fround(1 / 3)],
    ['half way goes to even, down', 1 + 2 ** -24, 1],
    ['half way goes to even, up', 1 + 3 * 2 ** -24, 1 + 2 ** -22],
    ['the smallest subnormal', 2 ** -149, 2 ** -149],
    ['half the smallest subnormal', 2 ** -150, 0],
    ['more than half of it', -(2 ** -150) * 1.5, -(2 ** -149)],
    ['the largest', 2 ** 128 - 2 ** 104, 2 ** 128 - 2 ** 104],
    ['half a step past the largest', 2 ** 128 - 2 ** 103, Infinity],
    ['less than half a step past it', 2 ** 128 - 2 ** 103 - 2 ** 80, 2 ** 128 - 2 ** 104],
  ])('rounds %s', (_, value, rounded) => {
    expect(roundToBinary32(exactly(value))).toBe(rounded);
  });

  test('rounds every double as Math.fround does, zero being +0', () => {
    const narrow = fc.double({ noNaN: true, noDefaultInfinity: true, min: -4e38, max: 4e38 });
    const subnormal = fc.integer({ min: -(2 ** 30), max: 2 ** 30 }).map((value) => value * 2 ** -175);
    fc.assert(
      fc.property(fc.oneof(narrow, subnormal), (value) =>
        Object.is(roundToBinary32(exactly(value)), Math.fround(value) + 0),
      ),
      { numRuns: 2000 },
    );
  });

  test('has integer square roots', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 200n }), (value) => {
        const root = integerSquareRoot(value);
        return root * root <= value && (root + 1n) * (root + 1n) > value;
      }),
    );
  });

  test.each([
    ['two rewards, ddof 1', [0, 1], { divide: true, ddof: 1, epsilon: 0 }, [-Math.SQRT1_2, Math.SQRT1_2]],
    ['two rewards, ddof 0', [0, 1], { divide: true, ddof: 0, epsilon: 0 }, [-1, 1]],
    ['epsilon', [0, 1], { divide: true, ddof: 0, epsilon: 0.5 }, [-0.5, 0.5]],
    ['centre', [1e6, 1e6 + 1, 1e6 + 2], { divide: false, ddof: 1, epsilon: 0 }, [-1, 0, 1]],
    ['three, s = 1', [1e6, 1e6 + 1, 1e6 + 2], { divide: true, ddof: 1, epsilon: 0 }, [-1, 0, 1]],
  ] as [string, number[], Rule, number[]][])('knows %s', (_, rewards, rule, advantages) => {
    expect(exactAdvantages(rewards, rule).map(roundToBinary32)).toEqual(advantages.map(Math.fround));
  });

  test('refuses an advantage two steps off, and one that is no number', () => {
    const exact = exactAdvantages([0, 1, 1, 3], { divide: true, ddof: 1, epsilon: 0 });
    const right = exact.map(roundToBinary32);
    expect(outsideBound(right, exact)).toEqual([]);
    const step = ulpOfBinary32(exact[3]);
    const wrong = right.with(3, right[3] + (2 * Number(step.numerator)) / Number(step.denominator));
    expect(outsideBound(wrong, exact)).toHaveLength(1);
    expect(outsideBound(right.with(0, Number.NaN), exact)).toHaveLength(1);
    expect(apart(right, wrong, exact)).toEqual([]);
    expect(apart(right, right.with(3, -right[3]), exact)).toHaveLength(1);
  });
});

describe.each(RULES)('%s', (_, options, rule) => {
  test.each(Object.entries(REWARD_CLASSES))('keeps the accuracy bound on %s', async (_, rewardClass) => {
    for (const [seed, perSize] of [
      [1, 4],
      [2, 4],
    ]) {
      const groups = groupsOf(rewardClass, seed, perSize);
      const advantages = await advantagesOf(groups, options);
      for (const [group, rewards] of groups.entries()) {
        const outside = outsideBound(advantages[group], exactAdvantages(rewards, rule));
        expect(outside, `rewards ${rewards.join(', ')}`).toEqual([]);
        expect(advantages[group]).toSatisfy(neverMinusZero);
      }
    }
  });

  test.each(Object.entries(REWARD_CLASSES))(
    'stays within twice the bound in any order of %s',
    async (_, rewardClass) => {
      const random = new Random(3);
      const groups = groupsOf(rewardClass, 4, 2);
      const orders = groups.map((rewards) => random.shuffled(rewards.map((_, i) => i)));
      const inOrder = await advantagesOf(groups, options);
      const shuffled = await advantagesOf(
        groups.map((rewards, group) => orders[group].map((i) => rewards[i])),
        options,
      );
      for (const [group, rewards] of groups.entries()) {
        const back = rewards.map((_, i) => shuffled[group][orders[group].indexOf(i)]);
        expect(apart(inOrder[group], back, exactAdvantages(rewards, rule)), rewards.join(', ')).toEqual([]);
      }
    },
  );

  test('keeps the accuracy bound on any doubles between 1e-100 and 1e30', async () => {
    const sizes = { min: 1e-100, max: 1e30, noNaN: true };
    const reward = fc.oneof(
      fc.double(sizes),
      fc.double(sizes).map((value) => -value),
      fc.constantFrom(0, -0, 0.1, 0.9),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(reward, { minLength: 1, maxLength: 20 }), async (rewards) => {
        const [advantages] = await advantagesOf([rewards], options);
        expect(outsideBound(advantages, exactAdvantages(rewards, rule))).toEqual([]);
        expect(advantages).toSatisfy(neverMinusZero);
      }),
      { numRuns: 300 },
    );
  });

  test.each([0, -0, 1, 0.1, 0.9, 0.35, 1 / 3, 1e6 + 0.1, 1e15, 1e300, -1.7e308, 2 ** -1074])(
    'gives a flat group of %d exactly 0, and a single one too',
    async (reward) => {
      const groups = [2, 3, 8, 100, 1].map((size) => Array.from({ length: size }, () => reward));
      for (const advantages of await advantagesOf(groups, options)) {
        expect(advantages.every((value) => Object.is(value, 0))).toBe(true);
      }
    },
  );

  test('takes -0 and 0 for equal: the group is flat', async () => {
    const { advantages, report } = await engine.normalize({ reward: [-0, 0, -0], groupIndex: [1, 1, 1] }, options);
    expect([...advantages]).toEqual([0, 0, 0]);
    expect(report.flat_groups).toBe(1);
  });

  test('counts flat groups and single rollouts apart', async () => {
    const batch = { reward: [1, 1, 5, 2, 3, 4], groupIndex: [0, 0, 1, 2, 2, 3] };
    const { report } = await engine.normalize(batch, options);
    expect([report.groups, report.flat_groups, report.singleton_groups]).toEqual([4, 1, 2]);
  });
});

describe('magnitudes at the ends of binary64', () => {
  const dividing = RULES.filter(([, , rule]) => rule.divide);
  const withEpsilon = dividing.filter(([, , { epsilon }]) => epsilon > 0);

  test.each(dividing)('large rewards whose squares fit keep the bound: %s', async (_, options, rule) => {
    const groups = groupsOf(large, 5);
    const advantages = await advantagesOf(groups, options);
    for (const [group, rewards] of groups.entries())
      expect(outsideBound(advantages[group], exactAdvantages(rewards, rule))).toEqual([]);
  });

  test.each([RULES[0], ...withEpsilon])('subnormal rewards keep the bound: %s', async (_, options, rule) => {
    const groups = groupsOf(subnormals, 6);
    const advantages = await advantagesOf(groups, options);
    for (const [group, rewards] of groups.entries())
      expect(outsideBound(advantages[group], exactAdvantages(rewards, rule))).toEqual([]);
  });

  test.each(dividing.filter(([, , { epsilon }]) => epsilon === 0))(
    'a divisor that vanishes is bad input: %s',
    async (_, options) => {
      const groups = [[0, 1], [0, 2 ** -1074], [3]];
      await expect(advantagesOf(groups, options)).rejects.toThrow(InputError);
      await expect(advantagesOf(groups, options)).rejects.toThrow(
        /^group 2 \(group_index 1, row 3 to row 4\): reward: /,
      );
      await expect(advantagesOf([[0, 1e-170, 3e-170]], options)).rejects.toThrow(/divisor/);
    },
  );

  test.each(dividing)(
    'a variance that binary64 holds in full digits is not refused, however small: %s',
    async (_, options, rule) => {
      const rewards = [1, 2, 4, 8].map((value) => value * 2 ** -490);
      const [advantages] = await advantagesOf([rewards], options);
      expect(outsideBound(advantages, exactAdvantages(rewards, rule))).toEqual([]);
    },
  );

  test.each(dividing)('a variance that overflows is bad input: %s', async (_, options) => {
    const groups = [[0, 1], [5], [1e200, 0, 3]];
    await expect(advantagesOf(groups, options)).rejects.toThrow(InputError);
    await expect(advantagesOf(groups, options)).rejects.toThrow(
      /^group 3 \(group_index 2, row 4 to row 6\): reward: .*overflows binary64/,
    );
  });

  test.each(RULES)('a sum or a difference that overflows is bad input: %s', async (_, options) => {
    for (const rewards of [
      [1.7e308, -1.7e308],
      [-1e308, 1e308, 1e308, 1e308],
      [0, 1.7e308, 1.7e308, -1.7e308, -1.7e308],
    ])
      await expect(advantagesOf([[0, 1], rewards], options)).rejects.toThrow(/group 2 \(group_index 1, /);
  });

  test.each(RULES)('rewards around 1e300 that differ are bad input naming the group: %s', async (_, options) => {
    const random = new Random(7);
    for (const size of [2, 3, 9]) {
      const rewards = [...huge(random, size - 1), 2e303];
      const failure = advantagesOf([[0, 1], rewards], options);
      await expect(failure).rejects.toThrow(InputError);
      await expect(failure).rejects.toThrow(/group 2 \(group_index 1, row 3 to row \d+\)/);
    }
  });

  test('an advantage past binary32 is bad input naming row and group', async () => {
    const failure = advantagesOf([[0, 1], [0, 1e39], [2]], { estimator: 'dr_grpo' });
    await expect(failure).rejects.toThrow(InputError);
    await expect(failure).rejects.toThrow(/^row 3: reward 0: .*overflows binary32 \(group 2 \(group_index 1, /);
    const small = advantagesOf([[0, 1e-320, 0]], { epsilon: 0 });
    await expect(small).rejects.toThrow(/^group 1 /);
  });

  test('the largest advantage that binary32 holds is no overflow', async () => {
    const most = 2 ** 128 - 2 ** 104;
    expect(await advantagesOf([[most, -most]], { estimator: 'dr_grpo' })).toEqual([[most, -most]]);
    await expect(advantagesOf([[most, -most, 0, 2 ** 128, -(2 ** 128)]], { estimator: 'dr_grpo' })).rejects.toThrow(
      /overflows binary32/,
    );
  });
});

describe('digits', () => {
  const exactOf = (rewards: readonly number[], options: NormalizeOptions, tokens?: readonly number[]) =>
    exactRuleAdvantages([rewards.map((reward, i) => ({ rewards: [reward], tokens: tokens?.[i] ?? 1 }))], {
      rule: checkOptions(options).estimator,
    })[0];

  test.each([
    [1e20, 1, 2],
    [1e30, 1e10, 1, 2],
    [1, 2, 1e20],
    [2 ** 53, 2 ** 53 + 2],
    [0, 2 ** 53, 2 ** 53 + 2, 2 ** 53 + 6],
    [-1e15, 1e15, 1e15 + 1, 1e15 + 2],
  ])('of a median and of the distances from it do not depend on the first reward: %d, %d', async (...rewards) => {
    for (const options of [
      { scale: 'mad' },
      { scale: 'mad', baseline: 'median' },
      { estimator: 'dr_grpo', baseline: 'median' },
    ] as const) {
      const [advantages] = await advantagesOf([rewards], options);
      expect(outsideBound(advantages, exactOf(rewards, options)), JSON.stringify(options)).toEqual([]);
    }
  });

  test('of a median distance are not those of a group that is not scaled', async () => {
    for (const rewards of [
      [0, 2 ** -1074],
      [0, 0, 2 ** -1074, 2 ** -1074],
    ])
      await expect(advantagesOf([rewards], { scale: 'mad', epsilon: 0 })).rejects.toThrow(/median distance vanishes/);
  });

  test.each(['mad', 'none', 'group'] as const)(
    'that a limit of deviations would need are refused: %s',
    async (scale) => {
      for (const rewards of [
        [0, 1e-170, 3e-170],
        [0, 1e-200],
      ])
        await expect(advantagesOf([rewards], { scale, epsilon: 0, minStd: 1e-250 })).rejects.toThrow(/vanishes/);
      // A limit that no such deviation can reach decides.
      expect(await advantagesOf([[0, 1e-200]], { scale, minStd: 1e-3 })).toEqual([[0, 0]]);
    },
  );

  test('of a mean that is lost are refused', async () => {
    for (const rewards of [
      [0, 2 ** -1074, 2 ** -1074],
      [0, 2 ** -1074, 0, 2 ** -1074],
    ])
      await expect(advantagesOf([rewards], { estimator: 'maxrl' })).rejects.toThrow(/mean vanishes/);
  });

  test('of a mean are kept where rewards cancel, as far as binary32 has the quotient', async () => {
    const rewards = [2 ** 110, 2 ** 55, 1, -(2 ** 110), -(2 ** 55)];
    const options = { estimator: 'maxrl' } as const;
    const [advantages] = await advantagesOf([rewards], options);
    expect(outsideBound(advantages, exactOf(rewards, options))).toEqual([]);
    expect(advantages[0]).toBeGreaterThan(1e33);
  });

  test('of a step over tokens do not depend on a rollout that has none', async () => {
    const reward = [1e20, 2, 1];
    const trainableTokens = [0, 1, 5];
    const options = { estimator: 'dr_grpo', baseline: 'none', weight: 'tokens' } as const;
    const { advantages } = await engine.normalize({ reward, trainableTokens }, options);
    expect(outsideBound([...advantages], exactOf(reward, options, trainableTokens))).toEqual([]);
  });

  test('that overflow are no advantage, bounded or not', async () => {
    const reward = [0, 1e300, 3e300];
    const trainableTokens = [1, 2 ** 31, 2 ** 31];
    for (const clip of [undefined, [-1, 1], [-1, Number.POSITIVE_INFINITY]] as const)
      await expect(engine.normalize({ reward, trainableTokens }, { estimator: 'opo', clip })).rejects.toThrow(
        /overflows/,
      );
    // What is finite in binary64 is bounded.
    const { advantages } = await engine.normalize({ reward }, { estimator: 'dr_grpo', clip: [-1, 1] });
    expect([...advantages]).toEqual([-1, -1, 1]);
  });
});

describe('a divisor that is that of the batch', () => {
  const ofBatch: NormalizeOptions = { scale: 'batch', epsilon: 0 };

  test.each([{ baseline: 'mean' }, { baseline: 'none' }] as const)('vanishes: bad input, %j', async (more) => {
    const groups = [
      [0, 1e-200],
      [0, 1e-200],
    ];
    await expect(advantagesOf(groups, { ...ofBatch, ...more })).rejects.toThrow(/^the batch: reward: .*vanishes/);
  });

  test.each([
    [[3, 3], [3]],
    [
      [0, 0],
      [1e-200, 1e-200],
    ],
    [[0, -0], [1e200, 1e200], [-1e200]],
    [
      [1.7e308, 1.7e308],
      [-1.7e308, -1.7e308],
    ],
  ])('is not asked for where every group is flat: %j', async (...groups) => {
    for (const epsilon of [0, 1e-150])
      expect(await advantagesOf(groups, { ...ofBatch, epsilon })).toEqual(groups.map((group) => group.map(() => 0)));
  });

  test('is epsilon where all rewards are equal and none is subtracted', async () => {
    const groups = [[3e-150, 3e-150], [3e-150]];
    const options = { ...ofBatch, baseline: 'none', epsilon: 1e-150 } as const;
    expect(await advantagesOf(groups, options)).toEqual([[3, 3], [3]]);
    await expect(advantagesOf(groups, { ...options, epsilon: 0 })).rejects.toThrow(/^the batch: /);
  });
});

describe('a divisor that each rollout has of its own', () => {
  const peers: NormalizeOptions = { like: 'nemo-rl', siblings: 'mainstream' };
  const { estimator: rule } = checkOptions(peers);
  const both = (groups: readonly number[][], options: NormalizeOptions) => {
    const reward = groups.flat();
    const groupIndex = groups.flatMap((rewards, group) => rewards.map(() => group));
    const rewards = { a: reward.map((_, row) => row % 3), b: reward };
    return engine.normalize(options.estimator === 'gdpo' ? { rewards, groupIndex } : { reward, groupIndex }, options);
  };

  test.each([peers, { ...peers, estimator: 'gdpo' as const }])('that overflows is bad input: %j', async (options) => {
    for (const rewards of [
      [1e200, -1e200, 0],
      [1e200, 0, 0, 0],
      [0, 1e200, 1e200, 1e200],
    ])
      await expect(both([[0, 1], rewards], options)).rejects.toThrow(/^group 2 \(.*: reward: .*overflows binary64/);
  });

  test.each([peers, { ...peers, estimator: 'gdpo' as const }])('that vanishes is bad input: %j', async (options) => {
    const tiny = { ...options, epsilon: 0 };
    for (const rewards of [
      [0, 1e-170, 3e-170],
      [0, 2 ** -1074, 0, 0],
    ])
      await expect(both([[0, 1], rewards], tiny)).rejects.toThrow(/^group 2 \(.*vanishes in binary64/);
  });

  test('is 1 where the others are equal, and only there, wherever they stand', async () => {
    const one = { ...peers, epsilon: 0 };
    for (const rewards of [
      [0, 1e-150],
      [7, 7, 7, 7 + 1e-14],
      [3, 0.1, 0.1],
      [0.1, 3, 0.1],
      [0.1, -0.1, 0, -0],
    ]) {
      const { advantages } = await both([rewards], one);
      const exact = exactRuleAdvantages([rewards.map((reward) => ({ rewards: [reward], tokens: 1 }))], {
        rule: checkOptions(one).estimator,
      });
      expect(outsideBound([...advantages], exact[0]), String(rewards)).toEqual([]);
    }
  });

  test.each([
    [1e20, 1, 2],
    [1, 1e20, 2],
    [1, 2, 1e20],
    [1e9, 0.1, 0.2, 0.3],
    [1e15, 1e15 + 1, 1e15 + 2, 0],
    [0, 1e15, 1e15 + 1, 1e15 + 3],
    [1e30, 1e10, 1, 2],
    [-1e12, 1e15, 1e15 + 1, 1e15 + 3, 5],
  ])('costs the others no digits where one is far away: %d, %d, %d', async (...rewards) => {
    const [advantages] = await advantagesOf([rewards], peers);
    const exact = exactRuleAdvantages([rewards.map((reward) => ({ rewards: [reward], tokens: 1 }))], { rule });
    expect(outsideBound(advantages, exact[0])).toEqual([]);
  });
});

describe('limits of the CPU', () => {
  const random = new Random(8);
  const sizes = [1, 3, 700, 2, 64, 65, 63, 1, 129, 8, 8, 8, 300];
  // Rewards come in pairs of opposite sign among zeros: the mean is rounding noise, so every bit of the sums shows.
  const rows = random.shuffled(
    sizes.flatMap((size, group) =>
      Array.from({ length: size }, (_, i) => {
        const sign = [1, -1, 0][i % 3];
        const size64 = new Random(1000 * group + Math.floor(i / 3));
        return {
          group,
          rollout: group % 2 === 0 ? i : random.integer(0, Math.ceil(size / 2)),
          reward: sign * (size64.next() + 0.1) * 10 ** size64.integer(-3, 3),
          mask: Array.from({ length: random.integer(0, 300) }, () => random.integer(0, 1)),
        };
      }),
    ),
  );
  const batch = {
    reward: rows.map(({ reward }) => reward),
    groupIndex: rows.map(({ group }) => group),
    rolloutId: rows.map(({ rollout }) => rollout),
    lossMask: rows.map(({ mask }) => mask),
  };
  const limits = [
    ...[2, 4, 64, 1024].map((pieceLength) => ({ pieceLength })),
    ...[1, 2, 10, 500].map((tileRollouts) => ({ tileRollouts })),
    ...[1, 2, 10, 500].map((tileRows) => ({ tileRows })),
    { pieceLength: 2, tileRollouts: 1, tileRows: 1 },
    { pieceLength: 8, tileRollouts: 100, tileRows: 77 },
  ];
  const options: NormalizeOptions[] = [
    { siblings: 'mainstream' },
    { siblings: 'max' },
    { siblings: 'mean', estimator: 'dr_grpo' },
    { siblings: 'last', exclude: ['untrainable'] },
    { siblings: 'rows', ddof: 0, epsilon: 0 },
  ];

  test.each(limits)('%j give the bits that the defaults give', async (cpuLimits) => {
    for (const option of options) {
      const expected = await engine.normalize(batch, option);
      const actual = await createEngine({ backend: 'cpu', cpuLimits }).normalize(batch, option);
      expect(new Uint32Array(actual.advantages.buffer)).toEqual(new Uint32Array(expected.advantages.buffer));
      expect(actual.report.excluded).toEqual(expected.report.excluded);
      expect(actual.report.flat_groups).toBe(expected.report.flat_groups);
    }
  });

  test('the batch is one whose bits depend on the order, so the comparison can fail', async () => {
    const backwards = Object.fromEntries(
      Object.entries(batch).map(([field, column]) => [field, column.toReversed()]),
    ) as unknown as typeof batch;
    const forwards = await engine.normalize(batch, { siblings: 'rows' });
    const other = await engine.normalize(backwards, { siblings: 'rows' });
    expect([...other.advantages].reverse()).not.toEqual([...forwards.advantages]);
  });

  test.each([3, 48])('a pieceLength of %d, no power of two, is refused: it would change bits', async (pieceLength) => {
    const normalize = async () => createEngine({ backend: 'cpu', cpuLimits: { pieceLength } }).normalize(batch);
    const outcome = await normalize().then(
      () => 'accepted',
      (error: unknown) => error,
    );
    expect(outcome).toBeInstanceOf(UsageError);
  });
});

test('a batch without rows has no advantages and no groups', async () => {
  const { advantages, report } = await engine.normalize({ reward: [] });
  expect([advantages.length, report.rows, report.rollouts, report.groups]).toEqual([0, 0, 0, 0]);
});
