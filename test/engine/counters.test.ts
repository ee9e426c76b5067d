/** The counts of a report: each says of the batch what its name says, and a group or rollout is counted once. */
import { afterAll, describe, expect, test } from 'vitest';
import { createEngine, type NormalizeOptions, type Report } from '../../src/index.ts';
import { lookAt } from '../../src/inspect/look.ts';
import { Surveyor } from '../../src/inspect/survey.ts';
import { columnsOfBatch } from '../../src/samples/batch.ts';

const engine = createEngine({ backend: 'cpu' });
afterAll(() => engine.close());

/** One batch, one prompt group per list of rewards, or of several rewards of each rollout. */
async function reportOf(groups: readonly (readonly (number | readonly number[])[])[], options: NormalizeOptions) {
  const rows = groups.flat().map((reward) => (typeof reward === 'number' ? [reward] : reward));
  const groupIndex = groups.flatMap((group, id) => group.map(() => id));
  const keys = Object.fromEntries(rows[0].map((_, k) => [`key_${k}`, rows.map((row) => row[k])]));
  const rewards = rows[0].length > 1 ? { rewards: keys } : { reward: rows.map(([reward]) => reward) };
  const { report, advantages } = await engine.normalize({ ...rewards, groupIndex }, options);
  return { report, advantages: [...advantages] };
}

const counts = ({ flat_groups, singleton_groups, unscaled_groups, not_positive_groups }: Report) => ({
  flat: flat_groups,
  singleton: singleton_groups,
  unscaled: unscaled_groups,
  notPositive: not_positive_groups,
});
const none = { flat: 0, singleton: 0, unscaled: 0, notPositive: 0 };

describe('groups whose mean is not above 0, which maxrl would divide by', () => {
  const maxrl: NormalizeOptions = { estimator: 'maxrl' };

  test('have advantage 0, and are not flat: their rewards differ', async () => {
    const { report, advantages } = await reportOf([[-1, -2], [-1, -3], [1, -1], [2, 4], [-3]], maxrl);
    expect(advantages.slice(0, 6).every((value) => Object.is(value, 0))).toBe(true);
    expect(advantages.slice(6)).toEqual([-1 / 3, 1 / 3, 0].map(Math.fround));
    expect(counts(report)).toEqual({ ...none, singleton: 1, notPositive: 3 });
    expect(report.warning_codes).toEqual(['not-positive']);
    expect(report.warnings[0]).toMatch(/^the mean of 3 of 4 groups .* maxrl gives them advantage 0 although/);
  });

  test('are flat where their rewards are equal, whatever the mean', async () => {
    const { report } = await reportOf(
      [
        [-1, -1],
        [0, 0],
        [-0, 0],
        [2, 2],
      ],
      maxrl,
    );
    expect(counts(report)).toEqual({ ...none, flat: 4 });
  });

  test('are divided where the rule does that', async () => {
    const { report, advantages } = await reportOf([[-1, -3]], { like: 'skyrl', estimator: 'maxrl' });
    expect(advantages[0]).toBeCloseTo(-0.5, 5);
    expect(counts(report)).toEqual(none);
  });
});

describe('a group of several rewards is counted once', () => {
  const mad: NormalizeOptions = { estimator: 'gdpo', scale: 'mad' };

  test('that is not scaled by two of them', async () => {
    const rows = [
      [0, 5],
      [0, 5],
      [0, 5],
      [1, 7],
    ] as const;
    const { report } = await reportOf([rows], mad);
    expect(counts(report)).toEqual({ ...none, unscaled: 1 });
    expect(report.warnings[0]).toBe(
      'the median distance of 1 groups is 0 although their rewards differ: these are not scaled',
    );
  });

  test('that is not scaled by one of them, and flat by the other', async () => {
    const rows = [
      [0, 5],
      [0, 5],
      [0, 5],
      [1, 5],
    ] as const;
    expect(
      counts(
        (
          await reportOf(
            [
              rows,
              [
                [1, 1],
                [1, 1],
              ],
            ],
            mad,
          )
        ).report,
      ),
    ).toEqual({ ...none, unscaled: 1, flat: 1 });
  });
});

