/** Every kernel by itself: the shader and its CPU twin give equal bits for equal inputs. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHOICE, GROUP_STATUS, MEASURE, NOT_COUNTED } from '../../src/kernels/codes.ts';
import { cpuExecutor } from '../../src/kernels/cpu-executor.ts';
import type { Executor } from '../../src/kernels/executor.ts';
import type { Kernel } from '../../src/kernels/kernel.ts';
import { KERNELS } from '../../src/kernels/table.ts';
import { gpuExecutor } from '../../src/kernels/webgpu/executor.ts';
import { GpuSession } from '../../src/kernels/webgpu/session.ts';
import { SMALLEST_HIDING_EPSILON, SMALLEST_VARIANCE_SUM } from '../../src/numeric/vanishing.ts';
import { wordsOf } from '../../src/numeric/words.ts';
import { planReduction } from '../../src/plan/reduction.ts';
import { COUNT_THE_MASK } from '../../src/samples/columns.ts';
import {
  firstDifference,
  firstUnwritten,
  type KernelCase,
  neighbour,
  Random,
  runKernel,
  VALUE_CLASSES,
  withChangedLine,
} from '../support/kernel-runner.ts';

const SEED = 0x70_61_72;
const PIECE_LENGTH = 32;
/** Small, so that a few hundred items are more than one dispatch takes, by its grid or by its elements. */
const LIMITS = { pieceLength: PIECE_LENGTH, workgroupsPerDispatch: 3, elementsPerDispatch: 150 * PIECE_LENGTH };
/** A slice holds two pieces at most, so that items, elements and segments all begin past 0 in most slices. */
const SLICED_LIMITS = { pieceLength: PIECE_LENGTH, bindingBytes: 16 * PIECE_LENGTH };

const TOKENS = [0, 1, 1, 7, 2 ** 24 + 1, 2 ** 31, 2 ** 32 - 2];
const NOT_FINITE = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];
const DIVISORS = [1e-6, 0.3, 1, 3, 1e-300, 1e300, Number.MIN_VALUE, 0];
const WEIGHTS = [0, 1, 7, 4096, 2 ** 40, 2 ** 53];
const EPSILONS = [
  0,
  1e-6,
  SMALLEST_HIDING_EPSILON,
  neighbour(SMALLEST_HIDING_EPSILON, -1),
  Number.MIN_VALUE,
  Number.MAX_VALUE,
];
const SQUARE_SUMS = [
  0,
  Number.MIN_VALUE,
  SMALLEST_VARIANCE_SUM,
  neighbour(SMALLEST_VARIANCE_SUM, -1),
  neighbour(SMALLEST_VARIANCE_SUM, 1),
  Number.POSITIVE_INFINITY,
  Number.NaN,
];

type KernelName = keyof typeof KERNELS;

interface Change {
  readonly what: string;
  readonly file?: string;
  readonly line: string;
  readonly replacement: string;
}

/** Segments over elements, as offsets. */
interface Shape {
  readonly what: string;
  readonly offsets: Uint32Array;
}

/** The shapes that the limits make interesting for one kernel. */
interface Shapes {
  readonly itemCounts: readonly number[];
  readonly segments: readonly Shape[];
}

interface Parity {
  readonly cases: (shapes: Shapes, random: Random) => Generator<KernelCase>;
  readonly changes: readonly Change[];
}

let session: GpuSession;
let gpu: Executor;
let slicedGpu: Executor;
const cpu = cpuExecutor();

beforeAll(async () => {
  session = await GpuSession.open();
  gpu = gpuExecutor(session, LIMITS);
  slicedGpu = gpuExecutor(session, SLICED_LIMITS);
});
afterAll(() => session.close());

