/** Each reason is found where two settings differ by it alone. */
import { afterAll, describe, expect, test } from 'vitest';
import type { Side } from '../../src/diff/account.ts';
import { REASONS, type ReasonCode, reasonsFor } from '../../src/diff/reasons.ts';
import { recordedReasons } from '../../src/diff/recorded-reasons.ts';
import { createEngine } from '../../src/engine.ts';
import { DIALECT_NAMES, DIALECTS } from '../../src/estimators/dialects.ts';
import { checkOptions, type NormalizeOptions } from '../../src/options.ts';
import { prepareBatch } from '../../src/prepare.ts';
import { type Batch, columnsOfBatch } from '../../src/samples/batch.ts';
import { Random } from '../support/random.ts';

const engine = createEngine({ backend: 'cpu' });
afterAll(() => engine.close());

async function sideOf(batch: Batch, options: NormalizeOptions): Promise<Side> {
  const columns = columnsOfBatch(batch);
  const prepared = prepareBatch(columns, options);
  const { advantages, details } = await engine.normalizePlanned(prepared, options, true);
  return { columns, plan: prepared.plan, settings: checkOptions(options), advantages, details };
}

async function reasonsOf(batch: Batch, before: NormalizeOptions, after: NormalizeOptions, row: number) {
  const [from, to] = [await sideOf(batch, before), await sideOf(batch, after)];
  expect(from.advantages[row]).not.toBe(to.advantages[row]);
  return reasonsFor(from, to, row);
}

/** Group 0: a (rows 0 to 3, one a failure by itself), b, c. Group 1: d and e. */
const batch: Batch = {
  groupIndex: [0, 0, 0, 0, 0, 0, 1, 1],
  rolloutId: ['a', 'a', 'a', 'a', 'b', 'c', 'd', 'e'],
  reward: [1, 1, 1, 0, 0, 0.5, 1, 0.25],
  trainableTokens: [9, 3, 2, 5, 4, 4, 6, 2],
  status: ['completed', 'completed', 'completed', 'completed', 'aborted', 'completed', 'completed', 'completed'],
};

