/**
 * Twin of keep-best.wgsl: the best reward of each group less the second best, at its place, and 0 elsewhere. 0 everywhere
 * where the best is tied.
 */
import { defineKernel, read, write } from '../kernel.ts';

export const keepBest = defineKernel({
  name: 'keep-best',
  preludes: ['dispatch', 'binary64-bits', 'binary64-add', 'binary64-order'],
  parameters: [],
  walksWholeSegments: true,
  bindings: {
    bounds: read('u32', 'bounds'),
    values: read('f64', 'element'),
    margins: write('f64', 'element'),
  },
  twin(parameters, { bounds, values, margins }) {
    const { firstItem, itemCount, itemBase, elementBase } = parameters;
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      const start = bounds[at] - elementBase;
      const end = bounds[at + 1] - elementBase;
      let best = start;
      let second = Number.NEGATIVE_INFINITY;
      let isNumber = true;
      for (let i = start; i < end; i++) {
        margins[i] = 0;
        if (Number.isNaN(values[i])) isNumber = false;
        if (i === start) continue;
        if (values[i] > values[best]) {
          second = values[best];
          best = i;
        } else if (values[i] > second) second = values[i];
      }
      if (!isNumber) margins.fill(Number.NaN, start, end);
      else if (end - start > 1) margins[best] = values[best] - second + 0;
    }
  },
});