const PARITY: Readonly<Record<KernelName, Parity>> = {
  countTokens: {
    *cases({ segments }, random) {
      for (const { what, offsets } of segments) {
        const { itemCount, elementOffsets, itemSegments } = planReduction(offsets, PIECE_LENGTH)[0];
        const words = Uint32Array.from({ length: last(offsets) }, () =>
          random.pick([0, 0xffffffff, 1 << random.below(32), random.word()]),
        );
        const fixed = Uint32Array.from({ length: itemCount }, () => random.pick([COUNT_THE_MASK, 0, 7, 2 ** 32 - 2]));
        const wholeRows = itemSegments ? 0 : 1;
        const inputs = { bounds: elementOffsets, words, fixedTokens: wholeRows ? fixed : null };
        yield { what, parameters: { wholeRows }, itemCount, inputs };
      }
    },
    changes: [
      {
        what: 'a full word counts one less',
        line: '    count += countOneBits(words[word - parameters.element_base]);',
        replacement: '    count += min(31u, countOneBits(words[word - parameters.element_base]));',
      },
      {
        what: 'a fixed count is taken for pieces too',
        line: '  if (parameters.whole_rows == 1u && fixed_tokens[at] != COUNT_THE_MASK) {',
        replacement: '  if (fixed_tokens[at] != COUNT_THE_MASK) {',
      },
    ],
  },

  foldCounts: {
    *cases({ segments }, random) {
      for (const { what, offsets } of segments) {
        for (const { itemCount, elementOffsets, itemSegments } of planReduction(offsets, PIECE_LENGTH)) {
          const partials = Uint32Array.from({ length: last(elementOffsets) }, () => random.below(2 ** 20));
          const fixed = Uint32Array.from({ length: itemCount }, () => random.pick([COUNT_THE_MASK, 0, 7]));
          const wholeRows = itemSegments ? 0 : 1;
          const inputs = { bounds: elementOffsets, partials, fixedTokens: wholeRows ? fixed : null };
          yield { what, parameters: { wholeRows }, itemCount, inputs };
        }
      }
    },
    changes: [
      {
        what: 'the first piece is left out',
        line: '  for (var i = bounds[at]; i < bounds[at + 1u]; i++) {',
        replacement: '  for (var i = bounds[at] + 1u; i < bounds[at + 1u]; i++) {',
      },
    ],
  },

  selectRepresentative: {
    *cases({ segments }, random) {
      let turn = 0;
      for (const { what, offsets } of segments) {
        const { itemCount, elementOffsets } = planReduction(offsets, PIECE_LENGTH)[0];
        const rows = last(offsets);
        for (const [policy, choice] of Object.entries(CHOICE)) {
          turn++;
          const elementBase = turn % 3 === 0 ? 1000 : 0;
          const rowsInOrder = turn % 2;
          const tokensKnown = turn % 5 === 0 ? 0 : 1;
          const inputs = {
            bounds: elementOffsets.map((offset) => offset + elementBase),
            rowsByRollout: rowsInOrder ? null : shuffled(rows, random),
            tokens: tokensKnown ? Uint32Array.from({ length: rows }, () => random.pick(TOKENS)) : null,
            rewards: withMissing(valuesOf(offsets, random, turn), random),
          };
          const parameters = { choice, rowsInOrder, tokensKnown };
          yield { what: `${what}, ${policy}`, parameters, itemCount, elementBase, inputs };
        }
      }
    },
    changes: [
      {
        what: 'the last wins on a tie',
        line: '    if (is_greater(rank, best)) {',
        replacement: '    if (!is_greater(best, rank)) {',
      },
      {
        what: '-0 is less than +0',
        file: 'binary64-order',
        line: '  return select(value, vec2<u32>(0u, 0u), value.x == 0u && (value.y & 0x7fffffffu) == 0u);',
        replacement: '  return value;',
      },
      {
        what: 'a missing reward is like any other',
        line: '  let missing = is_nan(reward);',
        replacement: '  let missing = false;',
      },
    ],
  },

  foldRepresentatives: {
    *cases({ segments }, random) {
      for (const [turn, { what, offsets }] of segments.entries()) {
        for (const { itemCount, elementOffsets } of planReduction(offsets, PIECE_LENGTH)) {
          // A rollout has a row, so no item is empty, and a rank is never -0 or missing.
          const bounds = elementOffsets.map((offset, item) => offset + item);
          const ranks = valuesOf(bounds, random, turn).map((value) =>
            random.below(4) === 0 ? Number.NEGATIVE_INFINITY : value + 0,
          );
          const candidates = Uint32Array.from({ length: last(bounds) }, () => random.below(2 ** 31));
          yield { what, parameters: {}, itemCount, inputs: { bounds, candidates, candidateRanks: ranks } };
        }
      }
    },
    changes: [
      {
        what: 'the last wins on a tie',
        line: '    if (is_greater(candidate_ranks[i - base], candidate_ranks[winner - base])) {',
        replacement: '    if (!is_greater(candidate_ranks[winner - base], candidate_ranks[i - base])) {',
      },
    ],
  },

  gatherRewards: {
    *cases({ itemCounts }, random) {
      for (const [turn, itemCount] of itemCounts.entries()) {
        for (const rowsInOrder of [0, 1]) {
          const rows = itemCount + 5;
          const positionBase = turn % 2 === 0 ? 0 : 77;
          const inputs = {
            positions: Uint32Array.from({ length: itemCount }, () => positionBase + random.below(rows)),
            rowsByRollout: rowsInOrder ? null : shuffled(rows, random),
            rewards: withMissing(anyValues(rows, random), random),
          };
          yield { what: `${itemCount} items`, parameters: { rowsInOrder, positionBase }, itemCount, inputs };
        }
      }
    },
    changes: [
      {
        what: 'the base of the positions is not taken off',
        line: '  var row = positions[at] - parameters.position_base;',
        replacement: '  var row = positions[at];',
      },
      {
        what: 'rows are taken as they lie',
        line: '  if (parameters.rows_in_order == 0u) {',
        replacement: '  if (false) {',
      },
    ],
  },

  sumDeviations: {
    *cases({ segments }, random) {
      for (const { what, values, offsets } of filled(segments, random)) {
        const { itemCount, elementOffsets, itemSegments } = planReduction(offsets, PIECE_LENGTH)[0];
        for (const [squared, weighted] of [
          [0, 0],
          [1, 0],
          [0, 1],
          [1, 1],
        ]) {
          const inputs = {
            bounds: elementOffsets,
            itemSegments,
            values,
            references: firstsOf(offsets, values),
            centres: squared ? centresOf(offsets, values, random) : null,
            weights: weighted ? values.map(() => random.pick(WEIGHTS)) : null,
          };
          const parameters = { wholeSegments: itemSegments ? 0 : 1, squared, weighted };
          yield { what: `${what}, weighted ${weighted}`, parameters, itemCount, inputs };
        }
      }
    },
    changes: [
      {
        what: 'only the high word tells a spread',
        line: '    if ((term.x | (term.y & 0x7fffffffu)) != 0u) {',
        replacement: '    if ((term.y & 0x7fffffffu) != 0u) {',
      },
      {
        what: 'the weights are not looked at',
        line: '    if (parameters.weighted == 1u) {',
        replacement: '    if (false) {',
      },
      {
        what: 'the centre is not subtracted',
        line: '      term = f64_subtract(term, centre);',
        replacement: '      term = f64_subtract(term, vec2<u32>(0u, 0u));',
      },
      {
        what: 'the values are summed one after the other',
        file: 'summation-tree',
        line: '  for (var waiting = tree_count; (waiting & 1u) == 1u; waiting >>= 1u) {',
        replacement:
          '  if (tree_count == 1u) { tree_partials[0] = f64_add(tree_partials[0], value); return; }\n  for (var waiting = tree_count; (waiting & 1u) == 1u; waiting >>= 1u) {',
      },
      {
        what: 'ties round up',
        file: 'binary64-bits',
        line: '  let up = u32((aligned.x & 0x7ffu) + (truncated.x & 1u) > 0x400u);',
        replacement: '  let up = u32((aligned.x & 0x7ffu) >= 0x400u);',
      },
    ],
  },

  foldSums: {
    *cases({ segments }, random) {
      for (const { what, values, offsets } of filled(segments, random)) {
        for (const [height, { itemCount, elementOffsets }] of planReduction(offsets, PIECE_LENGTH).entries()) {
          const partialSums = height === 0 ? values : anyValues(last(elementOffsets), random);
          if (partialSums.length > 3) partialSums[random.below(partialSums.length)] = random.pick(NOT_FINITE);
          const partialSpreads = Uint32Array.from(partialSums, () => Number(random.below(6) === 0));
          yield { what, parameters: {}, itemCount, inputs: { bounds: elementOffsets, partialSums, partialSpreads } };
        }
      }
    },
    changes: [
      {
        what: 'the last piece alone tells a spread',
        line: '    spread |= partial_spreads[i - parameters.element_base];',
        replacement: '    spread = partial_spreads[i - parameters.element_base];',
      },
      {
        what: 'subtrees that wait are left out of the total',
        file: 'summation-tree',
        line: '    if (((tree_count >> level) & 1u) == 1u) {',
        replacement: '    if (false) {',
      },
    ],
  },

  groupMean: {
    *cases({ itemCounts }, random) {
      for (const itemCount of itemCounts) {
        const bounds = new Uint32Array(itemCount + 1);
        for (let i = 0; i < itemCount; i++)
          bounds[i + 1] = bounds[i] + (i === 0 ? 2 ** 31 + 3 : random.below(2 ** random.below(22)));
        const [weighted, singleKeepsReward] = [random.below(2), random.below(2)];
        const inputs = {
          bounds,
          references: anyValues(itemCount, random),
          totals: weighted ? Float64Array.from({ length: itemCount }, () => random.pick(WEIGHTS) + 1) : null,
          sums: anyValues(itemCount, random).map((sum) => (random.below(9) === 0 ? random.pick(NOT_FINITE) : sum)),
          spreads: Uint32Array.from({ length: itemCount }, () => Number(random.below(4) > 0)),
        };
        yield { what: `${itemCount} items`, parameters: { weighted, singleKeepsReward }, itemCount, inputs };
      }
    },
    changes: [
      {
        what: 'a single reward is not kept',
        line: '  if (counted == 1u && parameters.single_keeps_reward == 1u) {',
        replacement: '  if (false) {',
      },
      {
        what: 'a weighted sum is divided by the number of rollouts',
        line: '  if (parameters.weighted == 1u) {',
        replacement: '  if (false) {',
      },
      {
        what: 'an overflow is not noticed',
        line: '  let is_finite = (sums[at].y & 0x7ff00000u) != 0x7ff00000u;',
        replacement: '  let is_finite = true;',
      },
      {
        what: 'a flat group is divided as others are',
        line: '  if (spreads[at] == 0u) {',
        replacement: '  if (false) {',
      },
      {
        what: 'an estimated digit is not corrected',
        file: 'binary64-divide',
        line: '    let is_digit = u64_less(rest, divisor);',
        replacement: '    let is_digit = true;',
      },
    ],
  },

  groupMedian: {
    *cases({ segments }, random) {
      for (const { what, values, offsets } of filled(segments, random)) {
        for (const distances of [0, 1]) {
          const inputs = {
            bounds: offsets,
            values: values.length > 40 ? values.with(7, Number.NaN) : values,
            references: distances ? firstsOf(offsets, values) : null,
            centres: distances ? centresOf(offsets, values, random) : null,
          };
          yield {
            what: `${what}, distances ${distances}`,
            parameters: { distances },
            itemCount: offsets.length - 1,
            inputs,
          };
        }
      }
      const [bounds, zero] = [Uint32Array.of(0, 2), new Float64Array(1)];
      const inputs = { bounds, values: Float64Array.of(0, Number.MIN_VALUE), references: zero, centres: zero };
      yield { what: 'the smallest distance', parameters: { distances: 1 }, itemCount: 1, inputs };
    },
    changes: [
      {
        what: 'the upper one of the middle two is taken twice',
        line: '  if (count_below(upper, start, end, at) < count >> 1u) {',
        replacement: '  if (true) {',
      },
      {
        what: 'the last bit of a key is not looked at',
        line: '    let candidate = vec2<u32>(key.x | bit, key.y);',
        replacement: '    let candidate = vec2<u32>((key.x | bit) & 0xfffffffeu, key.y);',
      },
      {
        what: 'distances keep their sign',
        line: '  return vec2<u32>(distance.x, distance.y & 0x7fffffffu);',
        replacement: '  return without_minus_zero(distance);',
      },
      {
        what: 'half of the smallest distance is 0',
        line: '  medians[at] = select(half, middle, (half.x | half.y) == 0u);',
        replacement: '  medians[at] = half;',
      },
      {
        what: 'the median is a number that is rounded',
        line: '    medians[at] = without_minus_zero(f64_multiply(f64_subtract(number_of_key(lower), middle), HALF));',
        replacement:
          '    medians[at] = f64_subtract(f64_multiply(f64_add(number_of_key(lower), middle), HALF), middle);',
      },
      {
        what: 'what is no number is passed over',
        line: '    if (is_nan(term_at(i, at))) {',
        replacement: '    if (false) {',
      },
    ],
  },

  groupTotal: {
    *cases({ segments }, random) {
      for (const { what, values, offsets } of filled(segments, random))
        yield { what, parameters: {}, itemCount: offsets.length - 1, inputs: { bounds: offsets, values } };
      const bounds = Uint32Array.of(0, 5);
      const values = Float64Array.of(2 ** 110, 2 ** 55, 1, -(2 ** 110), -(2 ** 55));
      yield { what: 'two magnitudes that cancel', parameters: {}, itemCount: 1, inputs: { bounds, values } };
    },
    changes: [
      {
        what: 'rounding errors are not added',
        line: '  let total = f64_add(sum, errors);',
        replacement: '  let total = sum;',
      },
      {
        what: 'errors of adding errors are not added',
        line: '  sums[at] = f64_add(total, f64_add(lost(sum, errors, total), of_errors));',
        replacement: '  sums[at] = f64_add(total, lost(sum, errors, total));',
      },
    ],
  },

  groupDivisor: {
    *cases({ itemCounts }, random) {
      for (const itemCount of itemCounts) {
        for (const [name, measure] of Object.entries(MEASURE)) {
          for (const epsilon of EPSILONS) {
            const ddof = random.below(2);
            const weighted = measure >= MEASURE.deviation && measure <= MEASURE.deviationFloor ? random.below(2) : 0;
            const [epsilonLow, epsilonHigh] = wordsOf(epsilon);
            const [minStdLow, minStdHigh] = wordsOf(random.pick([0, 0, 0.5, 1e300, 1e-155, Number.MIN_VALUE]));
            const bounds = new Uint32Array(itemCount + 1);
            for (let i = 0; i < itemCount; i++) bounds[i + 1] = bounds[i] + random.below(2 ** random.below(20));
            const inputs = {
              bounds,
              measures: anyValues(itemCount, random).map((value) =>
                random.below(3) === 0 ? random.pick(SQUARE_SUMS) : measure === MEASURE.mean ? value : Math.abs(value),
              ),
              totals: weighted ? Float64Array.from({ length: itemCount }, () => random.pick(WEIGHTS)) : null,
              means: Uint32Array.from({ length: itemCount }, () =>
                random.below(3) === 0 ? random.pick(Object.values(GROUP_STATUS)) : GROUP_STATUS.regular,
              ),
            };
            const parameters = {
              ...{ measure, ddof, epsilonLow, epsilonHigh, minStdLow, minStdHigh, weighted },
              leaveOneOut: random.below(2),
              single: random.below(3),
              positiveMean: random.below(2),
              flatToo: random.below(2),
            };
            yield {
              what: `${itemCount} items, ${name}, epsilon ${epsilon}, ddof ${ddof}`,
              parameters,
              itemCount,
              inputs,
            };
          }
        }
      }
    },
    changes: [
      {
        what: 'ddof is always 1',
        line: '    let ddof = f64_from_u32(parameters.ddof);',
        replacement: '    let ddof = f64_from_u32(1u);',
      },
      {
        what: 'a variance at the threshold vanishes',
        file: 'vanishing',
        line: '  return sum.y < SMALLEST_VARIANCE_SUM_HIGH && epsilon.y < SMALLEST_HIDING_EPSILON_HIGH;',
        replacement: '  return sum.y <= SMALLEST_VARIANCE_SUM_HIGH && epsilon.y < SMALLEST_HIDING_EPSILON_HIGH;',
      },
      {
        what: 'an epsilon at the threshold hides nothing',
        file: 'vanishing',
        line: 'const SMALLEST_HIDING_EPSILON_HIGH = 0x26f00000u;',
        replacement: 'const SMALLEST_HIDING_EPSILON_HIGH = 0x26f00001u;',
      },
      {
        what: 'the factor of a median distance has its last bit wrong',
        line: 'const MAD_FACTOR = vec2<u32>(0xc710cb29u, 0x3ff7b8bau); // 1.4826',
        replacement: 'const MAD_FACTOR = vec2<u32>(0xc710cb2au, 0x3ff7b8bau);',
      },
      {
        what: 'a mean of 0 counts as positive',
        line: '    if (parameters.positive_mean == 1u && !is_nan(value) && !is_greater(value, ZERO)) {',
        replacement: '    if (parameters.positive_mean == 1u && !is_nan(value) && is_greater(ZERO, value)) {',
      },
      {
        what: 'a deviation of equal rewards vanishes',
        line: '    } else if (is_zero(divisor) || (in_digits && !is_flat && vanishes(size, epsilon))) {',
        replacement: '    } else if (is_zero(divisor) || (in_digits && vanishes(size, epsilon))) {',
      },
      {
        what: 'a mean without digits is like any other',
        line: '    let in_digits = by_spread || parameters.measure == MEASURE_MEAN;',
        replacement: '    let in_digits = by_spread;',
      },
      {
        what: 'a deviation without digits is compared with the limit',
        line: '      if (!is_zero(min_std) && !is_flat && vanishes(value, min_std)) {',
        replacement: '      if (false) {',
      },
      {
        what: 'a floor is added',
        line: '      divisor = f64_sqrt(select(variance, epsilon, !is_nan(variance) && is_greater(epsilon, variance)));',
        replacement: '      divisor = f64_sqrt(f64_add(variance, epsilon));',
      },
      {
        what: 'small deviations are not flat',
        line: '      } else if (!is_nan(deviation) && is_greater(min_std, deviation)) {',
        replacement: '      } else if (false) {',
      },
      {
        what: 'the root is not corrected',
        file: 'binary64-sqrt',
        line: '  let is_digit = u64_less(rest, next);',
        replacement: '  let is_digit = true;',
      },
    ],
  },

  subtractBaselines: {
    *cases({ itemCounts }, random) {
      for (const itemCount of itemCounts) {
        const inputs = { values: anyValues(itemCount, random), baselines: anyValues(itemCount, random) };
        yield { what: `${itemCount} items`, parameters: {}, itemCount, inputs };
        yield {
          what: `${itemCount} equal items`,
          parameters: {},
          itemCount,
          inputs: { ...inputs, baselines: inputs.values },
        };
      }
    },
    changes: [
      {
        what: 'the baseline is added',
        line: '  differences[at] = f64_subtract(values[at], baselines[at]);',
        replacement: '  differences[at] = f64_add(values[at], baselines[at]);',
      },
    ],
  },

  keepBest: {
    *cases({ segments }, random) {
      for (const { what, values, offsets } of filled(segments, random)) {
        const inputs = { bounds: offsets, values: values.length > 40 ? values.with(7, Number.NaN) : values };
        yield { what, parameters: {}, itemCount: offsets.length - 1, inputs };
      }
    },
    changes: [
      {
        what: 'a second best that comes after the best is passed over',
        line: '    } else if (is_greater(value, second_value)) {',
        replacement: '    } else if (false) {',
      },
      {
        what: 'the last of equal best ones is the best',
        line: '    } else if (is_greater(value, best_value)) {',
        replacement: '    } else if (!is_greater(best_value, value)) {',
      },
      {
        what: 'a single one has a margin',
        line: '  } else if (end - start > 1u) {',
        replacement: '  } else if (end > start) {',
      },
    ],
  },

  divideByPeers: {
    *cases({ segments }, random) {
      for (const [turn, { what, values, offsets }] of [...filled(segments, random)].entries()) {
        const [epsilonLow, epsilonHigh] = wordsOf(random.pick(EPSILONS));
        const itemCount = offsets.length - 1;
        const inputs = {
          bounds: offsets,
          values,
          means: Uint32Array.from({ length: itemCount }, () =>
            random.below(4) === 0 ? random.pick(Object.values(GROUP_STATUS)) : GROUP_STATUS.regular,
          ),
        };
        yield { what, parameters: { ddof: turn % 2, epsilonLow, epsilonHigh }, itemCount, inputs };
      }
    },
    changes: [
      {
        what: 'the two sides are taken to have one mean',
        line: '      squares = f64_add(squares, f64_add(moments.squares, between));',
        replacement: '      squares = f64_add(squares, moments.squares);',
      },
      {
        what: 'equal peers are divided by epsilon',
        line: '    let has_equal_peers = peers < 2u || i == odd;',
        replacement: '    let has_equal_peers = peers < 2u;',
      },
      {
        what: 'the peers of the first one are never equal',
        line: '  if (rest_is_equal) {',
        replacement: '  if (false) {',
      },
      {
        what: 'a scale that overflows divides to 0',
        line: '      if ((divisor.y & 0x7ff00000u) == 0x7ff00000u) {',
        replacement: '      if (false) {',
      },
      {
        what: 'a scale that vanishes is like any other',
        line: '      } else if (status == STATUS_REGULAR && vanishes(squares, epsilon)) {',
        replacement: '      } else if (false) {',
      },
    ],
  },

  addWeighted: {
    *cases({ itemCounts }, random) {
      for (const itemCount of itemCounts) {
        for (const first of [0, 1]) {
          const [weightLow, weightHigh] = wordsOf(random.pick([1, 0, -0.3, 1e-300, 1e300]));
          const inputs = {
            advantages: anyValues(itemCount, random),
            before: first ? null : anyValues(itemCount, random),
          };
          yield {
            what: `${itemCount} items, first ${first}`,
            parameters: { first, weightLow, weightHigh },
            itemCount,
            inputs,
          };
        }
      }
    },
    changes: [
      {
        what: 'the weight is not looked at',
        line: '  let weighted = f64_multiply(vec2<u32>(parameters.weight_low, parameters.weight_high), advantages[at]);',
        replacement: '  let weighted = advantages[at];',
      },
      {
        what: 'those before are forgotten',
        line: '    sums[at] = f64_add(before[at], weighted);',
        replacement: '    sums[at] = weighted;',
      },
    ],
  },

  normalize: {
    *cases({ segments }, random) {
      for (const { what, values, offsets } of filled(segments, random)) {
        const { itemCount, elementOffsets, itemSegments } = planReduction(offsets, PIECE_LENGTH)[0];
        const segmentCount = offsets.length - 1;
        for (const divide of [0, 1]) {
          const inputs = {
            bounds: elementOffsets,
            itemSegments,
            values,
            references: firstsOf(offsets, values),
            centres: centresOf(offsets, values, random),
            divisors: divide ? Float64Array.from({ length: segmentCount }, () => random.pick(DIVISORS)) : null,
            statuses: Uint32Array.from({ length: segmentCount }, () => random.pick(Object.values(GROUP_STATUS))),
          };
          const parameters = { wholeSegments: itemSegments ? 0 : 1, divide, keepFlat: random.below(2) };
          yield { what, parameters, itemCount, inputs };
        }
      }
    },
    changes: [
      {
        what: 'a flat group is normalized as others are',
        line: '    let is_flat = statuses[segment] == STATUS_FLAT && parameters.keep_flat == 0u;',
        replacement: '    let is_flat = false;',
      },
      {
        what: 'a group whose mean is not positive is normalized as others are',
        line: '    if (is_flat || statuses[segment] == STATUS_NOT_POSITIVE) {',
        replacement: '    if (is_flat) {',
      },
      {
        what: 'the segment of an item is its number',
        line: '  if (parameters.whole_segments == 0u) {',
        replacement: '  if (false) {',
      },
    ],
  },

  roundAdvantages: {
    *cases({ itemCounts }, random) {
      for (const itemCount of itemCounts) {
        const advantages = withMissing(anyValues(itemCount, random), random).map((value) =>
          random.below(6) === 0 ? random.pick(NOT_FINITE) : value,
        );
        yield { what: `${itemCount} items`, parameters: bounds(random), itemCount, inputs: { advantages } };
      }
    },
    changes: [
      {
        what: 'zero may be -0',
        file: 'advantage',
        line: '  return select(bits, 0u, bits == 0x80000000u);',
        replacement: '  return bits;',
      },
      {
        what: 'the upper bound is not looked at',
        file: 'advantage',
        line: '    if (is_greater(kept, high)) {',
        replacement: '    if (false) {',
      },
      {
        what: 'what is no finite number is bounded',
        file: 'advantage',
        line: '  if (bounded == 1u && (value.y & 0x7ff00000u) != 0x7ff00000u) {',
        replacement: '  if (bounded == 1u) {',
      },
      {
        what: 'ties round up',
        file: 'binary64-convert',
        line: '  let up = u32((aligned & 0xffu) + (truncated & 1u) > 0x80u);',
        replacement: '  let up = u32((aligned & 0xffu) >= 0x80u);',
      },
    ],
  },

  scatterAdvantages: {
    *cases({ itemCounts }, random) {
      for (const itemCount of itemCounts) {
        for (const everyRolloutCounts of [0, 1]) {
          const rollouts = Math.max(1, itemCount >> 1);
          const inputs = {
            rowRollout: Uint32Array.from({ length: itemCount }, () => random.below(rollouts)),
            slots: everyRolloutCounts
              ? null
              : Uint32Array.from({ length: rollouts }, () => random.pick([NOT_COUNTED, random.below(rollouts)])),
            advantages: Float32Array.from(withMissing(anyValues(rollouts, random), random)),
          };
          yield { what: `${itemCount} items`, parameters: { everyRolloutCounts }, itemCount, inputs };
        }
      }
    },
    changes: [
      {
        what: 'a rollout that is not counted gets -0',
        line: '    row_advantages[at] = 0u;',
        replacement: '    row_advantages[at] = 0x80000000u;',
      },
      {
        what: 'slots are not looked up',
        line: '  if (parameters.every_rollout_counts == 0u) {',
        replacement: '  if (false) {',
      },
    ],
  },
};

