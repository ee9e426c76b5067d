/**
 * Twin of normalize.wgsl: ((r - r_1) - centre) / divisor for a piece of a group; 0 in one that is flat or has no positive
 * mean to divide by.
 */

import { GROUP_STATUS } from '../codes.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const normalize = defineKernel({
  name: 'normalize',
  preludes: ['dispatch', 'codes', 'binary64-bits', 'binary64-add', 'binary64-divide'],
  // divide: 0 leaves the centred value as it is; keepFlat: flat groups are like the others
  parameters: ['wholeSegments', 'divide', 'keepFlat'],
  bindings: {
    bounds: read('u32', 'bounds'),
    itemSegments: read('u32', 'item'),
    values: read('f64', 'element'),
    references: read('f64', 'segment'),
    centres: read('f64', 'segment'),
    divisors: read('f64', 'segment'),
    statuses: read('u32', 'segment'),
    advantages: write('f64', 'element'),
  },
  twin(parameters, views) {
    const { firstItem, itemCount, itemBase, elementBase, segmentBase, wholeSegments, divide, keepFlat } = parameters;
    const { bounds, itemSegments, values, references, centres, divisors, statuses, advantages } = views;
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      const segment = (wholeSegments === 1 ? item : itemSegments[at]) - segmentBase;
      const isFlat = statuses[segment] === GROUP_STATUS.flat && keepFlat === 0;
      const isZero = isFlat || statuses[segment] === GROUP_STATUS.notPositive;
      const divisor = divide === 1 ? divisors[segment] : 1;
      const reference = references[segment];
      const centre = centres[segment];
      const end = bounds[at + 1] - elementBase;
      for (let i = bounds[at] - elementBase; i < end; i++)
        advantages[i] = isZero ? 0 : (values[i] - reference - centre) / divisor;
    }
  },
});
