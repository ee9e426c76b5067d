/** The whole engine, GPU against CPU: equal bits and equal reports, whatever the limits of the device. */

import { afterAll, describe, expect, it } from 'vitest';
import { RollnormError, UsageError } from '../../src/errors.ts';
import type { EstimatorOptions } from '../../src/estimators/estimators.ts';
import { EXCLUSION_REASONS, SIBLING_POLICIES, type SiblingPolicy } from '../../src/estimators/policies.ts';
import { createEngine, type Engine, type EngineOptions, type NormalizeOptions } from '../../src/index.ts';
import { gpuExecutor } from '../../src/kernels/webgpu/executor.ts';
import type { GpuProvider } from '../../src/kernels/webgpu/gpu-provider.ts';
import { defaultProvider } from '../../src/kernels/webgpu/provider.ts';
import type { GpuSession } from '../../src/kernels/webgpu/session.ts';
import type { Batch } from '../../src/samples/batch.ts';
import { packLossMasks } from '../../src/samples/loss-masks.ts';
import { Random, VALUE_CLASSES } from '../support/kernel-runner.ts';

type Limits = NonNullable<EngineOptions['gpuLimits']>;

const cpu = createEngine({ backend: 'cpu' });
/** These serve all tests of the same limits: the defaults, tiles of a few rows, and nothing that fits. */
const gpu = createEngine({ backend: 'webgpu' });
const tiled = createEngine({ backend: 'webgpu', gpuLimits: { bindingBytes: 32, pieceLength: 2 } });
const sliced = createEngine({ backend: 'webgpu', gpuLimits: { memoryBytes: 1 } });
afterAll(async () => {
  for (const engine of [gpu, tiled, sliced]) await engine.close();
});

type MaskKind = 'packed' | 'lists' | 'totals' | 'none';

interface BatchShape {
  readonly rows: number;
  readonly groups: number;
  /** Rows of a rollout, at most. */
  readonly fanOut: number;
  readonly shuffled: boolean;
  readonly masks: MaskKind;
  /** A mask is shorter than this. */
  readonly maskLength?: number;
  /** Whether siblings carry one reward. */
  readonly shared?: boolean;
  readonly missing?: boolean;
  readonly values?: readonly string[];
}

interface Row {
  readonly group: number;
  readonly rollout: number;
  readonly reward: number;
}

/** Groups of very different sizes; each takes its rewards from one class. */
function randomBatch(seed: number, shape: BatchShape): Batch {
  const random = new Random(seed);
  const { rows: count, groups, fanOut, shared = false, masks, maskLength = 150, values } = shape;
  const classes = Object.entries(VALUE_CLASSES).filter(([name]) => values?.includes(name) ?? name !== 'huge');
  const rows: Row[] = [];
  for (let group = 0, rollout = 0; rows.length < count; group = Math.min(group + 1, groups - 1)) {
    const next = random.pick(classes)[1](random);
    const rollouts = group === groups - 1 ? 1 : 1 + random.below(Math.ceil((2 * count) / groups / fanOut));
    for (let i = 0; i < rollouts; i++, rollout++) {
      const own = next();
      const siblings = 1 + random.below(fanOut);
      for (let j = 0; j < siblings && rows.length < count; j++)
        rows.push({ group, rollout, reward: shared ? own : next() });
    }
  }
  if (shape.shuffled) shuffle(rows, random);
  const isMissing = () => shape.missing === true && random.below(5) === 0;
  return {
    reward: rows.map(({ reward }) => (isMissing() ? null : reward)),
    groupIndex: rows.map(({ group }) => group),
    rolloutId: rows.map(({ rollout }) => rollout),
    removeSample: rows.map(() => random.below(6) === 0),
    status: rows.map(() => random.pick(['completed', 'completed', 'completed', 'truncated', 'aborted', 'failed'])),
    ...tokensOf(masks, rows.length, maskLength, random),
  };
}

function tokensOf(kind: MaskKind, count: number, maskLength: number, random: Random): Partial<Batch> {
  if (kind === 'none') return {};
  const rows = Array.from({ length: count });
  if (kind === 'totals') return { trainableTokens: rows.map(() => random.below(4)) };
  const masks = rows.map(() => {
    const density = random.below(3);
    return Array.from({ length: random.below(maskLength) }, () => Number(random.below(3) < density));
  });
  return { lossMask: kind === 'packed' ? packLossMasks(masks) : masks };
}