it('has a parity case for every kernel of the table, and no other', () => {
  expect(Object.keys(PARITY).sort()).toEqual(Object.keys(KERNELS).sort());
});

describe.each(Object.keys(KERNELS) as KernelName[])('%s', (name) => {
  const kernel = KERNELS[name] as unknown as Kernel;

  it('writes every output, with the bits of its CPU twin', async () => {
    const differences: string[] = [];
    let count = 0;
    for (const each of casesOf(name)) {
      count++;
      const expected = await runKernel(cpu, kernel, each);
      const unwritten = firstUnwritten(expected);
      if (unwritten !== null) differences.push(`${each.what}: the twin left ${unwritten} unwritten`);
      const difference = firstDifference(kernel, expected, await runKernel(gpu, kernel, each));
      if (difference !== null) differences.push(`${each.what}: ${difference}`);
    }
    expect(differences).toEqual([]);
    expect(count).toBeGreaterThan(8);
  });

  // Kernels that look up any entry move numbers and compute none; without room for the table the host moves them.
  const movesOnly = Object.values(kernel.bindings).some(({ extent }) => extent === 'table');

  if (!movesOnly) {
    it('gives the same bits where its arrays are cut into slices', async () => {
      const differences: string[] = [];
      for (const each of casesOf(name)) {
        if (each.parameters.rowsInOrder === 0) continue;
        const expected = await runKernel(cpu, kernel, each);
        const found = await runKernel(slicedGpu, kernel, each, 'sliced');
        const difference = firstDifference(kernel, expected, found);
        if (difference !== null) differences.push(`${each.what}: ${difference}`);
      }
      expect(differences).toEqual([]);
    });
  }

  it.each(PARITY[name].changes)('is caught when $what', async ({ file, line, replacement }) => {
    const changed = withChangedLine(kernel, file ?? kernel.name, line, replacement);
    let difference: string | null = null;
    for (const each of casesOf(name)) {
      const expected = await runKernel(cpu, kernel, each);
      difference = firstDifference(kernel, expected, await runKernel(gpu, changed, each));
      if (difference !== null) break;
    }
    expect(difference).not.toBeNull();
  });
});

