/** Every rule explained row by row: the last line is the engine's advantage, and the lines lead to it. */
import { afterAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../src/engine.ts';
import { UsageError } from '../../src/errors.ts';
import { DIALECT_NAMES, DIALECTS } from '../../src/estimators/dialects.ts';
import { ESTIMATORS, type EstimatorName } from '../../src/estimators/estimators.ts';
import { SIBLING_POLICIES } from '../../src/estimators/policies.ts';
import { compute, computeInstead } from '../../src/explain/computation.ts';
import { explainRow } from '../../src/explain/explain.ts';
import type { Explanation, StepName } from '../../src/explain/explanation.ts';
import { renderExplanation } from '../../src/explain/render.ts';
import type { NormalizeOptions } from '../../src/options.ts';
import { type Batch, columnsOfBatch } from '../../src/samples/batch.ts';

const engine = createEngine({ backend: 'cpu' });
afterAll(() => engine.close());
const LIMITS = { members: 6, rows: 5 };

async function explainAll(batch: Batch, options: NormalizeOptions): Promise<Explanation[]> {
  const columns = columnsOfBatch(batch);
  const computation = await compute(engine, columns, options);
  const alternative = await computeInstead(engine, computation);
  const placeOf = (row: number) => ({ file: 'f', row: row + 1, place: columns.place(row) });
  return Promise.all(
    Array.from({ length: columns.rowCount }, (_, row) =>
      explainRow(engine, computation, alternative, { row, wholeRollout: false }, placeOf, LIMITS),
    ),
  );
}

/** Both sides of `formula = value, remark`, each as its numbers give it; of a number alone, twice that number; null: no equation. */
function sidesOf(text: string): [formula: number, value: number] | null {
  if (!/^[(\d.-]/.test(text) || text.startsWith('0:') || text.includes('bounded')) return null;
  const [, equation] = /^([^,]*)(?:, [^=]*)?$/.exec(text) ?? [];
  expect(equation, `${text}: a value stands before every remark`).toBeDefined();
  const sides = equation.replaceAll(' x ', ' * ').split(' = ');
  for (const side of sides) expect(side, text).toMatch(/^[-+*/(). \de]+$/);
  expect(sides.length, text).toBe(/^[-\d.e]+$/.test(sides[0]) ? 1 : 2);
  return [Number(new Function(`return ${sides[0]}`)()), Number(sides.at(-1))];
}

function requireSense({ steps, advantage }: Explanation): void {
  const last = steps.at(-1)!;
  expect(last.step).toBe('binary32');
  expect(Object.is(last.value, advantage)).toBe(true);
  const before = steps.at(-2)!;
  if (before.step !== 'left_out') expect(Math.fround(before.value!) + 0).toBe(advantage);
  for (const { text, value } of steps) {
    const sides = sidesOf(text);
    if (sides === null) continue;
    expect(sides[1], text).toBe(value! + 0);
    expect(Math.abs(sides[0] - value!), text).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(value!)));
  }
}

/** Groups of many shapes: uneven fan-out, a flat group, a single rollout, an all but flat one, nobody that counts. */
function mixedBatch(): Batch {
  const rows: { g: number; r: string; tokens: number; reward: number; status: string }[] = [];
  const add = (g: number, r: string, tokens: number, reward: number, status = 'completed') =>
    rows.push({ g, r, tokens, reward, status });
  for (let i = 0; i < 9; i++)
    for (let j = 0; j <= i % 3; j++)
      add(0, `a${i}`, (i * 7 + j * 5) % 11, ((i * 37 + j) % 10) / 10, i === 4 ? 'truncated' : undefined);
  for (let i = 0; i < 3; i++) add(1, `b${i}`, 5, 0.9);
  add(2, 'c', 3, 0.25);
  add(2, 'c', 8, 0.75);
  for (let i = 0; i < 5; i++) add(3, `d${i}`, 4 + i, i < 4 ? 1 : 1.0001);
  for (let i = 0; i < 2; i++) add(4, `e${i}`, 2, i, 'truncated');
  add(5, 'f0', 6, -2);
  add(5, 'f1', 6, 0.5);
  return {
    groupIndex: rows.map(({ g }) => g),
    rolloutId: rows.map(({ r }) => r),
    trainableTokens: rows.map(({ tokens }) => tokens),
    reward: rows.map(({ reward }) => reward),
    baseline: rows.map((_, i) => i / 8),
    status: rows.map(({ status }) => status),
  };
}