describe('of two settings', () => {
  const cases: [code: ReasonCode, before: NormalizeOptions, after: NormalizeOptions, row: number, text: RegExp][] = [
    ['siblings-as-rows', {}, { siblings: 'rows' }, 4, /rows: 6 rows instead of 3 rollouts, mean 0.5833 instead of 0.5/],
    ['siblings-as-rows', { siblings: 'rows' }, {}, 4, /once: 3 rollouts instead of 6 rows, mean 0.5 instead of 0.5833/],
    ['representative', {}, { siblings: 'last' }, 0, /is 0 \(of row 4\) instead of 1 \(its own\)/],
    ['representative', {}, { siblings: 'mean' }, 1, /is 0.75 \(mean of its 4 rows\) instead of 1 \(of row 1\)/],
    ['other-representatives', {}, { siblings: 'last' }, 5, /other rewards .* mean 0.1667 instead of 0.5/],
    ['left-out', {}, { exclude: ['aborted'] }, 4, /after, the rollout is left out \(aborted\)/],
    ['others-left-out', {}, { exclude: ['aborted'] }, 0, /2 rollouts of the group count instead of 3, mean 0.75/],
    ['grouping', {}, { promptGroupSizes: [5, 3] }, 5, /the group has 3 rows instead of 6, mean 0.5833 instead of 0.5/],
    ['grouping', { promptGroupSizes: [6, 2] }, { like: 'slime' }, 6, /the group has 8 rows instead of 2/],
    ['pass-through', {}, { estimator: 'raw' }, 5, /after, the row keeps its own reward 0.5/],
    ['pass-through', { estimator: 'ppo' }, {}, 5, /before, the row keeps its own reward 0.5/],
    ['scale', {}, { estimator: 'dr_grpo' }, 0, /divided by 1 instead of std, 1 instead of 0.5/],
    ['scale', { scale: 'mad' }, {}, 0, /divided by std instead of median distance, 0.5 instead of 0.7413/],
    [
      'baseline',
      { estimator: 'dr_grpo' },
      { estimator: 'rloo' },
      4,
      /baseline is the mean of the others instead of mean/,
    ],
    ['ddof', {}, { ddof: 0 }, 0, /ddof 0 instead of 1, 0.4082 instead of 0.5/],
    ['epsilon', {}, { epsilon: 0.01 }, 0, /epsilon 0.01 instead of 1e-6/],
    ['min-std', {}, { minStd: 0.6 }, 0, /after, the std 0.5 is below 0.6: flat, so 0/],
    [
      'batch-step',
      { estimator: 'dr_grpo' },
      { estimator: 'dr_grpo', weight: 'tokens' },
      0,
      /after, whitened .* \(mean /,
    ],
    ['batch-step', { weight: 'tokens' }, { weight: 'tokens', siblings: 'last' }, 6, /other numbers of the batch/],
    ['batch-scale', { scale: 'batch' }, { scale: 'batch', siblings: 'last' }, 6, /std of the batch is other/],
    ['clip', {}, { clip: [-0.5, 0.5] }, 0, /bounds of advantages: -0.5 to 0.5 instead of none/],
    ['clip-reward', {}, { clipReward: [0, 0.75] }, 0, /bounds of rewards: 0 to 0.75 instead of none/],
  ];
  test.each(cases)('%s: %j against %j', async (code, before, after, row, text) => {
    const reasons = await reasonsOf(batch, before, after, row);
    expect(reasons.map((reason) => reason.code)).toContain(code);
    expect(reasons.find((reason) => reason.code === code)!.text).toMatch(text);
  });

  test('one cause gives one reason', async () => {
    for (const [code, before, after, row] of cases.filter(([code]) => !['representative'].includes(code))) {
      const codes = (await reasonsOf(batch, before, after, row)).map((reason) => reason.code);
      if (JSON.stringify(after).includes('slime')) expect(codes).toEqual(['grouping', 'siblings-as-rows']);
      else expect(codes, `${JSON.stringify(before)} ${JSON.stringify(after)}`).toEqual([code]);
    }
  });

  test('flat: all rewards of a group are equal under one policy', async () => {
    const uneven: Batch = {
      groupIndex: [0, 0, 0],
      rolloutId: ['a', 'a', 'b'],
      reward: [1, 0, 1],
      trainableTokens: [2, 1, 1],
    };
    const [reason] = await reasonsOf(uneven, { siblings: 'last' }, { siblings: 'first' }, 2);
    expect(reason.code).toBe('other-representatives');
    const reasons = await reasonsOf(uneven, { siblings: 'last' }, { siblings: 'first' }, 2);
    expect(reasons.at(-1)).toEqual({ code: 'flat', text: expect.stringContaining('after, all rewards') });
  });

  test('mean-not-positive: the mean that maxrl would divide by is not above 0', async () => {
    const negative: Batch = { groupIndex: [0, 0], reward: [-1, -2] };
    const reasons = await reasonsOf(negative, { estimator: 'dr_grpo' }, { estimator: 'maxrl' }, 0);
    expect(reasons).toEqual([
      { code: 'mean-not-positive', text: expect.stringMatching(/^after, the mean -1.5 is not/) },
    ]);
    const maxrl = await sideOf(negative, { estimator: 'maxrl' });
    const [recorded] = recordedReasons(maxrl, Float32Array.of(1, 2), 0, null);
    expect(recorded.code).toBe('mean-not-positive');
  });

  test('singleton: one counted rollout is left, or the rules treat it in other ways', async () => {
    const lone = await reasonsOf({ groupIndex: [0], reward: [3] }, {}, { like: 'verl' }, 0);
    expect(lone).toEqual([{ code: 'singleton', text: expect.stringContaining('the rules differ') }]);
    const pair: Batch = { groupIndex: [0, 0], reward: [1, 0], status: ['completed', 'failed'] };
    const left = await reasonsOf(pair, {}, { exclude: ['failed'] }, 0);
    expect(left.map(({ code }) => code)).toEqual(['others-left-out', 'singleton']);
  });

  test('several rewards: which are normalized, and their weights', async () => {
    const both: Batch = { groupIndex: [0, 0, 0], rewards: { a: [1, 0, 0.5], b: [0, 3, 1] } };
    const apart = await reasonsOf(both, {}, { estimator: 'gdpo' }, 0);
    expect(apart.map(({ text }) => text).join()).toMatch(/rewards are normalized each by itself/);
    const weights = { estimator: 'gdpo', rewardWeights: [1, 0.5] } as const;
    const weighed = await reasonsOf(both, { estimator: 'gdpo' }, weights, 0);
    expect(weighed.map(({ code }) => code)).toContain('reward-weights');
  });
});

describe('every two frameworks', () => {
  const random = new Random(7);
  const rows = Array.from({ length: 60 }, (_, i) => ({ group: i % 5, rollout: random.integer(0, 3) }));
  const mixed: Batch = {
    groupIndex: rows.map(({ group }) => group),
    rolloutId: rows.map(({ group, rollout }) => 10 * group + rollout),
    // One reward for a rollout, as some frameworks demand; group 4 is flat.
    reward: rows.map(({ group, rollout }) => (group === 4 ? 1 : (rollout * (group + 1)) / 4)),
    trainableTokens: rows.map(() => random.integer(0, 3)),
    status: rows.map(() => (random.integer(0, 5) === 0 ? 'failed' : 'completed')),
  };

  test('a change has a reason of its own, and rows without one do not change', async () => {
    const sides = await Promise.all(
      DIALECT_NAMES.filter((name) => 'grpo' in DIALECTS[name].estimators).map((like) => sideOf(mixed, { like })),
    );
    for (const from of sides) {
      for (const to of sides) {
        for (let row = 0; row < rows.length; row++) {
          if (from.advantages[row] === to.advantages[row]) continue;
          const codes = reasonsFor(from, to, row).map(({ code }) => code);
          expect(codes.length).toBeGreaterThan(0);
          expect(codes, `${from.settings.like} ${to.settings.like} row ${row}`).not.toContain('rule');
        }
      }
    }
  });
});

describe('of a recorded column', () => {
  test.each([
    [{}, 0, [1, 1, 1, 1, 0, 0, 0, 0], null, ['unknown-rule']],
    [{}, 0, [1, 2, 1, 1, 0, 0, 0, 0], null, ['siblings-apart', 'unknown-rule']],
    [{}, 0, [1, 1, 1, 1, 0, 0, 0, 0], 'r', ['known-rule']],
    [{ exclude: ['aborted'] }, 4, [1, 1, 1, 1, 5, 0, 0, 0], 'r', ['known-rule', 'left-out']],
    [{ minStd: 2 }, 4, [1, 1, 1, 1, 5, 0, 0, 0], 'r', ['known-rule', 'flat']],
  ] as [NormalizeOptions, number, number[], string | null, ReasonCode[]][])('%j, row %i of %j', async (...args) => {
    const [options, row, recorded, rule, codes] = args;
    const side = await sideOf(batch, options);
    const reasons = recordedReasons(side, Float32Array.from(recorded), row, rule);
    expect(reasons.map(({ code }) => code)).toEqual(codes);
  });
});

test('no code is named twice', () => {
  expect(new Set(REASONS).size).toBe(REASONS.length);
});
