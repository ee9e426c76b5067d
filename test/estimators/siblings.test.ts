import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createEngine,
  EXCLUSION_REASONS,
  InputError,
  type NormalizeOptions,
  type Report,
  SIBLING_POLICIES,
} from '../../src/index.ts';
import {
  CENTRE,
  columnsOf,
  GRPO,
  type Model,
  modelAdvantages,
  modelOf,
  outsideBound,
  type PlainRow,
} from '../support/oracle.ts';

const engine = createEngine({ backend: 'cpu' });

/** The reward that the engine took for the rollout of these rows; a rollout of reward 0 beside it makes it visible. */
async function chosen(rows: readonly PlainRow[], options: NormalizeOptions): Promise<number> {
  const all = [...rows.map((row) => ({ rolloutId: 1, ...row })), { rolloutId: 2, reward: 0, trainableTokens: 1 }];
  const { advantages } = await engine.normalize(columnsOf(all), { ...options, estimator: 'dr_grpo' });
  return advantages[0] * 2;
}

const row = (reward: number | null, trainableTokens?: number, rest: Partial<PlainRow> = {}): PlainRow => ({
  reward,
  ...(trainableTokens !== undefined && { trainableTokens }),
  ...rest,
});

describe('the reward of a rollout', () => {
  test.each<[string, NormalizeOptions['siblings'], PlainRow[], number]>([
    ['mainstream: most trainable tokens', 'mainstream', [row(1, 3), row(2, 5), row(4, 4)], 2],
    ['mainstream: the first on a tie', 'mainstream', [row(1, 3), row(2, 5), row(4, 5)], 2],
    ['mainstream: a removed row has no tokens', 'mainstream', [row(1, 1), row(2, 9, { removeSample: true })], 1],
    ['mainstream: all removed, the first', 'mainstream', [row(1, 1, { removeSample: true }), row(2, 0)], 1],
    ['mainstream is the default', undefined, [row(1, 3), row(2, 5)], 2],
    ['first', 'first', [row(3, 0), row(2, 9)], 3],
    ['last', 'last', [row(3, 9), row(2, 0)], 2],
    ['max', 'max', [row(-3), row(-1), row(-2)], -1],
    ['min', 'min', [row(3), row(1), row(2)], 1],
    ['mean', 'mean', [row(1), row(2), row(6)], 3],
    ['sum', 'sum', [row(1), row(2), row(6)], 9],
    ['sum in row order', 'sum', [row(2 ** 53), row(1), row(1), row(-(2 ** 53)), row(8)], 8],
    ['shared', 'shared', [row(5), row(5)], 5],
    ['shared: -0 is 0', 'shared', [row(0), row(-0)], 0],
  ])('%s', async (_, siblings, rows, reward) => {
    expect(await chosen(rows, { siblings })).toBe(reward);
  });

  test('rows: every row is a rollout of its own', async () => {
    const batch = { reward: [0, 0, 3], rolloutId: [1, 1, 2], groupIndex: [7, 7, 7] };
    const { advantages, report } = await engine.normalize(batch, { siblings: 'rows', estimator: 'dr_grpo' });
    expect([...advantages]).toEqual([-1, -1, 2]);
    expect([report.rollouts, report.siblings.multi_row]).toEqual([3, 0]);
  });

  test.each<[string, NormalizeOptions['siblings'], PlainRow[], number]>([
    ['max chooses among the present', 'max', [row(null), row(-5)], -5],
    ['min chooses among the present', 'min', [row(5), row(Number.NaN)], 5],
    ['mean uses the present', 'mean', [row(1), row(null), row(3)], 2],
    ['sum uses the present', 'sum', [row(1), row(null), row(3)], 4],
    ['shared uses the present', 'shared', [row(null), row(3), row(null), row(3)], 3],
  ])('%s where missing rewards are excluded', async (_, siblings, rows, reward) => {
    expect(await chosen(rows, { siblings, exclude: ['missing-reward'] })).toBe(reward);
  });
});

