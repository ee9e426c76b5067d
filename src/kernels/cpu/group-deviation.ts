/** Twin of group-deviation.wgsl: divisor = sqrt(V / (n - ddof)) + epsilon of each group that is not flat. */

import { GROUP_STATUS } from '../codes.ts';
import { defineKernel, read, write } from '../kernel.ts';

/**
 * Squares below this have lost digits in binary64 (they fall under 2^-1022), and an epsilon below the other limit does
 * not hide it. A zero divisor is the extreme case.
 */
export const SMALLEST_VARIANCE_SUM = 2 ** -996;
export const SMALLEST_HIDING_EPSILON = 2 ** -400;

export const groupDeviation = defineKernel({
  name: 'group-deviation',
  preludes: [
    'dispatch',
    'codes',
    'binary64-bits',
    'binary64-add',
    'binary64-divide',
    'binary64-sqrt',
    'binary64-convert',
  ],
  parameters: ['ddof', 'epsilonLow', 'epsilonHigh'],
  bindings: {
    bounds: read('u32', 'bounds'),
    squareSums: read('f64', 'item'),
    means: read('u32', 'item'),
    divisors: write('f64', 'item'),
    statuses: write('u32', 'item'),
  },
  twin(parameters, { bounds, squareSums, means, divisors, statuses }) {
    const { firstItem, itemCount, itemBase, ddof } = parameters;
    const epsilon = binary64(parameters.epsilonLow, parameters.epsilonHigh);
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      statuses[at] = means[at];
      divisors[at] = 1;
      if (means[at] !== GROUP_STATUS.regular) continue;
      const counted = bounds[at + 1] - bounds[at];
      divisors[at] = Math.sqrt(squareSums[at] / (counted - ddof)) + epsilon;
      if (!Number.isFinite(divisors[at])) statuses[at] = GROUP_STATUS.overflow;
      else if (squareSums[at] < SMALLEST_VARIANCE_SUM && epsilon < SMALLEST_HIDING_EPSILON) {
        statuses[at] = GROUP_STATUS.vanishing;
      }
    }
  },
});

function binary64(low: number, high: number): number {
  return new Float64Array(Uint32Array.of(low, high).buffer)[0];
}
