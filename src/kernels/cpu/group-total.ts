/**
 * Twin of group-total.wgsl: the sum of each group's rewards with the rounding error of every addition added at the end, so
 * that rewards of both signs that cancel leave the digits of their mean (Ogita, Rump, Oishi, Accurate sum and dot
 * product, SIAM J. Sci. Comput. 26(6), 2005: Sum2).
 */
import { defineKernel, read, write } from '../kernel.ts';

export const groupTotal = defineKernel({
  name: 'group-total',
  preludes: ['dispatch', 'binary64-bits', 'binary64-add'],
  parameters: [],
  walksWholeSegments: true,
  bindings: {
    bounds: read('u32', 'bounds'),
    values: read('f64', 'element'),
    sums: write('f64', 'item'),
  },
  twin(parameters, { bounds, values, sums }) {
    const { firstItem, itemCount, itemBase, elementBase } = parameters;
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      let sum = 0;
      let errors = 0;
      for (let i = bounds[at] - elementBase; i < bounds[at + 1] - elementBase; i++) {
        const value = values[i];
        const next = sum + value;
        const added = next - sum;
        errors += sum - (next - added) + (value - added);
        sum = next;
      }
      sums[at] = sum + errors;
    }
  },
});