describe('shared rewards that differ are bad input', () => {
  test.each<[string, PlainRow[], string]>([
    [
      'naming rollout, rows and rewards',
      [row(1, 0, { rolloutId: 4 }), row(1, 0, { rolloutId: 9 }), row(1.5, 0, { rolloutId: 4 })],
      'rollout 4: siblings must share one reward, but row 1 has 1 and row 3 has 1.5',
    ],
    [
      'a text id quoted',
      [row(0.1 + 0.2, 0, { rolloutId: 'a' }), row(0.3, 0, { rolloutId: 'a' })],
      'rollout "a": siblings must share one reward, but row 1 has 0.30000000000000004 and row 2 has 0.3',
    ],
    [
      'a huge id digit for digit',
      [row(1, 0, { rolloutId: 2n ** 64n + 1n }), row(2, 0, { rolloutId: 2n ** 64n + 1n })],
      'rollout 18446744073709551617: siblings must share one reward, but row 1 has 1 and row 2 has 2',
    ],
  ])('%s', async (_, rows, message) => {
    const failure = engine.normalize(columnsOf(rows), { siblings: 'shared' });
    await expect(failure).rejects.toThrow(new InputError(message));
    await expect(failure).rejects.toBeInstanceOf(InputError);
  });

  test('of any other policy they are not', async () => {
    const rows = [row(1, 0, { rolloutId: 4 }), row(2, 0, { rolloutId: 4 })];
    for (const siblings of SIBLING_POLICIES.filter((policy) => policy !== 'shared'))
      expect((await engine.normalize(columnsOf(rows), { siblings })).advantages.length).toBe(2);
  });
});

describe('who is counted', () => {
  type Case = [string, NormalizeOptions, PlainRow[], (number | null)[], Report['excluded']];
  /** Rows of one group; null: advantage 0 because the rollout is excluded. */
  test.each<Case>([
    [
      'nothing is excluded by default, as upstream',
      {},
      [row(0, 0, { removeSample: true, status: 'aborted' }), row(2, 1)],
      [-1, 1],
      {},
    ],
    [
      'removed',
      { exclude: ['removed'] },
      [row(9, 1, { removeSample: true }), row(0), row(2)],
      [null, -1, 1],
      { removed: 1 },
    ],
    ['untrainable', { exclude: ['untrainable'] }, [row(9, 0), row(0, 1), row(2, 1)], [null, -1, 1], { untrainable: 1 }],
    ['unknown tokens are not untrainable', { exclude: ['untrainable'] }, [row(0), row(2)], [-1, 1], { untrainable: 0 }],
    [
      'by status',
      { exclude: ['failed', 'truncated', 'aborted'] },
      [
        row(9, 1, { status: 'failed' }),
        row(0),
        row(7, 1, { status: 'truncated' }),
        row(2),
        row(8, 1, { status: 'aborted' }),
      ],
      [null, -1, null, 1, null],
      { failed: 1, truncated: 1, aborted: 1 },
    ],
    [
      'only the statuses named',
      { exclude: ['failed'] },
      [row(0, 1, { status: 'truncated' }), row(2)],
      [-1, 1],
      { failed: 0 },
    ],
    [
      'missing rewards',
      { exclude: ['missing-reward'] },
      [row(Number.NaN), row(0), row(2)],
      [null, -1, 1],
      { 'missing-reward': 1 },
    ],
    [
      'under the first reason in the order given',
      { exclude: ['untrainable', 'removed'] },
      [row(9, 5, { removeSample: true }), row(0, 1), row(2, 1)],
      [null, -1, 1],
      { untrainable: 1, removed: 0 },
    ],
    [
      'the other order',
      { exclude: ['removed', 'untrainable'] },
      [row(9, 5, { removeSample: true }), row(0, 1), row(2, 1)],
      [null, -1, 1],
      { untrainable: 0, removed: 1 },
    ],
    [
      'one that is left is a single rollout',
      { exclude: ['removed'] },
      [row(1, 1, { removeSample: true }), row(5)],
      [null, 0],
      { removed: 1 },
    ],
    ['nobody is left', { exclude: ['untrainable'] }, [row(1, 0), row(5, 0)], [null, null], { untrainable: 2 }],
    [
      'the chosen row decides under mainstream',
      { exclude: ['failed'] },
      [
        row(0, 1, { rolloutId: 1, status: 'failed' }),
        row(4, 2, { rolloutId: 1 }),
        row(9, 1, { rolloutId: 2 }),
        row(9, 2, { rolloutId: 2, status: 'failed' }),
        row(0, 1, { rolloutId: 3 }),
      ],
      [2, 2, null, null, -2],
      { failed: 1 },
    ],
    [
      'a missing reward of the chosen row excludes the rollout under first',
      { siblings: 'first', exclude: ['missing-reward'] },
      [row(null, 1, { rolloutId: 1 }), row(5, 1, { rolloutId: 1 }), row(0), row(2)],
      [null, null, -1, 1],
      { 'missing-reward': 1 },
    ],
    [
      'under mean a rollout stays while one sibling does',
      { siblings: 'mean', exclude: ['failed', 'missing-reward'] },
      [
        row(null, 1, { rolloutId: 1 }),
        row(4, 1, { rolloutId: 1 }),
        row(9, 1, { rolloutId: 2, status: 'failed' }),
        row(null, 1, { rolloutId: 2 }),
        row(0, 1, { rolloutId: 3 }),
      ],
      [2, 2, null, null, -2],
      { failed: 1, 'missing-reward': 0 },
    ],
  ])('%s', async (_, options, rows, advantages, excluded) => {
    const result = await engine.normalize(columnsOf(rows), { ...options, estimator: 'dr_grpo' });
    expect([...result.advantages]).toEqual(advantages.map((advantage) => advantage ?? 0));
    expect(result.report.excluded).toEqual(excluded);
  });

  test('a status that no reason names is said', async () => {
    const rows = [row(0, 1, { status: 'pending' }), row(2)];
    const { report } = await engine.normalize(columnsOf(rows), { exclude: ['failed'] });
    expect(report.warnings).toContain('some rows have a status that --exclude cannot name: "pending"');
  });
});