function severalRewards(): Batch {
  const { reward, ...rest } = mixedBatch();
  const first = reward as number[];
  return { ...rest, rewards: { accuracy: first, format: first.map((_, i) => (i * 3) % 5) } };
}

const batchFor = (name: EstimatorName) => (ESTIMATORS[name].perReward ? severalRewards() : mixedBatch());

async function explainOrRefuse(batch: Batch, options: NormalizeOptions): Promise<number> {
  let explained = 0;
  try {
    const { advantages } = await engine.normalize(batch, options);
    const explanations = await explainAll(batch, options);
    expect(explanations.map(({ advantage }) => advantage)).toEqual([...advantages]);
    for (const explanation of explanations) {
      requireSense(explanation);
      expect(renderExplanation(explanation, (text) => text)).toContain(`advantage ${explanation.advantage}`);
      explained++;
    }
  } catch (error) {
    // What a normalization refuses is no subject here.
    const refused = await engine.normalize(batch, options).then(
      () => null,
      (reason: Error) => reason,
    );
    if (refused === null || refused.message !== (error as Error).message) throw error;
  }
  return explained;
}

const ESTIMATOR_NAMES = Object.keys(ESTIMATORS) as EstimatorName[];

describe('every estimator leads to its advantages', () => {
  test.each(ESTIMATOR_NAMES)(
    '%s, under every sibling policy, with and without exclusion and bounds',
    async (estimator) => {
      const passes = (ESTIMATORS[estimator].baseline as string) === 'pass-through';
      let explained = 0;
      for (const siblings of SIBLING_POLICIES) {
        explained += await explainOrRefuse(batchFor(estimator), { estimator, siblings });
        const bounded = { clip: [-0.5, 0.75], clipReward: [0, 0.9] } as const;
        const exclude = passes ? undefined : (['truncated', 'untrainable'] as const);
        explained += await explainOrRefuse(batchFor(estimator), { estimator, siblings, exclude, ...bounded });
      }
      expect(explained).toBeGreaterThan(300);
    },
  );

  test('every baseline, scale, step and guard that can be asked for', async () => {
    for (const baseline of ['mean', 'leave-one-out', 'median', 'none'] as const)
      for (const scale of ['group', 'batch', 'none', 'mad'] as const)
        for (const extra of [{}, { weight: 'tokens' }, { minStd: 0.01, ddof: 0 }] as const)
          expect(await explainOrRefuse(mixedBatch(), { baseline, scale, ...extra })).toBeGreaterThan(0);
  });

  test('every dialect, every estimator that it has', async () => {
    for (const like of DIALECT_NAMES) {
      for (const estimator of Object.keys(DIALECTS[like].estimators) as EstimatorName[])
        for (const siblings of [undefined, 'mainstream', 'mean'] as const) {
          const explained = await explainOrRefuse(batchFor(estimator), { like, estimator, siblings });
          if (siblings !== undefined) expect(explained, `${like} ${estimator}`).toBeGreaterThan(0);
        }
    }
  });
});

