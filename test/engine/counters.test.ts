/** The counts of a report: each says of the batch what its name says, and a group or rollout is counted once. */
import { afterAll, describe, expect, test } from 'vitest';
import { createEngine, type NormalizeOptions, type Report } from '../../src/index.ts';

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

  test('that is only centred by two of them', async () => {
    const rows = [
      [0, 5],
      [0, 5],
      [0, 5],
      [1, 7],
    ] as const;
    const { report } = await reportOf([rows], mad);
    expect(counts(report)).toEqual({ ...none, unscaled: 1 });
    expect(report.warnings[0]).toMatch(/^the median distance of 1 groups is 0/);
  });

  test('that is only centred by one of them, and flat by the other', async () => {
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