describe('disagreement', () => {
  const surveyOf = async (rewards: (number | null)[], options: NormalizeOptions = {}) => {
    const rows = rewards.map((reward) => row(reward, 1, { rolloutId: 3 }));
    return (await engine.normalize(columnsOf(rows), options)).report.siblings;
  };

  test.each<[string, (number | null)[], number]>([
    ['equal rewards agree', [0.1, 0.1], 0],
    ['-0 and 0 agree', [0, -0], 0],
    ['neighbouring doubles disagree', [0.3, 0.1 + 0.2], 1],
    ['missing and missing agree', [null, Number.NaN], 0],
    ['missing and present disagree', [null, 1], 1],
  ])('%s', async (_, rewards, disagreeing) => {
    const survey = await surveyOf(rewards, { exclude: ['missing-reward'] });
    expect([survey.multi_row, survey.disagreeing]).toEqual([1, disagreeing]);
  });

  test('is listed with rollout, rows from 1 and rewards, the first three', async () => {
    const rows = [1, 2, 3, 4].flatMap((rolloutId) => [row(0, 1, { rolloutId }), row(rolloutId, 1, { rolloutId })]);
    const { report } = await engine.normalize(columnsOf(rows.map((one) => ({ ...one, groupIndex: 1 }))));
    expect(report.siblings).toEqual({
      policy: 'mainstream',
      multi_row: 4,
      disagreeing: 4,
      examples: [1, 2, 3].map((id) => ({ rollout: String(id), rows: [2 * id - 1, 2 * id], rewards: [0, id] })),
    });
    expect(report.warnings).toEqual([
      'siblings of 4 rollouts have different rewards (policy: mainstream), the first 3: rollout 1 (row 1: 0, row 2: 1); rollout 2 (row 3: 0, row 4: 2); rollout 3 (row 5: 0, row 6: 3)',
    ]);
  });

  test.each<[string, (number | null)[]]>([
    ['among present rewards', [...Array<number>(12).fill(1), 2, 1]],
    ['among missing ones', [...Array<null>(12).fill(null), 2, null]],
  ])('shows the rows that differ, however far down: %s', async (_, rewards) => {
    const { examples } = await surveyOf(rewards, { exclude: ['missing-reward'] });
    expect(examples[0].rewards).toContain(2);
    expect(examples[0].rows).toContain(13);
  });
});