describe('what is said', () => {
  test('the guards, each where it is due', async () => {
    const guardsOf = async (options: NormalizeOptions) => {
      const found = (await explainAll(mixedBatch(), options)).map(({ statistics }) => statistics[0].guard);
      return new Set(found);
    };
    expect(await guardsOf({})).toEqual(new Set([null, 'flat', 'single']));
    expect(await guardsOf({ minStd: 0.01 })).toEqual(new Set([null, 'flat', 'single', 'min_std']));
    expect(await guardsOf({ estimator: 'maxrl' })).toEqual(new Set([null, 'flat', 'single', 'mean_not_positive']));
    expect(await guardsOf({ scale: 'mad' })).toEqual(new Set([null, 'flat', 'single', 'unscaled']));
    expect(await guardsOf({ like: 'skyrl' })).toEqual(new Set([null, 'flat', 'single_keeps_reward']));
  });

  test('several rewards are told one by one, then their sum and the step over the batch', async () => {
    const options = { estimator: 'gdpo', rewardWeights: [1, 0.5] } as const;
    const [{ steps, statistics }] = await explainAll(severalRewards(), options);
    expect(statistics.map(({ reward, weight }) => [reward, weight])).toEqual([
      ['accuracy', 1],
      ['format', 0.5],
    ]);
    expect(steps.map(({ step, reward }) => `${reward ?? ''} ${step}`)).toEqual([
      ...['reward', 'mean', 'deviation', 'difference', 'divisor', 'quotient'].map((step) => `accuracy ${step}`),
      ...['reward', 'mean', 'deviation', 'difference', 'divisor', 'quotient'].map((step) => `format ${step}`),
      ...[' sum', ' batch_step', ' binary32'],
    ]);
  });

  test('a weighted sum of rewards under a rule for one reward, and its bounds', async () => {
    const batch: Batch = { rewards: { a: [1, 0], b: [4, 2] } };
    const options = { rewardWeights: [1, 0.5], clipReward: [0, 2] } as const;
    const [first] = await explainAll(batch, options);
    const text = 'of row 1, the sum 1 x 1 + 0.5 x 4, 3 bounded to 0 to 2 (clip-reward)';
    expect(first.steps[0]).toMatchObject({ step: 'reward', text, value: 2 });
    expect(first.statistics).toMatchObject([{ reward: null, weight: 1, mean: 1.5 }]);
    const [passed] = await explainAll(batch, { ...options, estimator: 'raw' });
    expect(passed.steps[0].text).toBe(text.replace('of row 1', 'the own reward of the row'));
  });

  test('a remark stands after the value that it is about', async () => {
    const textOf = async (options: NormalizeOptions, step: StepName, batch: Batch = { reward: [1, 0, 0.5] }) =>
      (await explainAll(batch, options))[0].steps.find((one) => one.step === step)!.text;
    expect(await textOf({ estimator: 'rloo' }, 'divisor')).toBe(
      '(3 - 1) / 3 = 0.6666666666666666, as r - mean of the others is n / (n - 1) x (r - mean)',
    );
    expect(await textOf({ weight: 'tokens' }, 'token_step', { reward: [1, 0], trainableTokens: [3, 1] })).toMatch(
      /^\(0\.\d+ - 0\.\d+\) \/ 0\.\d+ = 0\.\d+, \(A - M\) \/ sqrt\(S\^2 \+ 1e-8\) with M and S over 4 trainable tokens of 2 counted rollouts of the batch, ddof 1$/,
    );
    const several = { rewards: { a: [1, 0], b: [0, 2] } };
    expect(await textOf({ estimator: 'gdpo' }, 'batch_step', several)).toMatch(
      / = -?[\d.e-]+, \(A - M\) \/ \(S \+ 0\.000001\) with M and S over 2 counted rollouts of the batch, ddof 1$|^0: /,
    );
    const unscaled = { reward: [1, 0, 0, 0, 0] };
    expect(await textOf({ scale: 'mad' }, 'divisor', unscaled)).toMatch(/^1, the median distance is 0/);
  });

  test('the scale of a batch is told as its standard deviation and epsilon', async () => {
    const batch: Batch = { reward: [1, 0, 3, 2], groupIndex: [0, 0, 1, 1] };
    const [{ steps, statistics }] = await explainAll(batch, { scale: 'batch', ddof: 0, epsilon: 0.5 });
    const what = 'the first is the standard deviation of the 4 counted rollouts of the batch';
    const deviation = Math.sqrt(1.25);
    expect(steps.find(({ step }) => step === 'divisor')).toMatchObject({
      text: `${deviation} + 0.5 = ${deviation + 0.5}, ${what}`,
      value: statistics[0].divisor,
    });
  });

  test('the row-weighted result is that of --siblings rows; where rows are counted, that of rollouts', async () => {
    const batch = mixedBatch();
    const rows = await engine.normalize(batch, { siblings: 'rows' });
    const mainstream = await engine.normalize(batch, {});
    const [a, b] = [await explainAll(batch, {}), await explainAll(batch, { siblings: 'rows' })];
    expect(a.map(({ instead }) => instead?.advantage)).toEqual([...rows.advantages]);
    expect(b.map(({ instead }) => instead?.advantage)).toEqual([...mainstream.advantages]);
    expect(a[0].instead).toMatchObject({ siblings: 'rows', counted: 18, error: null });
  });

  test('a dialect says what it changes, and which flag beats it', async () => {
    const [{ like }] = await explainAll(mixedBatch(), { like: 'trl', ddof: 0, epsilon: 0.5 });
    expect(like).toMatchObject({ name: 'trl', repository: 'huggingface/trl', commit: 'f2cd57710', theirs: null });
    expect(like!.changes).toEqual([
      { setting: 'epsilon', default: 1e-6, like: 1e-4, in_effect: 0.5 },
      { setting: 'siblings', default: 'mainstream', like: 'rows', in_effect: 'rows' },
      { setting: 'exclude', default: [], like: ['missing-reward'], in_effect: ['missing-reward'] },
    ]);
  });

  test('tiers passed over have their reasons', async () => {
    const reward = [1, 0, 1, 0];
    const fixed = { nSamplesPerPrompt: 2, rolloutBatchSize: 2 };
    const [none] = await explainAll({ reward, groupIndex: [1, null, 1, 1] }, fixed);
    expect(none.grouping).toMatchObject({ tier: 3, reason: '2 samples per prompt x 2 prompts are 4 rows' });
    expect(none.grouping.passed_over.map(({ reason }) => reason)).toEqual([
      'no prompt group sizes are given',
      '1 of 4 rows have no group_index (row 2)',
    ]);
    const [one] = await explainAll({ reward }, { ...fixed, rolloutBatchSize: 3 });
    expect(one.grouping.passed_over.at(-1)!.reason).toBe('2 samples per prompt x 3 prompts are 6 rows, not 4');
    const [sized] = await explainAll({ reward }, { promptGroupSizes: [2, 0, 2] });
    expect(sized.grouping).toMatchObject({ tier: 1, reason: '3 sizes are given for 4 rows', passed_over: [] });
    const [positioned] = await explainAll({ reward, groupIndex: [1, 1, 1, 1] }, { like: 'slime', ...fixed });
    expect(positioned.grouping.passed_over[1].reason).toBe('the rule groups rows by their position');
  });

  test('long groups and rollouts are cut, the asked one and the last stay, counts are whole', async () => {
    const rolloutId = Array.from({ length: 100 }, (_, i) => Math.min(i, 80));
    const reward = rolloutId.map((id) => id % 3);
    const status = rolloutId.map((id) => (id % 10 === 5 ? 'failed' : 'completed'));
    const all = await explainAll({ reward, rolloutId, status }, { exclude: ['failed'] });
    const { group, rollout } = all[40];
    expect(group).toMatchObject({ rollouts: 81, rows: 100, counted: 73, left_out: { failed: 8 }, members_omitted: 75 });
    expect(group!.members.map(({ id }) => id)).toEqual(['0', '1', '2', '3', '40', '80']);
    expect(group!.left_out_members.map(({ id }) => id)).toEqual(['5', '15', '25', '35', '45', '55']);
    expect(rollout.siblings_omitted).toBe(0);
    expect(all[90].rollout).toMatchObject({ rows: 20, siblings_omitted: 16 });
    expect(all[90].rollout.siblings.map(({ row }) => row)).toEqual([81, 82, 83, 91]);
    const text = renderExplanation(all[40], (own) => own);
    expect(text.match(/\.\.\. \d+ more/g)).toEqual(['... 36 more', '... 39 more']);
    expect(text).toContain('left out: 15 (row 16): failed');
  });

  test('whichever policy chose the row is said with its numbers', async () => {
    const batch: Batch = { rolloutId: [1, 1, 1, 2], reward: [0.5, 1, 1, 0], trainableTokens: [3, 9, 9, 1] };
    const whyOf = async (options: NormalizeOptions, own = batch) => (await explainAll(own, options))[0].rollout.why;
    expect(await whyOf({})).toBe('most trainable tokens of its rows: 9, as row 3 has too; the first on a tie');
    expect(await whyOf({}, { ...batch, trainableTokens: [3, 9, 8, 1] })).toBe(
      'most trainable tokens of its rows: 9 against 8',
    );
    expect(await whyOf({}, { ...batch, trainableTokens: undefined })).toMatch(
      /^no row of the batch says how many tokens/,
    );
    expect(await whyOf({ siblings: 'last' })).toBe('the last of its rows (siblings last)');
    expect(await whyOf({ siblings: 'min' })).toBe('the lowest reward of its rows (siblings min): 0.5 against 1');
    expect(await whyOf({ siblings: 'max' })).toContain('1, the first on a tie');
    expect(await whyOf({ siblings: 'mean' })).toBe('the mean of the rewards of 3 of 3 rows (siblings mean)');
    expect(await whyOf({ siblings: 'rows' })).toMatch(/^every row counts as a rollout of its own/);
    expect(await whyOf({ estimator: 'raw' })).toBe('every row keeps its own reward');
  });

  test('a result by rows that is refused says why', async () => {
    // By rollouts the groups are flat; by rows a distance vanishes in binary64.
    const tiny: Batch = { rolloutId: [1, 1, 2, 2], reward: [0, 2 ** -600, 0, 0], trainableTokens: [2, 1, 2, 1] };
    const [{ instead, advantage }] = await explainAll(tiny, { epsilon: 0 });
    expect(advantage).toBe(0);
    expect(instead).toMatchObject({ siblings: 'rows', advantage: null });
    expect(instead!.error).toContain('vanishes in binary64');
  });

  test('a row that lacks one of several rewards is missing as a whole', async () => {
    const batch = { rewards: { a: [1, 1, 0], b: [0.5, null, 2] }, rolloutId: [1, 1, 2], groupIndex: [0, 0, 0] };
    const [first] = await explainAll(batch, { estimator: 'gdpo', exclude: ['missing-reward'] });
    expect(first.rollout.siblings.map(({ rewards }) => rewards)).toEqual([
      [1, 0.5],
      [null, null],
    ]);
    expect(renderExplanation(first, (text) => text)).toMatch(/row 2 +\? +missing$/m);
  });

  test('siblings disagree in what the rule looks at: in each reward under gdpo, else in their sum', async () => {
    const batch = { rewards: { a: [1, 0, 2], b: [0, 1, 3] }, rolloutId: [1, 1, 2], groupIndex: [0, 0, 0] };
    const disagreeing = async (options: NormalizeOptions) => (await explainAll(batch, options))[0].rollout.disagreeing;
    expect([await disagreeing({ estimator: 'gdpo' }), await disagreeing({})]).toEqual([true, false]);
  });

  test('options without a meaning are refused as ever', async () => {
    await expect(explainAll(mixedBatch(), { estimator: 'gdpo' })).rejects.toThrow(UsageError);
  });
});