function* casesOf(name: KernelName): Generator<KernelCase> {
  yield* PARITY[name].cases(shapesFor(KERNELS[name] as unknown as Kernel), new Random(SEED));
}

/** Counts of items around what a workgroup, and a dispatch, takes; lengths around what a piece, and a level, takes. */
function shapesFor(kernel: Kernel): Shapes {
  const walks = Object.values(kernel.bindings).some(({ extent }) => extent === 'element');
  const { workgroupSize } = session;
  const byGrid = LIMITS.workgroupsPerDispatch * workgroupSize;
  const byElements = Math.floor(LIMITS.elementsPerDispatch / (walks ? PIECE_LENGTH : 1));
  const perDispatch = Math.min(byGrid, byElements);
  const around = (n: number) => [n - 1, n, n + 1];
  const itemCounts = [0, 1, ...around(workgroupSize), ...around(perDispatch), 2 * perDispatch + 3];
  const random = new Random(SEED);
  const many = itemCounts.map((count) => ({
    what: `${count} segments`,
    offsets: offsetsOf(Array.from({ length: count }, () => random.below(4))),
  }));
  const lengths = [0, 1, ...around(PIECE_LENGTH), ...around(PIECE_LENGTH ** 2)];
  const single = lengths.map((length) => ({ what: `one segment of ${length}`, offsets: offsetsOf([length]) }));
  const mixed = [...lengths, ...lengths].sort((a, b) => ((a * 7) % 13) - ((b * 7) % 13));
  return {
    itemCounts,
    segments: [...many, ...single, { what: 'segments of all lengths', offsets: offsetsOf(mixed) }],
  };
}

