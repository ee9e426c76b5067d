/** The oracle of rules against answers worked out by hand, one option at a time, and against the laws they obey. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BatchStep, Rule } from '../../src/estimators/rule.ts';
import {
  type ExactRollout,
  type ExactSettings,
  exactRuleAdvantages,
  outsideRuleBound,
} from '../support/exact-rules.ts';
import { exactAdvantages, exactly, GRPO, type Rational, roundToBinary32 } from '../support/oracle.ts';
import { isGreater, product, squareRoot } from '../support/rational.ts';

const CENTRED: Rule = {
  baseline: 'mean',
  scale: 'none',
  ddof: 1,
  epsilon: 0,
  minStd: 0,
  singleton: 'zero',
  meanMustBePositive: false,
  perReward: false,
  step: null,
};
const SCALED: Rule = { ...CENTRED, scale: 'group' };
const WHITENED: BatchStep = { weight: 'rollouts', ddof: 0, epsilon: 0, epsilonAt: 'outside' };
const [ROOT2, ROOT3] = [Math.SQRT2, Math.sqrt(3)];

/** Advantages of groups of one reward, in binary32. */
function advantagesOf(
  rewards: readonly (readonly number[])[],
  rule: Rule,
  { tokens, baselines, ...settings }: { tokens?: number[][]; baselines?: number[][] } & Partial<ExactSettings> = {},
): number[][] {
  const groups = rewards.map((group, at) =>
    group.map((reward, i): ExactRollout => {
      const rollout = { rewards: [reward], tokens: tokens?.[at][i] ?? 1 };
      return baselines ? { ...rollout, baseline: baselines[at][i] } : rollout;
    }),
  );
  return exactRuleAdvantages(groups, { rule, ...settings }).map((group) => group.map(roundToBinary32));
}

const rounded = (groups: readonly (readonly number[])[]) => groups.map((group) => group.map(Math.fround));

/** A rule that differs from centring, one group of rewards, its advantages. */
type Case = [name: string, rule: Partial<Rule>, rewards: number[], advantages: number[]];

describe('baselines', () => {
  test.each([
    ['mean', {}, [1, 2, 6], [-2, -1, 3]],
    ['mean of no shift', {}, [1e6, 1e6 + 1, 1e6 + 2], [-1, 0, 1]],
    ['leave-one-out (rloo)', { baseline: 'leave-one-out' }, [0, 1, 1], [-1, 0.5, 0.5]],
    ['leave-one-out of two', { baseline: 'leave-one-out' }, [3, 5], [-2, 2]],
    ['median of an odd number', { baseline: 'median' }, [10, 1, 2], [8, -1, 0]],
    ['median of an even number', { baseline: 'median' }, [0, 10, 1, 2], [-1.5, 8.5, -0.5, 0.5]],
    ['runner-up', { baseline: 'runner-up' }, [1, 4, 2], [0, 2, 0]],
    ['runner-up below 0', { baseline: 'runner-up' }, [-1, -4], [3, 0]],
    ['a tied best', { baseline: 'runner-up' }, [4, 4, 2], [0, 0, 0]],
    ['none', { baseline: 'none' }, [1, -4], [1, -4]],
    ['none, flat', { baseline: 'none' }, [3, 3], [3, 3]],
    ['pass-through', { baseline: 'pass-through', scale: 'group' }, [3, 4], [3, 4]],
  ] satisfies Case[])('%s', (_, rule, rewards, advantages) => {
    expect(advantagesOf([rewards], { ...CENTRED, ...rule })).toEqual([advantages]);
  });

  test('length-mean (opo): the longer rollouts weigh more; without tokens it is the mean', () => {
    const rule: Rule = { ...CENTRED, baseline: 'length-mean' };
    const rewards = [
      [0, 1],
      [0, 1],
      [4, 4],
    ];
    const tokens = [
      [3, 1],
      [0, 0],
      [1, 9],
    ];
    expect(advantagesOf(rewards, rule, { tokens })).toEqual([
      [-0.25, 0.75],
      [-0.5, 0.5],
      [0, 0],
    ]);
  });

  test('column (remax): what each rollout brings along, in flat groups too', () => {
    const rule: Rule = { ...CENTRED, baseline: 'column' };
    expect(advantagesOf([[1, 1], [2]], rule, { baselines: [[0.25, 3], [2.5]] })).toEqual([[0.75, -2], [-0.5]]);
    expect(() => advantagesOf([[1]], rule)).toThrow('no baseline');
  });
});

