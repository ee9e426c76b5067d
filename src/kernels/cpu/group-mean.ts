/** Twin of group-mean.wgsl: centre = D / n of each group, and what kind of group it is. */

import { GROUP_STATUS } from '../codes.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const groupMean = defineKernel({
  name: 'group-mean',
  preludes: ['dispatch', 'codes', 'binary64-bits', 'binary64-divide', 'binary64-convert'],
  parameters: [],
  bindings: {
    bounds: read('u32', 'bounds'),
    sums: read('f64', 'item'),
    spreads: read('u32', 'item'),
    centres: write('f64', 'item'),
    statuses: write('u32', 'item'),
  },
  twin(parameters, { bounds, sums, spreads, centres, statuses }) {
    const { firstItem, itemCount, itemBase } = parameters;
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      const counted = bounds[at + 1] - bounds[at];
      const isFlat = spreads[at] === 0;
      centres[at] = isFlat ? 0 : sums[at] / counted;
      if (isFlat) statuses[at] = GROUP_STATUS.flat;
      else statuses[at] = Number.isFinite(sums[at]) ? GROUP_STATUS.regular : GROUP_STATUS.overflow;
    }
  },
});
