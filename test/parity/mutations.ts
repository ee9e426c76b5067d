/** Kernels with one thing wrong, of the kinds that drivers, compilers and authors get wrong. */
import type { ShaderChange } from '../../src/kernels/webgpu/shader-change.ts';

export interface Mutation extends ShaderChange {
  readonly what: string;
}

const guard = '  if (invocation.x >= parameters.item_count) {';
const skipsWorkgroup = '  if (invocation.x >= parameters.item_count || invocation.x / workgroup_size == 1u) {';
const one = (file: string, what: string, line: string, replacement: string): Mutation => ({
  file,
  what,
  line,
  replacement,
});

export const MUTATIONS: readonly Mutation[] = [
  // Skipped work and bounds that are off by one.
  one('normalize.wgsl', 'the second workgroup does nothing', guard, skipsWorkgroup),
  one('scatter-advantages.wgsl', 'the second workgroup does nothing', guard, skipsWorkgroup),
  one('gather-rewards.wgsl', 'the last item is left out', guard, '  if (invocation.x + 1u >= parameters.item_count) {'),
  one(
    'sum-deviations.wgsl',
    'the last reward of a piece is left out of the sum',
    '  for (var i = bounds[at]; i < bounds[at + 1u]; i++) {',
    '  for (var i = bounds[at]; i + 1u < bounds[at + 1u]; i++) {',
  ),
  one(
    'fold-sums.wgsl',
    'the first piece is left out',
    '  for (var i = bounds[at]; i < bounds[at + 1u]; i++) {',
    '  for (var i = bounds[at] + 1u; i < bounds[at + 1u]; i++) {',
  ),
  one(
    'normalize.wgsl',
    'the first reward of a piece is passed over',
    '  for (var i = bounds[at] - parameters.element_base; i < bounds[at + 1u] - parameters.element_base; i++) {',
    '  for (var i = bounds[at] + 1u - parameters.element_base; i < bounds[at + 1u] - parameters.element_base; i++) {',
  ),
  one(
    'fold-counts.wgsl',
    'the last piece of a mask is left out',
    '  for (var i = bounds[at]; i < bounds[at + 1u]; i++) {',
    '  for (var i = bounds[at]; i + 1u < bounds[at + 1u]; i++) {',
  ),
  // Ties and orders.
  one(
    'select-representative.wgsl',
    'the last row wins on a tie',
    '    if (is_greater(rank, best)) {',
    '    if (!is_greater(best, rank)) {',
  ),
  one(
    'fold-representatives.wgsl',
    'the last piece wins on a tie',
    '    if (is_greater(candidate_ranks[i - base], candidate_ranks[winner - base])) {',
    '    if (!is_greater(candidate_ranks[winner - base], candidate_ranks[i - base])) {',
  ),
  one(
    'keep-best.wgsl',
    'a second best reward that comes after the best is passed over',
    '    } else if (is_greater(value, second_value)) {',
    '    } else if (false) {',
  ),
  one(
    'prelude/binary64-order.wgsl',
    '-0 is less than +0',
    '  return select(value, vec2<u32>(0u, 0u), value.x == 0u && (value.y & 0x7fffffffu) == 0u);',
    '  return value;',
  ),
  one(
    'group-median.wgsl',
    'the upper one of the middle two is taken twice',
    '  if (count_below(upper, start, end, at) < count >> 1u) {',
    '  if (true) {',
  ),
  // Guards.
  one('group-mean.wgsl', 'a flat group is divided as others are', '  if (spreads[at] == 0u) {', '  if (false) {'),
  one(
    'normalize.wgsl',
    'a flat group is normalized as others are',
    '    let is_flat = statuses[segment] == STATUS_FLAT && parameters.keep_flat == 0u;',
    '    let is_flat = false;',
  ),
  one(
    'divide-by-peers.wgsl',
    'equal peers are divided by epsilon',
    '    let has_equal_peers = peers < 2u || i == odd;',
    '    let has_equal_peers = peers < 2u;',
  ),
  one(
    'scatter-advantages.wgsl',
    'a rollout that is not counted has an advantage of 1',
    '    row_advantages[at] = 0u;',
    '    row_advantages[at] = 0x3f800000u;',
  ),
  one(
    'group-divisor.wgsl',
    'small deviations are not flat',
    '      } else if (!is_nan(deviation) && is_greater(min_std, deviation)) {',
    '      } else if (false) {',
  ),
  // Arithmetic.
  one(
    'prelude/binary64-bits.wgsl',
    'ties are rounded up instead of to even',
    '  let up = u32((aligned.x & 0x7ffu) + (truncated.x & 1u) > 0x400u);',
    '  let up = u32((aligned.x & 0x7ffu) >= 0x400u);',
  ),
  one(
    'prelude/binary64-divide.wgsl',
    'an estimated digit of a quotient is not corrected',
    '    let is_digit = u64_less(rest, divisor);',
    '    let is_digit = true;',
  ),
  one(
    'prelude/binary64-sqrt.wgsl',
    'a digit of a root is not corrected',
    '  let is_digit = u64_less(rest, next);',
    '  let is_digit = true;',
  ),
  one(
    'prelude/binary64-convert.wgsl',
    'binary32 ties are rounded up',
    '  let up = u32((aligned & 0xffu) + (truncated & 1u) > 0x80u);',
    '  let up = u32((aligned & 0xffu) >= 0x80u);',
  ),
  one(
    'prelude/summation-tree.wgsl',
    'subtrees that wait are left out of a sum',
    '    if (((tree_count >> level) & 1u) == 1u) {',
    '    if (false) {',
  ),
  one(
    'group-total.wgsl',
    'rounding errors of a sum are not added',
    '  sums[at] = f64_add(sum, errors);',
    '  sums[at] = sum;',
  ),
  one(
    'add-weighted.wgsl',
    'the rewards before are forgotten',
    '    sums[at] = f64_add(before[at], weighted);',
    '    sums[at] = weighted;',
  ),
  one(
    'subtract-baselines.wgsl',
    'the baseline is added',
    '  differences[at] = f64_subtract(values[at], baselines[at]);',
    '  differences[at] = f64_add(values[at], baselines[at]);',
  ),
  one(
    'count-tokens.wgsl',
    'a full word of a mask counts one less',
    '    count += countOneBits(words[word - parameters.element_base]);',
    '    count += min(31u, countOneBits(words[word - parameters.element_base]));',
  ),
];