describe('every policy and exclusion agrees with the naive model', () => {
  const reward = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: -3, max: 3 }) },
    { weight: 3, arbitrary: fc.constantFrom(0.1, 0.9, -0.7, -0) },
    fc.constantFrom(null, Number.NaN, Number.POSITIVE_INFINITY),
  );
  const sometimes = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 3 });
  const plainRow: fc.Arbitrary<PlainRow> = fc
    .record({
      groupIndex: fc.nat(2),
      rolloutId: sometimes(fc.nat(4)),
      index: sometimes(fc.nat(6)),
      reward,
      lossMask: sometimes(fc.array(fc.constantFrom(0, 1), { maxLength: 40 })),
      length: fc.nat(40),
      trainableTokens: fc.option(fc.nat(20), { freq: 1 }),
      removeSample: fc.option(fc.boolean()),
      status: sometimes(fc.constantFrom('completed', 'truncated', 'aborted', 'failed', 'pending')),
    })
    .map(({ length, ...rest }) => ({ ...rest, responseLength: rest.lossMask?.length ?? length }));
  const batch = fc.oneof(
    fc.array(plainRow, { maxLength: 40, size: 'max' }),
    // Nothing is said about tokens.
    fc
      .array(plainRow, { maxLength: 40, size: 'max' })
      .map((rows) => rows.map((one) => ({ ...one, lossMask: null, responseLength: null, trainableTokens: null }))),
  );
  const exclude = fc
    .subarray([...EXCLUSION_REASONS])
    .chain((reasons) => fc.shuffledSubarray(reasons, { minLength: reasons.length, maxLength: reasons.length }));

  /** What the report counts, from the model. */
  function countsOf({ rollouts }: Model, reasons: readonly string[]) {
    const counted = rollouts.map((group) => group.filter(({ excluded }) => excluded === null));
    const flat = counted.filter((group) => group.length > 1 && group.every((one) => one.reward === group[0].reward));
    const excluded = Object.fromEntries(reasons.map((reason) => [reason, 0]));
    for (const one of rollouts.flat()) if (one.excluded !== null) excluded[one.excluded]++;
    return {
      groups: rollouts.length,
      rollouts: rollouts.flat().length,
      flat_groups: flat.length,
      singleton_groups: counted.filter((group) => group.length === 1).length,
      excluded,
    };
  }

  async function expectAgreement(rows: readonly PlainRow[], options: NormalizeOptions, rule: typeof GRPO) {
    const { siblings, exclude: reasons = [] } = options;
    const allowed = reasons.includes('missing-reward') || rows.every((one) => Number.isFinite(one.reward));
    let model: Model | null = null;
    try {
      model = allowed ? modelOf(rows, { siblings: siblings!, exclude: reasons }) : null;
    } catch {
      // siblings that must share a reward do not
    }
    const outcome = engine.normalize(columnsOf(rows), options);
    if (model === null) return expect(outcome).rejects.toBeInstanceOf(InputError);
    const { advantages, report } = await outcome;
    expect(report).toMatchObject(countsOf(model, reasons));
    const exact = modelAdvantages(model, rows.length, rule);
    for (const group of model.groups) {
      const own = group.map((at) => advantages[at]);
      expect(
        outsideBound(
          own,
          group.map((at) => exact[at]),
        ),
      ).toEqual([]);
      expect(own.every((value) => !Object.is(value, -0))).toBe(true);
    }
  }

  test.each(SIBLING_POLICIES)('%s', async (siblings) => {
    await fc.assert(
      fc.asyncProperty(batch, exclude, fc.boolean(), async (rows, reasons, divide) => {
        const estimator = divide ? 'grpo' : 'dr_grpo';
        await expectAgreement(rows, { siblings, exclude: reasons, estimator }, divide ? GRPO : CENTRE);
      }),
      { numRuns: 400 },
    );
  });

  test('shared, with siblings that agree', async () => {
    const agreeing = batch.map((rows) =>
      rows.map((one) => ({ ...one, reward: Number(one.rolloutId ?? one.index ?? 0) % 3 })),
    );
    await fc.assert(
      fc.asyncProperty(agreeing, exclude, async (rows, reasons) => {
        const options = { siblings: 'shared', exclude: reasons } as const;
        expect(modelOf(rows, options).groups.flat().length).toBe(rows.length);
        await expectAgreement(rows, options, GRPO);
      }),
      { numRuns: 300 },
    );
  });
});
