/** Twin of group-mean.wgsl: centre = D / total of each group, and what kind of group it is. */

import { GROUP_STATUS } from '../codes.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const groupMean = defineKernel({
  name: 'group-mean',
  preludes: ['dispatch', 'codes', 'binary64-bits', 'binary64-divide', 'binary64-convert'],
  // weighted: 0 is a total of the counted rollouts; singleKeepsReward: a centre of -r_1 leaves a group of one its reward
  parameters: ['weighted', 'singleKeepsReward'],
  bindings: {
    bounds: read('u32', 'bounds'),
    sums: read('f64', 'item'),
    spreads: read('u32', 'item'),
    references: read('f64', 'item'),
    totals: read('f64', 'item'),
    centres: write('f64', 'item'),
    statuses: write('u32', 'item'),
  },
  twin(parameters, { bounds, sums, spreads, references, totals, centres, statuses }) {
    const { firstItem, itemCount, itemBase, weighted, singleKeepsReward } = parameters;
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      const counted = bounds[at + 1] - bounds[at];
      if (counted === 1 && singleKeepsReward === 1) {
        centres[at] = -references[at];
        statuses[at] = GROUP_STATUS.regular;
      } else if (spreads[at] === 0) {
        centres[at] = 0;
        statuses[at] = GROUP_STATUS.flat;
      } else {
        centres[at] = sums[at] / (weighted === 1 ? totals[at] : counted);
        statuses[at] = Number.isFinite(sums[at]) ? GROUP_STATUS.regular : GROUP_STATUS.overflow;
      }
    }
  },
});