function shuffle(rows: unknown[], random: Random): void {
  for (let i = rows.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [rows[i], rows[j]] = [rows[j], rows[i]];
  }
}

interface Outcome {
  readonly bits?: Uint32Array;
  readonly facts?: object;
  readonly error?: string;
}

/** What a call gives: bits and counts, or the message with which it refuses. */
async function outcomeOf(engine: Engine, batch: Batch, options: NormalizeOptions): Promise<Outcome> {
  try {
    const { advantages, report } = await engine.normalize(batch, options);
    const { flat_groups, singleton_groups, excluded, rollouts, groups, warnings } = report;
    return {
      bits: new Uint32Array(advantages.buffer, advantages.byteOffset, advantages.length),
      facts: { flat_groups, singleton_groups, excluded, rollouts, groups, warnings },
    };
  } catch (error) {
    if (!(error instanceof RollnormError)) throw error;
    return { error: `${error.name}: ${error.message}` };
  }
}

/** How the two engines differ; null where they do not. */
async function difference(engine: Engine, batch: Batch, options: NormalizeOptions): Promise<string | null> {
  const expected = await outcomeOf(cpu, batch, options);
  const found = await outcomeOf(engine, batch, options);
  if (expected.error !== found.error) return `error: ${found.error ?? 'none'}; expected: ${expected.error ?? 'none'}`;
  const [wantedFacts, foundFacts] = [expected, found].map(({ facts }) => JSON.stringify(facts));
  if (wantedFacts !== foundFacts) return `${foundFacts}; expected: ${wantedFacts}`;
  const at = expected.bits?.findIndex((word, row) => word !== found.bits![row]) ?? -1;
  if (at < 0) return null;
  const [wanted, got] = [expected, found].map(({ bits }) => new Float32Array(bits!.buffer)[at]);
  return `row ${at + 1}: ${got}; expected: ${wanted}`;
}

const ESTIMATORS: readonly EstimatorOptions[] = [
  {},
  { ddof: 0 },
  { epsilon: 0 },
  { estimator: 'dr_grpo' },
  { estimator: 'gspo', epsilon: 1 },
  { estimator: 'cispo', disableGrpoStdNormalization: true },
  { estimator: 'reinforce_plus_plus_baseline' },
];
const PASS_THROUGH: readonly EstimatorOptions[] = [
  { estimator: 'ppo' },
  { estimator: 'reinforce_plus_plus' },
  { estimator: 'raw' },
  { disableRewardsNormalization: true },
];
const MASKS: readonly MaskKind[] = ['packed', 'lists', 'none', 'totals'];

interface Case {
  readonly what: string;
  readonly batch: Batch;
  readonly options: NormalizeOptions;
}

/** All policies with and without exclusions, all estimators and kinds of masks in turn, contiguous and shuffled. */
function* cases(rows: number): Generator<Case> {
  let turn = 0;
  for (const siblings of SIBLING_POLICIES) {
    for (const excludes of [false, true]) {
      turn++;
      const shape = shapeOf(turn, rows, siblings, excludes);
      const options = {
        siblings,
        exclude: excludes ? EXCLUSION_REASONS : [],
        ...ESTIMATORS[turn % ESTIMATORS.length],
      };
      const what = `${siblings}, ${JSON.stringify(options)}, ${JSON.stringify(shape)}`;
      yield { what, batch: randomBatch(turn, shape), options };
    }
  }
  for (const options of PASS_THROUGH) {
    const shape = shapeOf(turn, rows, 'first', false);
    yield { what: JSON.stringify(options), batch: randomBatch(turn++, shape), options };
  }
}

const shapeOf = (turn: number, rows: number, siblings: SiblingPolicy, excludes: boolean): BatchShape => ({
  rows: rows - (turn % 3),
  groups: [1, 3, rows >> 3, rows][turn % 4],
  fanOut: [3, 1, 17][turn % 3],
  shuffled: turn % 4 > 1,
  masks: MASKS[(turn >> 1) % MASKS.length],
  shared: siblings === 'shared',
  missing: excludes,
});