describe('scales', () => {
  test.each([
    ['group', SCALED, [0, 1], [-1 / ROOT2, 1 / ROOT2]],
    ['group, ddof 0', { ...SCALED, ddof: 0 }, [0, 1], [-1, 1]],
    ['epsilon is added to the deviation', { ...SCALED, ddof: 0, epsilon: 0.5 }, [0, 1], [-0.5, 0.5]],
    ['group after leave-one-out', { ...SCALED, baseline: 'leave-one-out' }, [0, 1, 2], [-1.5, 0, 1.5]],
    ['group after runner-up', { ...SCALED, baseline: 'runner-up' }, [1, 3, 2], [0, 1, 0]],
    ['group, no baseline', { ...SCALED, baseline: 'none' }, [1, 2, 3], [1, 2, 3]],
    ['group, no baseline, flat', { ...SCALED, baseline: 'none', epsilon: 0.5 }, [1, 1], [2, 2]],
    ['group, no baseline, a single one', { ...SCALED, baseline: 'none', epsilon: 0.5 }, [1], [2]],
    // Distances from 2: 1, 0, 0, 1, 7; their median is 1.
    ['mad', { scale: 'mad', baseline: 'median' }, [1, 2, 2, 3, 9], [-1, 0, 0, 1, 7].map((value) => value / 1.4826)],
    ['mad of an even number', { scale: 'mad', baseline: 'median' }, [0, 4], [-1 / 1.4826, 1 / 1.4826]],
    ['mad 0: not scaled', { scale: 'mad', epsilon: 0.5 }, [0, 3, 3], [-2, 1, 1]],
    ['mad, no baseline, flat', { scale: 'mad', baseline: 'none', epsilon: 0.5 }, [1, 1], [2, 2]],
    ['mean (maxrl)', { scale: 'mean' }, [0, 1, 5], [-1, -0.5, 1.5]],
    ['mean with epsilon', { scale: 'mean', epsilon: 1 }, [0, 2], [-0.5, 0.5]],
    ['mean below 0', { scale: 'mean' }, [-3, -1], [0.5, -0.5]],
    ['mean below 0, refused', { scale: 'mean', meanMustBePositive: true }, [-3, -1], [0, 0]],
    ['mean 0, refused', { scale: 'mean', meanMustBePositive: true, epsilon: 1 }, [-1, 1], [0, 0]],
    // The others of 0 are 1, 3 (s = sqrt 2), those of 1 are 0, 3 (3 / sqrt 2), those of 3 are 0, 1 (1 / sqrt 2).
    ['peers', { scale: 'peers', baseline: 'leave-one-out' }, [0, 1, 3], [-ROOT2, -ROOT2 / 6, 2.5 * ROOT2]],
    ['peers that are equal', { scale: 'peers', baseline: 'leave-one-out' }, [0, 1, 1], [-1, 1 / ROOT2, 1 / ROOT2]],
    ['peers of two: none to take a deviation of', { scale: 'peers', epsilon: 3 }, [0, 1], [-0.5, 0.5]],
  ] satisfies Case[])('%s', (_, rule, rewards, advantages) => {
    expect(advantagesOf([rewards], { ...CENTRED, ...rule })).toEqual(rounded([advantages]));
  });

  test('batch: one deviation for all groups, about the mean of the batch', () => {
    const rule: Rule = { ...SCALED, scale: 'batch', ddof: 0 };
    // 0, 2, 4, 6 about 3: 20 / 4.
    const groups = [
      [0, 2],
      [4, 6],
    ];
    expect(advantagesOf(groups, rule)).toEqual(groups.map(() => [-1, 1].map((value) => Math.fround(value / 5 ** 0.5))));
    expect(advantagesOf([[7, 7], [7]], rule)).toEqual([[0, 0], [0]]);
    expect(advantagesOf([[7, 7]], { ...rule, baseline: 'none', epsilon: 2 })).toEqual([[3.5, 3.5]]);
  });

  test.each([
    ['group', { ...SCALED, baseline: 'none' }, [1, 1]],
    ['mean', { scale: 'mean' }, [-1, 1]],
    ['mean and epsilon', { scale: 'mean', epsilon: 1 }, [-3, 1]],
  ] satisfies [string, Partial<Rule>, number[]][])('a divisor of 0 has no answer: %s', (_, rule, rewards) => {
    expect(() => advantagesOf([rewards], { ...CENTRED, ...rule })).toThrow('divisor');
  });
});