describe('siblings that disagree in a reward that counts by itself', () => {
  /** Two rollouts of two rows: the first one's rewards have equal sums. */
  const batch = {
    rolloutId: [7, 7, 8, 8],
    groupIndex: [0, 0, 0, 0],
    rewards: { a: [1, 0, 2, 2], b: [0, 1, 3, 3] },
    trainableTokens: [100, 99, 5, 5],
  };

  test('are counted, shown and doubted by that reward', async () => {
    const { report } = await engine.normalize(batch, { estimator: 'gdpo' });
    const examples = [{ rollout: '7', rows: [1, 2], rewards: [1, 0], reward: 'a' }];
    expect(report.siblings).toEqual({ policy: 'mainstream', multi_row: 2, disagreeing: 1, examples });
    expect(report.warnings.join()).toContain('rollout 7 (a: row 1: 1, row 2: 0)');
    expect(report.doubtful_representatives).toBe(1);
    await expect(engine.normalize(batch, { estimator: 'gdpo', siblings: 'shared' })).rejects.toThrow(/rollout 7/);
  });

  test.each<[string, Record<string, (number | null)[]>, (number | null)[], string]>([
    ['first', { a: [1, 1], b: [null, 0.5] }, [null, 1.5], 'row 1: missing, row 2: 1.5'],
    ['last', { a: [1, 2], b: [0.5, null] }, [1.5, null], 'row 1: 1.5, row 2: missing'],
  ])('a row that lacks one of them lacks all: no reward is named where it is the %s', async (_, own, shown, text) => {
    const one = { rolloutId: [7, 7, 8], groupIndex: [0, 0, 0], rewards: { a: [...own.a, 3], b: [...own.b, 4] } };
    const { report } = await engine.normalize(one, { estimator: 'gdpo', exclude: ['missing-reward'] });
    expect(report.siblings.examples).toEqual([{ rollout: '7', rows: [1, 2], rewards: shown }]);
    expect(report.warnings.join()).toContain(`rollout 7 (${text})`);
  });

  test('agree where the rule takes the sum', async () => {
    const { report } = await engine.normalize(batch);
    expect([report.siblings.disagreeing, report.doubtful_representatives]).toEqual([0, 0]);
    await engine.normalize(batch, { siblings: 'shared' });
  });

  test('the one that stands alone is named by the reward in which it does', async () => {
    const three = { rolloutId: [1, 1, 1], rewards: { a: [1, 0, 0], b: [0, 1, 1] }, trainableTokens: [9, 1, 1] };
    const { report } = await engine.normalize(three, { estimator: 'gdpo' });
    expect(report.warnings.join()).toContain('its reward 1 is the only one among 3, the others have 0');
  });

  test('are found by a look at the batch too, as are groups that are flat in the sum alone', async () => {
    const columns = columnsOfBatch({ ...batch, rewards: { a: [1, 0, 0, 0], b: [0, 1, 1, 1] } });
    const surveyOf = async (options: NormalizeOptions) => {
      const surveyor = new Surveyor();
      surveyor.add(await lookAt(engine, columns, options), null, []);
      const { siblings, flat_groups } = surveyor.finish();
      return { disagreeing: siblings.disagreeing, examples: siblings.examples, flat: flat_groups };
    };
    const rows = [
      { place: 'row 1', reward: 1 },
      { place: 'row 2', reward: 0 },
    ];
    const examples = [{ rollout: '7', reward: 'a', rows }];
    expect(await surveyOf({ estimator: 'gdpo' })).toEqual({ disagreeing: 1, examples, flat: 0 });
    expect(await surveyOf({})).toEqual({ disagreeing: 0, examples: [], flat: 1 });
  });
});

test('a group of equal rewards is flat, whatever the number of rows that each is the mean of', async () => {
  const batch = { reward: [0.1, 0.1, 0.1, 0.1], rolloutId: [1, 1, 1, 2], groupIndex: [0, 0, 0, 0] };
  const { report, advantages } = await engine.normalize(batch, { siblings: 'mean', epsilon: 0 });
  expect([report.flat_groups, ...advantages]).toEqual([1, 0, 0, 0, 0]);
});

test('a look at a batch weighs and bounds rewards as the computation does', async () => {
  const columns = columnsOfBatch({ rewards: { a: [1, 0], b: [0, 1] }, groupIndex: [0, 0] });
  const flatBy = async (options: NormalizeOptions) => {
    const surveyor = new Surveyor();
    surveyor.add(await lookAt(engine, columns, options), null, []);
    return surveyor.finish().flat_groups;
  };
  expect(await flatBy({})).toBe(1);
  expect(await flatBy({ rewardWeights: [1, 0] })).toBe(0);
  expect(await flatBy({ rewardWeights: [1, 0], clipReward: [2, 3] })).toBe(1);
});

test('tokens of no rollouts are too few to weigh by', async () => {
  const batch = { reward: [1, 0], groupIndex: [0, 0], trainableTokens: [3, 4], removeSample: [true, true] };
  const options = { weight: 'tokens', exclude: ['removed'] } as const;
  await expect(engine.normalize(batch, options)).rejects.toThrow(/the counted rollouts have 0/);
  expect([...(await engine.normalize({ reward: [], trainableTokens: [] }, options)).advantages]).toEqual([]);
});

test('what overflows binary32 is named as what it is', async () => {
  const alone = engine.normalize({ reward: [1e150], groupIndex: [0] }, { like: 'verl' });
  await expect(alone).rejects.toThrow(/row 1: reward 1e\+150: alone in its group/);
  const rows = { reward: [null, 1e60, 0], rolloutId: [1, 1, 2], groupIndex: [0, 0, 0] };
  const siblings = engine.normalize(rows, { siblings: 'max', exclude: ['missing-reward'], estimator: 'dr_grpo' });
  await expect(siblings).rejects.toThrow(/row 1: the reward of its rollout: so far from the rest/);
});