const LIMITS: readonly { readonly limits: Limits; readonly rows?: number }[] = [
  { limits: {}, rows: 700 },
  { limits: { pieceLength: 2, workgroupSize: 1 } },
  { limits: { pieceLength: 4, workgroupSize: 32 } },
  { limits: { pieceLength: 64, workgroupSize: 256 }, rows: 700 },
  { limits: { workgroupSize: 1, workgroupsPerDispatch: 1 }, rows: 100 },
  { limits: { workgroupSize: 64, workgroupsPerDispatch: 1 } },
  { limits: { elementsPerDispatch: 1 }, rows: 100 },
  { limits: { elementsPerDispatch: 37, pieceLength: 4, elementsInFlight: 1 } },
  { limits: { memoryBytes: 1 }, rows: 80 },
  { limits: { bindingBytes: 32, pieceLength: 2 }, rows: 30 },
  { limits: { bindingBytes: 200, pieceLength: 4 }, rows: 80 },
  { limits: { bindingBytes: 1024, pieceLength: 64 } },
  { limits: { bindingBytes: 1024, pieceLength: 2, workgroupSize: 1, workgroupsPerDispatch: 7 }, rows: 100 },
  {
    limits: { bindingBytes: 256, pieceLength: 16, memoryBytes: 300, elementsPerDispatch: 3, elementsInFlight: 1 },
    rows: 60,
  },
];

describe.each(LIMITS.map((each) => ({ name: JSON.stringify(each.limits), ...each })))(
  'within $name',
  ({ limits, rows = 160 }) => {
    it('every policy, exclusion, estimator and kind of mask gives the bits of the CPU', async () => {
      const { provider, largestBinding } = measuringProvider();
      const engine = createEngine({ backend: 'webgpu', gpuLimits: limits, provider });
      const differences: string[] = [];
      const refusals: string[] = [];
      let count = 0;
      for (const { what, batch, options } of cases(rows)) {
        count++;
        const found = await difference(engine, batch, options);
        if (found !== null) differences.push(`${what}: ${found}`);
        const { error } = await outcomeOf(cpu, batch, options);
        if (error !== undefined) refusals.push(error);
      }
      await engine.close();
      expect(differences).toEqual([]);
      // A case whose batch is refused compares no bits.
      expect(refusals.length, refusals.join('\n')).toBeLessThan(count / 4);
      if (limits.bindingBytes !== undefined) expect(largestBinding()).toBeLessThanOrEqual(limits.bindingBytes);
    });
  },
);

/** The run's own adapter, with a record of the largest storage buffer that was asked for. */
function measuringProvider(): { provider: GpuProvider; largestBinding: () => number } {
  let largest = 0;
  const watch = (device: GPUDevice): GPUDevice => {
    const createBuffer = device.createBuffer.bind(device);
    device.createBuffer = (descriptor) => {
      if (descriptor.usage & GPUBufferUsage.STORAGE) largest = Math.max(largest, descriptor.size);
      return createBuffer(descriptor);
    };
    return device;
  };
  const provider: GpuProvider = {
    async open(text) {
      const opened = await defaultProvider.open(text);
      const requestAdapter = async (options?: GPURequestAdapterOptions) => {
        const adapter = await opened.requestAdapter(options);
        if (!adapter) return null;
        const requestDevice = async (wanted?: GPUDeviceDescriptor) => watch(await adapter.requestDevice(wanted));
        return { info: adapter.info, limits: adapter.limits, requestDevice } as unknown as GPUAdapter;
      };
      return { requestAdapter } as unknown as GPU;
    },
  };
  return { provider, largestBinding: () => largest };
}

