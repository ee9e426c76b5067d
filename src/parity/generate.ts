/** Batches that meet every kernel, every threshold of shape and every class of values; the same for the same seed. */
import type { NormalizeOptions } from '../options.ts';
import type { Batch } from '../samples/batch.ts';
import { packLossMasks } from '../samples/loss-masks.ts';
import { SeededRandom } from './seeded-random.ts';

export interface ParityCase {
  readonly name: string;
  readonly batch: Batch;
  readonly options: NormalizeOptions;
  /** Small limits make a GPU cut the batch into tiles, slices and pieces. */
  readonly cut: boolean;
}

type Values = (random: SeededRandom) => () => number;

/** Each entry begins a group and gives its rewards one by one. */
const VALUES: Readonly<Record<string, Values>> = {
  'zeros and ones': (random) => () => random.below(2),
  decimals: (random) => () => (random.below(2001) - 1000) / 1000,
  'mixed magnitudes': (random) => () => (random.unit() - 0.5) * 2 ** (random.below(60) - 30),
  'neighbouring numbers': (random) => {
    const base = 1 + random.unit();
    return () => base * (1 + random.below(4) * Number.EPSILON);
  },
  'signed zeros': (random) => () => random.pick([0, -0, 1, -1]),
  subnormals: (random) => () => (random.below(2 ** 21) - 2 ** 20) * Number.MIN_VALUE,
  'large numbers': (random) => () => (random.unit() - 0.5) * 2 ** 100,
  'halfway between binary32 numbers': (random) => () => 1 + random.below(100) / 2 ** 23 + random.below(3) / 2 ** 25,
  'far from zero': (random) => () => 1e9 + random.below(3),
  'equal rewards': (random) => {
    const value = random.pick([0.9, 1 / 3, -0, 1e30]);
    return () => value;
  },
};

/** Rollouts of a group around what one piece, two levels of pieces, and one walk take. */
const SIZES = {
  small: [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33],
  pieces: [63, 64, 65, 127, 128, 129, 640],
  levels: [4095, 4096, 4097],
} as const;

const RULES: readonly (readonly [string, NormalizeOptions])[] = [
  ['grpo', {}],
  ['grpo, ddof 0, epsilon 0.01', { ddof: 0, epsilon: 0.01 }],
  ['dr_grpo', { estimator: 'dr_grpo' }],
  ['rloo', { estimator: 'rloo' }],
  ['maxrl', { estimator: 'maxrl' }],
  ['opo', { estimator: 'opo' }],
  ['grpo_passk', { estimator: 'grpo_passk' }],
  ['gdpo', { estimator: 'gdpo' }],
  ['remax', { estimator: 'remax' }],
  ['median and mad', { baseline: 'median', scale: 'mad' }],
  ['scale of the batch', { scale: 'batch' }],
  ['whitened over tokens', { weight: 'tokens' }],
  ['bounded', { clip: [-0.5, 0.75] }],
  ['flat below 0.55', { minStd: 0.55 }],
  ['like nemo-rl', { like: 'nemo-rl', siblings: 'mainstream' }],
  ['like verl', { like: 'verl', siblings: 'mainstream' }],
  ['raw', { estimator: 'raw' }],
];

const POLICIES: readonly (readonly [string, NormalizeOptions])[] = [
  ['first', { siblings: 'first' }],
  ['last', { siblings: 'last' }],
  ['max', { siblings: 'max' }],
  ['min', { siblings: 'min' }],
  ['mean', { siblings: 'mean' }],
  ['sum', { siblings: 'sum' }],
  ['rows', { siblings: 'rows' }],
  ['exclusion', { exclude: ['truncated', 'untrainable'] }],
];

/** Rewards that suit any rule: no sum or quotient of them leaves its range. */
const MODEST = ['zeros and ones', 'decimals', 'mixed magnitudes', 'signed zeros', 'far from zero', 'equal rewards'];

const SPECIAL_SHAPES = 5;
export const FIXED_CASES = 2 * (RULES.length + POLICIES.length) + Object.keys(VALUES).length + SPECIAL_SHAPES;

