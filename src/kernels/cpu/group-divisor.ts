/** Twin of group-divisor.wgsl: what the centred rewards of each group that is not flat are divided by. */

import { vanishes } from '../../numeric/vanishing.ts';
import { fromWords } from '../../numeric/words.ts';
import { GROUP_STATUS, MEASURE } from '../codes.ts';
import { defineKernel, read, write } from '../kernel.ts';

/** Makes a median distance the standard deviation of a normal distribution. */
export const MAD_FACTOR = 1.4826;

export const groupDivisor = defineKernel({
  name: 'group-divisor',
  preludes: [
    'dispatch',
    'codes',
    'binary64-bits',
    'binary64-add',
    'binary64-multiply',
    'binary64-divide',
    'binary64-sqrt',
    'binary64-convert',
    'binary64-order',
    'vanishing',
  ],
  // measure: a MEASURE; weighted: 0 is a total of the counted rollouts; leaveOneOut: times (n - 1) / n; single: a group of
  // one has a divisor as others (0), of 1 (1), of 1 + epsilon (2); positiveMean: a mean <= 0 divides nothing; a deviation
  // below minStd makes the group flat; flatToo: a flat group has a divisor as well
  parameters: [
    'measure',
    'ddof',
    'epsilonLow',
    'epsilonHigh',
    'minStdLow',
    'minStdHigh',
    'weighted',
    'leaveOneOut',
    'single',
    'positiveMean',
    'flatToo',
  ],
  bindings: {
    bounds: read('u32', 'bounds'),
    measures: read('f64', 'item'),
    totals: read('f64', 'item'),
    means: read('u32', 'item'),
    divisors: write('f64', 'item'),
    statuses: write('u32', 'item'),
  },
  twin(parameters, { bounds, measures, totals, means, divisors, statuses }) {
    const { firstItem, itemCount, itemBase, measure, ddof, weighted, leaveOneOut, single } = parameters;
    const epsilon = fromWords(parameters.epsilonLow, parameters.epsilonHigh);
    const minStd = fromWords(parameters.minStdLow, parameters.minStdHigh);
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      statuses[at] = means[at];
      divisors[at] = 1;
      const counted = bounds[at + 1] - bounds[at];
      const isFlat = means[at] === GROUP_STATUS.flat && parameters.flatToo === 1;
      if (counted === 0 || (means[at] !== GROUP_STATUS.regular && !isFlat)) continue;
      if (counted === 1 && single > 0) {
        if (single === 2) divisors[at] = 1 + epsilon;
        continue;
      }
      const value = measures[at];
      let divisor = value;
      let status: number = GROUP_STATUS.regular;
      if (measure === MEASURE.mean) {
        divisor = value / counted + epsilon;
        // By the sum: a mean may vanish.
        if (parameters.positiveMean === 1 && value <= 0) status = GROUP_STATUS.notPositive;
      } else if (measure === MEASURE.medianDistance) {
        divisor = MAD_FACTOR * value + epsilon;
        if (value === 0 && !isFlat) {
          divisor = 1;
          status = GROUP_STATUS.unscaled;
        }
      } else if (measure !== MEASURE.constant) {
        const total = weighted === 1 ? totals[at] : counted;
        const variance = total > ddof ? value / (total - ddof) : 0;
        if (measure === MEASURE.deviation) {
          const deviation = Math.sqrt(variance);
          divisor = deviation + epsilon;
          if (minStd > 0 && !isFlat && vanishes(value, minStd)) status = GROUP_STATUS.vanishing;
          else if (deviation < minStd) status = GROUP_STATUS.flat;
        } else {
          const inside = measure === MEASURE.deviationInside;
          divisor = Math.sqrt(inside ? variance + epsilon : Math.max(variance, epsilon));
        }
      }
      if (leaveOneOut === 1) divisor *= (counted - 1) / counted;
      if (status === GROUP_STATUS.unscaled) divisors[at] = divisor;
      if (status === GROUP_STATUS.regular) {
        const inDigits = [MEASURE.deviation, MEASURE.medianDistance, MEASURE.mean].some((own) => own === measure);
        if (!Number.isFinite(divisor)) status = GROUP_STATUS.overflow;
        else if (divisor === 0 || (inDigits && !isFlat && vanishes(Math.abs(value), epsilon)))
          status = GROUP_STATUS.vanishing;
        divisors[at] = divisor;
      }
      if (status !== GROUP_STATUS.regular) statuses[at] = status;
    }
  },
});
