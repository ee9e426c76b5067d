/** CPU against the adapter, bit by bit, over shapes and value classes; needs nothing but the built package. */
import { createEngine, type Engine } from '../src/engine.ts';
import type { NormalizeOptions } from '../src/options.ts';
import type { Batch } from '../src/samples/batch.ts';
import { packLossMasks } from '../src/samples/loss-masks.ts';
import { generateBatch, generator } from './data.ts';

type Values = (random: () => number, row: number) => number;

const VALUES: Readonly<Record<string, Values>> = {
  integers: (random) => Math.floor(random() * 7) - 3,
  decimals: (random) => Math.round(random() * 100) / 100,
  mixed: (random) => (random() - 0.5) * 10 ** Math.floor(random() * 30 - 15),
  zeros: (random) => (random() < 0.5 ? -0 : 0),
  subnormals: (random) => Math.floor(random() * 9) * Number.MIN_VALUE,
  huge: (random) => (random() - 0.5) * 1e150,
  neighbours: (random) => 1 + Math.floor(random() * 3) * Number.EPSILON,
  offset: (random) => 1e15 + Math.floor(random() * 5) / 8,
};

/** Rows, chance that a row begins a rollout, chance that it begins a group. */
const SHAPES: readonly (readonly [rows: number, rollout: number, group: number])[] = [
  [0, 0, 0],
  [1, 1, 1],
  [63, 1, 0],
  [64, 1, 0],
  [65, 1, 0],
  [4097, 1, 0],
  [5000, 0, 0],
  [20_000, 0.4, 0.05],
  [20_000, 0.9, 0.5],
  [20_000, 0.02, 0.0005],
];

const OPTIONS: readonly NormalizeOptions[] = [
  {},
  { estimator: 'dr_grpo', siblings: 'max' },
  { ddof: 0, epsilon: 0.5, siblings: 'min', exclude: ['untrainable'] },
  { estimator: 'raw' },
];

function batchOf([rows, rollout, group]: (typeof SHAPES)[number], values: Values, seed: number): Batch {
  const random = generator(seed);
  const columns = { groupIndex: new Int32Array(rows), rolloutId: new Int32Array(rows), reward: new Float64Array(rows) };
  const masks: Uint8Array[] = [];
  let groupId = 0;
  let rolloutId = 0;
  for (let row = 0; row < rows; row++) {
    const startsGroup = random() < group;
    if (startsGroup) groupId++;
    if (startsGroup || random() < rollout) rolloutId++;
    columns.groupIndex[row] = groupId;
    columns.rolloutId[row] = rolloutId;
    columns.reward[row] = values(random, row);
    masks.push(Uint8Array.from({ length: Math.floor(random() * 100) }, () => (random() < 0.6 ? 1 : 0)));
  }
  return { ...columns, lossMask: packLossMasks(masks) };
}

/** Rows whose bits differ. */
async function differences(cpu: Engine, gpu: Engine, batch: Batch, options: NormalizeOptions): Promise<number> {
  const [expected, actual] = [await outcomeOf(cpu, batch, options), await outcomeOf(gpu, batch, options)];
  if (typeof expected === 'string' || typeof actual === 'string') return expected === actual ? 0 : batch.reward!.length;
  let different = 0;
  for (let row = 0; row < expected.length; row++) if (expected[row] !== actual[row]) different++;
  return different;
}

/** The advantages' bits, or the message with which the batch was refused. */
async function outcomeOf(engine: Engine, batch: Batch, options: NormalizeOptions): Promise<Uint32Array | string> {
  try {
    const { advantages } = await engine.normalize(batch, options);
    return new Uint32Array(advantages.buffer, advantages.byteOffset, advantages.length);
  } catch (error) {
    if (error instanceof Error && error.name === 'InputError') return error.message;
    throw error;
  }
}

const largest = Number(process.argv[2] ?? 200_000);
const adapter = process.argv[3];
const cpu = createEngine({ backend: 'cpu' });
const gpu = createEngine({ backend: 'webgpu', adapter, timeoutMs: 600_000 });
let passed = 0;
let failed = 0;

async function check(name: string, batch: Batch, options: NormalizeOptions): Promise<void> {
  const different = await differences(cpu, gpu, batch, options);
  if (different === 0) passed++;
  else {
    failed++;
    process.stdout.write(`${name}: ${different} of ${batch.reward!.length} rows differ\n`);
  }
}

for (const [values, of] of Object.entries(VALUES)) {
  for (const [i, shape] of SHAPES.entries()) {
    for (const [j, options] of OPTIONS.entries())
      await check(`${values}, shape ${i}, options ${j}`, batchOf(shape, of, i), options);
  }
}
for (const arrangement of ['contiguous', 'shuffled'] as const) {
  await check(`${largest} rows, ${arrangement}`, generateBatch(largest, arrangement), {});
}
const rewards = Float64Array.from({ length: largest }, (_, row) => ((row * 7919) % 1009) / 1009);
const numbers = Int32Array.from(rewards.keys());
const zeros = new Int32Array(largest);
await check(`one group of ${largest} rollouts`, { groupIndex: zeros, rolloutId: numbers, reward: rewards }, {});
await check(
  `one rollout of ${largest} rows`,
  { groupIndex: zeros, rolloutId: zeros, reward: rewards },
  { siblings: 'max' },
);
await check(`${largest} groups`, { groupIndex: numbers, reward: rewards }, {});
await check(`${largest / 2} pairs`, { groupIndex: numbers.map((row) => row >> 1), reward: rewards }, {});
const { report } = await gpu.normalize({ reward: [1, 2] });
await gpu.close();
const { description, software } = report.adapter ?? { description: 'none', software: false };
process.stdout.write(
  `CPU against ${description}${software ? ' (a software adapter)' : ''}, bit by bit\n${passed} passed, ${failed} failed\n`,
);
if (failed > 0) process.exitCode = 1;