/** The shapes with values: one class after the other in a single segment, or in turn over the segments. */
function* filled(segments: readonly Shape[], random: Random): Generator<Shape & { readonly values: Float64Array }> {
  for (const [turn, { what, offsets }] of segments.entries()) {
    const isSingle = offsets.length === 2 && last(offsets) > 0;
    const turns = isSingle ? Object.keys(VALUE_CLASSES).map((_, place) => place) : [turn];
    for (const first of turns) {
      const label = isSingle ? `${what} (${Object.keys(VALUE_CLASSES)[first]})` : what;
      yield { what: label, offsets, values: valuesOf(offsets, random, first) };
    }
  }
}

/** Values of all classes in turn, one class a segment. */
function valuesOf(offsets: Uint32Array, random: Random, firstClass: number): Float64Array {
  const values = new Float64Array(last(offsets));
  const classes = Object.values(VALUE_CLASSES);
  for (let segment = 0; segment + 1 < offsets.length; segment++) {
    const next = classes[(segment + firstClass) % classes.length](random);
    for (let i = offsets[segment]; i < offsets[segment + 1]; i++) values[i] = next();
  }
  return values;
}

const anyValues = (count: number, random: Random): Float64Array =>
  Float64Array.from({ length: count }, () => random.pick(Object.values(VALUE_CLASSES))(random)());