describe('what is longer than a binding', () => {
  const limits: Limits = { bindingBytes: 128, pieceLength: 4 };
  const entries = limits.bindingBytes! / 8;
  const engine = createEngine({ backend: 'webgpu', gpuLimits: limits });
  afterAll(() => engine.close());
  const random = new Random(7);
  const rewards = (count: number) => Array.from({ length: count }, () => random.unit());
  const repeat = (lengths: readonly number[]) => lengths.flatMap((length, i) => Array<number>(length).fill(i));
  const rowsOf = (batch: Batch, order: readonly number[]): Batch => {
    const column = (values: ArrayLike<unknown>) => order.map((row) => values[row]);
    return Object.fromEntries(
      Object.entries(batch).map(([name, values]) => [name, column(values as ArrayLike<unknown>)]),
    ) as unknown as Batch;
  };
  /** Groups of these many rollouts, rollouts of these many rows. */
  const build = (groups: readonly number[], rows: (rollout: number) => number, masks: number): Batch => {
    const groupOfRollout = repeat(groups);
    const rolloutId = repeat(groupOfRollout.map((_, rollout) => rows(rollout)));
    const lossMask = rolloutId.map(() => Array.from({ length: random.below(masks) }, () => random.below(2)));
    const groupIndex = rolloutId.map((rollout) => groupOfRollout[rollout]);
    return { reward: rewards(rolloutId.length), groupIndex, rolloutId, lossMask };
  };
  const big = 3 * entries + 1;
  const batches: readonly (readonly [string, Batch])[] = [
    ['a group that comes first', build([big, 2, 3], () => 1, 60)],
    ['a group that comes after others', build([2, 3, big, 2, big], () => 1, 60)],
    ['a group of rollouts of several rows, after others', build([2, 3, big, 4], (rollout) => 1 + (rollout % 3), 60)],
    ['a rollout that comes first', build([3, 3, 3], (rollout) => (rollout === 0 ? big : 2), 60)],
    ['a rollout that comes after others', build([3, 3, 3, 3], (rollout) => (rollout === 7 ? big : 2), 60)],
    ['a mask', build([3, 4, 2], () => 2, 32 * 4 * entries)],
    ['everything', build([2, big, 3, big], (rollout) => (rollout % 29 === 4 ? big : 2), 32 * entries)],
    ['as many groups as a binding has entries, and one around', build(Array(entries + 1).fill(2), () => 1, 60)],
  ];
  const policies: readonly NormalizeOptions[] = [
    { siblings: 'mainstream' },
    { siblings: 'last', estimator: 'dr_grpo' },
    { siblings: 'max', exclude: ['untrainable'] },
    { siblings: 'mean' },
    { siblings: 'rows' },
  ];

  it.each(batches)('%s: gives the bits of the CPU, contiguous and shuffled', async (_, batch) => {
    const order = Array.from({ length: batch.reward!.length }, (_, row) => row);
    shuffle(order, random);
    const differences: string[] = [];
    for (const [name, each] of [['contiguous', batch] as const, ['shuffled', rowsOf(batch, order)] as const]) {
      for (const options of policies) {
        const found = await difference(engine, each, options);
        if (found !== null) differences.push(`${name}, ${JSON.stringify(options)}: ${found}`);
      }
    }
    expect(differences).toEqual([]);
  });
});

describe('the edges of a batch', () => {
  it.each([0, 1])('%i rows give as many advantages', async (rows) => {
    const batch = { reward: Array<number>(rows).fill(0.5), groupIndex: Array<number>(rows).fill(3) };
    for (const options of [{}, { estimator: 'raw' }, { exclude: ['removed'] }, { siblings: 'mean' }] as const) {
      expect(await difference(gpu, batch, options)).toBeNull();
      const { advantages, report } = await gpu.normalize(batch, options);
      expect(report.backend).toBe('webgpu');
      expect([...advantages]).toEqual('estimator' in options ? batch.reward : batch.reward.map(() => 0));
    }
  });

  const removed = (removeSample: boolean[]): Batch => ({
    reward: removeSample.map((_, row) => row / 7),
    groupIndex: removeSample.map((_, row) => row >> 1),
    rolloutId: removeSample.map((_, row) => row),
    removeSample,
  });

  it.each([
    ['every rollout of a batch', [true, true, true, true, true, true]],
    ['every rollout of the first group', [true, true, false, false, false, false]],
    ['every rollout of the last group', [false, false, false, false, true, true]],
    ['all rollouts but one', [true, true, true, false, true, true]],
  ])('%s may be excluded', async (_, removeSample) => {
    const options: readonly NormalizeOptions[] = [
      { exclude: ['removed'] },
      { exclude: ['removed'], estimator: 'dr_grpo' },
      { exclude: ['removed'], siblings: 'sum' },
    ];
    const differences: (string | null)[] = [];
    for (const each of options)
      for (const engine of [gpu, tiled, sliced])
        differences.push(await difference(engine, removed(removeSample), each));
    expect(differences).toEqual(Array(9).fill(null));
  });

  it('rewards near the ends of binary64 are refused by both with the same words, or give the same bits', async () => {
    const differences: string[] = [];
    let refused = 0;
    for (let seed = 1; seed <= 12; seed++) {
      const values = seed % 2 === 0 ? ['huge', 'integers'] : ['subnormals', 'neighbours'];
      const batch = randomBatch(seed, { rows: 60, groups: 8, fanOut: 2, shuffled: false, masks: 'none', values });
      for (const epsilon of [0, Number.MIN_VALUE, 1e-6]) {
        const found = await difference(gpu, batch, { epsilon });
        if (found !== null) differences.push(`seed ${seed}, epsilon ${epsilon}: ${found}`);
        if ((await outcomeOf(cpu, batch, { epsilon })).error !== undefined) refused++;
      }
    }
    expect(differences).toEqual([]);
    expect(refused).toBeGreaterThan(0);
  });

  it('an epsilon of -0 is an epsilon of 0', async () => {
    const tiny = { reward: [1e-160, 2e-160, 4e-160], groupIndex: [0, 0, 0] };
    const plain = { reward: [1, 2, 4], groupIndex: [0, 0, 0] };
    for (const batch of [tiny, plain]) {
      const expected = await outcomeOf(cpu, batch, { epsilon: 0 });
      expect(await outcomeOf(cpu, batch, { epsilon: -0 })).toEqual(expected);
      expect(await outcomeOf(gpu, batch, { epsilon: -0 })).toEqual(expected);
    }
  });

  it('the same input ten times gives the same bits', async () => {
    const shape = { rows: 900, groups: 20, fanOut: 3, shuffled: true, masks: 'packed' } as const;
    const batch = randomBatch(5, shape);
    const { bits: expected } = await outcomeOf(cpu, batch, {});
    expect(new Set(expected).size).toBeGreaterThan(100);
    for (let i = 0; i < 10; i++) expect((await outcomeOf(gpu, batch, {})).bits).toEqual(expected);
  });
});