describe('groups that are flat or of one', () => {
  const zeroed = ['mean', 'leave-one-out', 'median', 'length-mean', 'runner-up'] as const;
  const scales = ['group', 'batch', 'mad', 'mean', 'peers', 'none'] as const;

  test.each(zeroed.flatMap((baseline) => scales.map((scale) => [baseline, scale] as const)))(
    '%s, %s: 0 before any arithmetic',
    (baseline, scale) => {
      const groups = [[0.9, 0.9, 0.9], [-0, 0], [-5], [1e300]];
      expect(advantagesOf(groups, { ...CENTRED, baseline, scale })).toEqual([[0, 0, 0], [0, 0], [0], [0]]);
    },
  );

  test('a dialect may give one alone its own reward, or that over 1 + epsilon', () => {
    const rule: Rule = { ...SCALED, epsilon: 1, ddof: 0 };
    expect(advantagesOf([[3], [3, 3]], { ...rule, singleton: 'own' })).toEqual([[3], [0, 0]]);
    expect(advantagesOf([[3], [3, 3]], { ...rule, singleton: 'own-scaled' })).toEqual([[1.5], [0, 0]]);
  });

  test('minStd: less counts as flat, as much does not', () => {
    const groups = [
      [0, 2],
      [0, 2.5],
    ];
    const rule: Rule = { ...CENTRED, ddof: 0 };
    expect(advantagesOf(groups, { ...rule, minStd: 1 })).toEqual([
      [-1, 1],
      [-1.25, 1.25],
    ]);
    expect(advantagesOf(groups, { ...rule, minStd: 1.1 })).toEqual([
      [0, 0],
      [-1.25, 1.25],
    ]);
    // ddof 1: sqrt 2.
    expect(advantagesOf(groups, { ...rule, ddof: 1, minStd: 1.4 })[0]).toEqual([-1, 1]);
    expect(advantagesOf(groups, { ...rule, baseline: 'none', minStd: 9 })).toEqual(groups);
  });
});

describe('several rewards (gdpo)', () => {
  const rule: Rule = { ...SCALED, ddof: 0, perReward: true };
  const groups = [
    [
      { rewards: [0, 5], tokens: 1 },
      { rewards: [4, 5], tokens: 1 },
    ],
    [
      { rewards: [1, 1], tokens: 1 },
      { rewards: [0, 9], tokens: 1 },
    ],
  ];
  const advantages = (settings: ExactSettings) =>
    exactRuleAdvantages(groups, settings).map((group) => group.map(roundToBinary32));

  test('each is normalized by itself, one that is flat adds 0, weights apply to the advantages', () => {
    expect(advantages({ rule })).toEqual([
      [-1, 1],
      [0, 0],
    ]);
    expect(advantages({ rule, rewardWeights: [1, 3] })).toEqual([
      [-1, 1],
      [-2, 2],
    ]);
  });

  test('then a step over the batch', () => {
    // -1, 1, -2, 2: V = 10 / 4.
    expect(advantages({ rule: { ...rule, step: WHITENED }, rewardWeights: [1, 3] })).toEqual(
      rounded([[-1, 1].map((value) => value / 2.5 ** 0.5), [-2, 2].map((value) => value / 2.5 ** 0.5)]),
    );
  });

  test('terms that cancel under a root leave 0 for a step', () => {
    // 1/3 of the spread each way, three times: the sums are 0 though no term is.
    const cancelling = [[0, 1, 1].map((_, i) => ({ rewards: [0, 1, 2].map((key) => Number(key !== i)), tokens: 1 }))];
    const settings = { rule: { ...rule, step: WHITENED } };
    expect(exactRuleAdvantages(cancelling, settings)[0].map(roundToBinary32)).toEqual([0, 0, 0]);
  });

  test('numbers of rewards and weights agree, and the rule is one for several', () => {
    expect(() => advantages({ rule, rewardWeights: [1] })).toThrow('differ in number');
    expect(() => advantages({ rule: { ...rule, perReward: false } })).toThrow('rule for one');
  });
});