const withMissing = (values: Float64Array, random: Random): Float64Array =>
  values.map((value) => (random.below(4) === 0 ? Number.NaN : value));

function firstsOf(offsets: Uint32Array, values: Float64Array): Float64Array {
  return Float64Array.from({ length: offsets.length - 1 }, (_, segment) => values[offsets[segment]] ?? 0);
}

function offsetsOf(lengths: readonly number[]): Uint32Array {
  const offsets = new Uint32Array(lengths.length + 1);
  for (const [i, length] of lengths.entries()) offsets[i + 1] = offsets[i] + length;
  return offsets;
}

function centresOf(offsets: Uint32Array, values: Float64Array, random: Random): Float64Array {
  return firstsOf(
    offsets,
    values.map((value) => value * random.pick([0, 0.25, -0.3])),
  );
}

/** Parameters that bound advantages, or do not. */
function bounds(random: Random) {
  const [low, high] = random.pick([
    [-1, 1],
    [0, 0],
    [-0.3, 1e30],
    [-1e30, -1e-30],
  ]);
  const [lowLow, lowHigh] = wordsOf(low);
  const [highLow, highHigh] = wordsOf(high);
  return { bounded: random.below(3) > 0 ? 1 : 0, lowLow, lowHigh, highLow, highHigh };
}

const last = (offsets: Uint32Array): number => offsets[offsets.length - 1];

function shuffled(count: number, random: Random): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