describe('limits that cannot be', () => {
  const device = {
    limits: { maxStorageBufferBindingSize: 2 ** 27, maxBufferSize: 2 ** 28, maxComputeWorkgroupsPerDimension: 65_535 },
  };
  const session = { device, workgroupSize: 64 } as unknown as GpuSession;

  it.each([
    { pieceLength: 1 },
    { pieceLength: 48 },
    { pieceLength: 2 ** 21 },
    { pieceLength: Number.NaN },
    { bindingBytes: 63, pieceLength: 4 },
    { bindingBytes: Number.NaN },
    { workgroupsPerDispatch: 0 },
    { workgroupsPerDispatch: 0.5 },
    { elementsPerDispatch: Number.NaN },
    { elementsPerDispatch: 0 },
    { elementsInFlight: Number.NaN },
  ])('%o are refused as usage', (limits) => {
    expect(() => gpuExecutor(session, limits)).toThrow(UsageError);
  });

  it('a workgroup of no invocations is refused as usage', () => {
    expect(() => createEngine({ backend: 'webgpu', gpuLimits: { workgroupSize: 0 } })).toThrow(UsageError);
  });
});

describe('large batches', () => {
  const large = (rows: number, groupOf: (row: number) => number, rolloutOf: (row: number) => number): Batch => {
    const random = new Random(rows);
    return {
      reward: Float64Array.from({ length: rows }, () => random.unit()),
      groupIndex: Int32Array.from({ length: rows }, (_, row) => groupOf(row)),
      rolloutId: Int32Array.from({ length: rows }, (_, row) => rolloutOf(row)),
      trainableTokens: Uint32Array.from({ length: rows }, () => random.below(1000)),
    };
  };
  const scattered = (row: number, count: number) => (Math.imul(row, 0x9e3779b1) >>> 0) % count;

  it.each([
    [
      '100,000 rows, contiguous',
      large(
        100_000,
        (row) => row >> 4,
        (row) => row >> 1,
      ),
    ],
    [
      '100,000 rows, scattered',
      large(
        100_000,
        (row) => scattered(row, 5000),
        (row) => scattered(row, 50_000),
      ),
    ],
    [
      'a group of a million rollouts',
      large(
        1_000_000,
        () => 0,
        (row) => row,
      ),
    ],
    [
      'a rollout of 300,000 rows',
      large(
        300_008,
        (row) => Math.floor(row / 150_004),
        (row) => (row < 300_000 ? 0 : row),
      ),
    ],
    [
      '200,000 groups',
      large(
        400_000,
        (row) => row >> 1,
        (row) => row,
      ),
    ],
  ] as const)('%s: gives the bits of the CPU', async (_, batch) => {
    expect(await difference(gpu, batch, {})).toBeNull();
  });
});