describe('a step over the batch', () => {
  const own: Rule = { ...CENTRED, baseline: 'none' };
  const step = (options: Partial<BatchStep>): Rule => ({ ...own, step: { ...WHITENED, ...options } });

  test.each([
    // 0, 2, 7 about 3: 26.
    ['rollouts', step({}), [9 / 26, 1 / 26, 16 / 26].map((share) => Math.sqrt(3 * share))],
    ['ddof 1', step({ ddof: 1 }), [9 / 13, 1 / 13, 16 / 13].map(Math.sqrt)],
    ['epsilon inside', step({ ddof: 1, epsilon: 3, epsilonAt: 'inside' }), [3 / 4, 1 / 4, 1]],
    ['a floor below V', step({ ddof: 1, epsilon: 12, epsilonAt: 'floor' }), [9 / 13, 1 / 13, 16 / 13].map(Math.sqrt)],
    ['a floor above V', step({ ddof: 1, epsilon: 16, epsilonAt: 'floor' }), [3 / 4, 1 / 4, 1]],
    ['epsilon outside', step({ ddof: 1, epsilon: 1 }), [3, 1, 4].map((value) => value / (Math.sqrt(13) + 1))],
  ])('%s', (_, rule, [first, second, third]) => {
    expect(advantagesOf([[0, 2], [7]], rule)).toEqual(rounded([[-first, -second], [third]]));
  });

  test('tokens: a rollout weighs what it has of them', () => {
    // 0 three times and 4 once, about 1: 12, of which a fourth or a third.
    const settings = { tokens: [[3], [1, 0]] };
    expect(advantagesOf([[0], [4, 10]], step({ weight: 'tokens' }), settings)).toEqual(
      rounded([[-1 / ROOT3], [ROOT3, 9 / ROOT3]]),
    );
    expect(advantagesOf([[0], [4, 10]], step({ weight: 'tokens', ddof: 1 }), settings)).toEqual([[-0.5], [1.5, 4.5]]);
    const one = step({ weight: 'tokens', ddof: 1 });
    expect(() => advantagesOf([[0], [4]], one, { tokens: [[1], [0]] })).toThrow('1 tokens');
  });

  test('a batch without spread has 0', () => {
    expect(advantagesOf([[3, 3], [3]], step({ epsilon: 1 }))).toEqual([[0, 0], [0]]);
    expect(advantagesOf([[3, 3], [3]], step({}))).toEqual([[0, 0], [0]]);
    expect(advantagesOf([[3]], step({ ddof: 1 }))).toEqual([[0]]);
  });

  test('counts flat groups, whose advantages are 0 before it', () => {
    const rule: Rule = { ...CENTRED, ddof: 0, step: WHITENED };
    expect(advantagesOf([[0, 2], [5], [7]], rule)).toEqual(rounded([[-ROOT2, ROOT2], [0], [0]]));
  });

  test('then clip', () => {
    const clip = [-0.5, 1] as const;
    expect(advantagesOf([[0, 1, 5]], CENTRED, { clip })).toEqual([[-0.5, -0.5, 1]]);
    expect(advantagesOf([[0, 1, 5]], CENTRED, { clip: [Number.NEGATIVE_INFINITY, 1] })).toEqual([[-2, -1, 1]]);
    expect(advantagesOf([[0], [8]], step({}), { clip })).toEqual([[-0.5], [1]]);
  });
});

describe('laws', () => {
  const reward = fc.oneof(fc.integer({ min: -4, max: 4 }), fc.double({ min: -1e9, max: 1e9, noNaN: true }));
  const group = fc.array(reward, { minLength: 1, maxLength: 9 });

  test('grpo is what the oracle of one group says', () => {
    fc.assert(
      fc.property(group, (rewards) => {
        const exact = exactAdvantages(rewards, GRPO).map(roundToBinary32);
        expect(advantagesOf([rewards], { ...SCALED, epsilon: GRPO.epsilon })).toEqual([exact]);
      }),
    );
  });

  test('leave-one-out is n / (n - 1) of centring', () => {
    const same = (a: Rational, b: Rational) => a.numerator * b.denominator === b.numerator * a.denominator;
    fc.assert(
      fc.property(group, (rewards) => {
        const rollouts = [rewards.map((value) => ({ rewards: [value], tokens: 1 }))];
        const [others] = exactRuleAdvantages(rollouts, { rule: { ...CENTRED, baseline: 'leave-one-out' } });
        const [centred] = exactRuleAdvantages(rollouts, { rule: CENTRED });
        const factor = { numerator: BigInt(rewards.length), denominator: BigInt(Math.max(rewards.length - 1, 1)) };
        return centred.every((value, i) => same(product(value, factor), others[i]));
      }),
    );
  });

  test('a root of 384 bits squares back', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }), (value) => {
        const exact = exactly(value);
        const root = squareRoot(exact, 384);
        const above = product(root, { numerator: 2n ** 383n + 1n, denominator: 2n ** 383n });
        return !isGreater(product(root, root), exact) && !isGreater(exact, product(above, above));
      }),
    );
  });
});

describe('the bound', () => {
  const groups = [
    [0, 2 ** 50],
    [0, 2 ** -20],
  ].map((rewards) => rewards.map((value) => ({ rewards: [value], tokens: 1 })));
  const off = (rule: Rule) => {
    const exact = exactRuleAdvantages(groups, { rule: CENTRED });
    const advantages = exact.map((group) => group.map(roundToBinary32));
    expect(outsideRuleBound(advantages, exact, rule)).toEqual([]);
    return outsideRuleBound([advantages[0], [0, advantages[1][1]]], exact, rule);
  };

  test('is a share of the group, and of the batch after a step', () => {
    expect(off(CENTRED)).toHaveLength(1);
    expect(off(CENTRED)[0]).toMatch(/^group 1, entry 0: 0 where -/);
    expect(off({ ...CENTRED, step: WHITENED })).toEqual([]);
  });

  test('notices groups and entries that are not there', () => {
    const exact = exactRuleAdvantages(groups, { rule: CENTRED });
    expect(outsideRuleBound([[0, 0]], exact, CENTRED)).toHaveLength(1);
    expect(outsideRuleBound([[0, 0], [0]], exact, CENTRED)).toHaveLength(1);
  });
});