/** What every run compares. */
export function* fixedCases(seed: number): Generator<ParityCase> {
  let number = 0;
  const next = () => new SeededRandom(seed + 7919 * number++);
  const make = (what: string, options: NormalizeOptions, shape: Shape, cut = false): ParityCase => ({
    name: `${what}, ${shape.name}${cut ? ', cut' : ''}`,
    batch: batchOf(next(), shape, options),
    options,
    cut,
  });
  for (const [what, options] of RULES) {
    yield make(what, options, shapeOf('small groups', SIZES.small, MODEST));
    yield make(what, options, shapeOf('groups around a piece', SIZES.pieces, MODEST, 1), true);
  }
  for (const [what, options] of POLICIES) {
    yield make(what, options, { ...shapeOf('small groups', SIZES.small, MODEST), fanOut: [1, 2, 5, 63, 64, 65] });
    yield make(what, options, { ...shapeOf('small groups', SIZES.small, MODEST), isShuffled: true }, true);
  }
  for (const values of Object.keys(VALUES)) yield make('grpo', {}, shapeOf(values, [1, 2, 3, 8, 65, 200], [values]));
  yield make('grpo', {}, { ...shapeOf('long groups', SIZES.levels, MODEST), fanOut: [1] });
  yield make(
    'median and mad',
    { baseline: 'median', scale: 'mad' },
    { ...shapeOf('long groups', SIZES.levels, MODEST), fanOut: [1] },
  );
  yield make('raw', { estimator: 'raw' }, shapeOf('halves', [40], ['halfway between binary32 numbers']));
  yield make('grpo', {}, { ...shapeOf('one row', [1], MODEST), fanOut: [1] });
  yield make('max', { siblings: 'max' }, { ...shapeOf('one long rollout', [1, 2], MODEST), fanOut: [4097] });
}

/** One more, of whatever kind. */
export function randomCase(seed: number): ParityCase {
  const random = new SeededRandom(seed);
  const [what, options] = random.pick([...RULES, ...POLICIES]);
  const sizes = Array.from({ length: 1 + random.below(40) }, () => 1 + random.below(2 ** random.below(11)));
  const values = Object.keys(VALUES).filter((name) => options.estimator === 'raw' || MODEST.includes(name));
  const shape = {
    ...shapeOf(`seed ${seed}`, sizes, [random.pick(values)]),
    fanOut: random.pick([[1], [1, 2, 3], [1, 1, 1, 40], [7]]),
    isShuffled: random.below(2) === 1,
  };
  return {
    name: `${what}, ${shape.name}`,
    batch: batchOf(random, shape, options),
    options,
    cut: random.below(2) === 1,
  };
}

interface Shape {
  readonly name: string;
  /** Rollouts of each group. */
  readonly sizes: readonly number[];
  /** Rows of each rollout, in turn. */
  readonly fanOut: readonly number[];
  readonly values: readonly string[];
  readonly isShuffled: boolean;
}

function shapeOf(name: string, sizes: readonly number[], values: readonly string[], rows = 2): Shape {
  return { name, sizes, values, fanOut: rows === 1 ? [1] : [1, 2, 3], isShuffled: false };
}

const MASK_LENGTHS = [0, 1, 31, 32, 33, 64, 100];
const STATUSES = ['completed', 'completed', 'truncated', 'aborted'];

function batchOf(random: SeededRandom, shape: Shape, options: NormalizeOptions): Batch {
  const rows: { group: number; rollout: number; reward: number; second: number; baseline: number }[] = [];
  let rollout = 0;
  for (const [group, size] of shape.sizes.entries()) {
    const next = VALUES[shape.values[group % shape.values.length]](random);
    for (let i = 0; i < size; i++, rollout++) {
      const fanOut = shape.fanOut[rollout % shape.fanOut.length];
      for (let row = 0; row < fanOut; row++)
        rows.push({ group, rollout, reward: next(), second: random.below(5) / 4, baseline: next() });
    }
  }
  if (shape.isShuffled) random.shuffle(rows);
  // A mask of many words in one row makes the counting kernels meet a second level.
  const longest = rows.length > 8 ? 32 * 65 : 40;
  const masks = rows.map((_, row) => mask(random, row === 3 ? longest : random.pick(MASK_LENGTHS)));
  const isSeveral = options.estimator === 'gdpo';
  const reward = Float64Array.from(rows, (row) => row.reward);
  return {
    ...(isSeveral ? { rewards: { first: reward, second: Float64Array.from(rows, (row) => row.second) } } : { reward }),
    ...(options.estimator === 'remax' ? { baseline: Float64Array.from(rows, (row) => row.baseline) } : {}),
    groupIndex: Int32Array.from(rows, (row) => row.group),
    rolloutId: Int32Array.from(rows, (row) => row.rollout),
    lossMask: packLossMasks(masks),
    status: rows.map(() => random.pick(STATUSES)),
  };
}

/** Some have words of ones alone. */
function mask(random: SeededRandom, length: number): Uint8Array {
  const ones = random.pick([0, 3, 5, 5]);
  return Uint8Array.from({ length }, () => (random.below(5) < ones ? 1 : 0));
}
