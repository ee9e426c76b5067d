import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { type Batch, createEngine, type EstimatorName, InputError, type NormalizeOptions } from '../../src/index.ts';
import {
  CENTRE,
  columnsOf,
  exactly,
  GRPO,
  modelAdvantages,
  modelOf,
  outsideBound,
  type PlainRow,
  type Rational,
  roundToBinary32,
} from '../support/oracle.ts';

type Siblings = 'mainstream' | 'shared';

interface UpstreamSample {
  readonly group_index: number | null;
  readonly index: number | null;
  readonly rollout_id: number | null;
  readonly reward: number | Record<string, number>;
  readonly loss_mask: number[] | null;
  readonly response_length: number;
  readonly remove_sample: boolean;
}

interface UpstreamCase {
  readonly name: string;
  readonly args: {
    readonly advantage_estimator: EstimatorName;
    readonly rewards_normalization: boolean;
    readonly grpo_std_normalization: boolean;
    readonly n_samples_per_prompt: number;
    readonly rollout_batch_size: number;
    readonly reward_key: string | null;
  };
  readonly prompt_group_sizes: number[] | null;
  readonly samples: UpstreamSample[];
  readonly expected: Record<Siblings, UpstreamResult | { readonly error: true }>;
}

interface UpstreamResult {
  readonly raw: number[];
  readonly rewards: number[];
  readonly exact: number[];
}

const cases = JSON.parse(
  readFileSync(new URL('../fixtures/upstream-200.json', import.meta.url), 'utf8'),
) as UpstreamCase[];

/**
 * Share of max(1, |exact|) that upstream's result may be off by: torch computes in binary32, and over 19,000 rows of
 * random batches it was off by up to 4e-6.
 */
const UPSTREAM_TOLERANCE = 1e-5;

function rowsOf({ samples, args }: UpstreamCase): PlainRow[] {
  return samples.map((sample) => ({
    groupIndex: sample.group_index,
    rolloutId: sample.rollout_id,
    index: sample.index,
    reward: typeof sample.reward === 'number' ? sample.reward : sample.reward[args.reward_key!],
    lossMask: sample.loss_mask,
    responseLength: sample.response_length,
    removeSample: sample.remove_sample,
  }));
}

function optionsOf({ args, prompt_group_sizes: sizes }: UpstreamCase, siblings: Siblings): NormalizeOptions {
  return {
    estimator: args.advantage_estimator,
    disableRewardsNormalization: !args.rewards_normalization,
    disableGrpoStdNormalization: !args.grpo_std_normalization,
    nSamplesPerPrompt: args.n_samples_per_prompt,
    rolloutBatchSize: args.rollout_batch_size,
    siblings,
    ...(sizes && { promptGroupSizes: sizes }),
  };
}

const batchOf = (upstream: UpstreamCase): Batch => columnsOf(rowsOf(upstream));

/** The exact advantages by the definitions; throws where the rules refuse the batch. */
function exactOf(upstream: UpstreamCase, siblings: Siblings): Rational[] {
  const { advantage_estimator: name, rewards_normalization, grpo_std_normalization, ...layout } = upstream.args;
  const rows = rowsOf(upstream);
  if (!rewards_normalization || name === 'ppo' || name === 'reinforce_plus_plus')
    return rows.map(({ reward }) => exactly(reward!));
  const model = modelOf(rows, {
    siblings,
    nSamplesPerPrompt: layout.n_samples_per_prompt,
    rolloutBatchSize: layout.rollout_batch_size,
    ...(upstream.prompt_group_sizes && { promptGroupSizes: upstream.prompt_group_sizes }),
  });
  const divides = grpo_std_normalization && name !== 'reinforce_plus_plus_baseline';
  return modelAdvantages(model, rows.length, divides ? GRPO : CENTRE);
}

const cpu = createEngine({ backend: 'cpu' });
const gpu = createEngine({ backend: 'webgpu' });
afterAll(() => gpu.close());

describe.each(['mainstream', 'shared'] as const)('miles, siblings %s', (siblings) => {
  const normal: [string, UpstreamCase, UpstreamResult][] = [];
  const refused: [string, UpstreamCase][] = [];
  for (const upstream of cases) {
    const expected = upstream.expected[siblings];
    if ('error' in expected) refused.push([upstream.name, upstream]);
    else normal.push([upstream.name, upstream, expected]);
  }

  test('every case is here', () => {
    expect([normal.length, refused.length]).toEqual(siblings === 'mainstream' ? [198, 2] : [175, 25]);
  });

  test.each(normal)('%s: rewards as upstream, exact within the bound', async (_, upstream, { raw, rewards, exact }) => {
    const result = await cpu.normalize(batchOf(upstream), optionsOf(upstream, siblings));
    expect([...result.rawRewards]).toEqual(raw);
    const advantages = [...result.advantages];
    const far = advantages.filter(
      (advantage, row) =>
        !(Math.abs(advantage - rewards[row]) <= UPSTREAM_TOLERANCE * Math.max(1, Math.abs(exact[row]))),
    );
    expect(far).toEqual([]);
    const right = exactOf(upstream, siblings);
    expect(right.map(roundToBinary32)).toEqual(exact.map((value) => value + 0));
    expect(outsideBound(advantages, right)).toEqual([]);
    expect(advantages.every((advantage) => !Object.is(advantage, -0))).toBe(true);
  });

  test.each(refused)('%s: bad input where upstream raises', async (_, upstream) => {
    expect(() => exactOf(upstream, siblings)).toThrow();
    const failure = cpu.normalize(batchOf(upstream), optionsOf(upstream, siblings));
    await expect(failure).rejects.toThrow(InputError);
    const total = upstream.prompt_group_sizes?.reduce((sum, size) => sum + size, 0) ?? upstream.samples.length;
    const reason =
      total === upstream.samples.length
        ? /^rollout \d+: siblings must share one reward, but row \d+ has \S+ and row \d+ has \S+$/
        : new RegExp(`^prompt group sizes sum to ${total} but the batch has ${upstream.samples.length} rows$`);
    await expect(failure).rejects.toThrow(reason);
  });

  test('WebGPU gives the bits of the CPU in every case', async () => {
    for (const [name, upstream] of normal) {
      const options = optionsOf(upstream, siblings);
      const onCpu = await cpu.normalize(batchOf(upstream), options);
      const onGpu = await gpu.normalize(batchOf(upstream), options);
      expect(onGpu.report.backend).toBe('webgpu');
      expect(new Uint32Array(onGpu.advantages.buffer), name).toEqual(new Uint32Array(onCpu.advantages.buffer));
      expect(onGpu.rawRewards, name).toEqual(onCpu.rawRewards);
    }
  });

  test('WebGPU refuses what the CPU refuses, in the same words', async () => {
    for (const [, upstream] of refused) {
      const options = optionsOf(upstream, siblings);
      const words = await cpu.normalize(batchOf(upstream), options).catch((error: Error) => error.message);
      await expect(gpu.normalize(batchOf(upstream), options)).rejects.toThrow(new InputError(words as string));
    }
  });
});
