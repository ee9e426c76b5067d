/**
 * Twin of group-total.wgsl: the sum of each group's rewards with the rounding error of every addition added at the end, and
 * the errors of adding those, so that rewards of both signs that cancel leave the digits of their mean, whatever quotient
 * binary32 holds (Ogita, Rump, Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26(6), 2005: SumK, K = 3).
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
      let ofErrors = 0;
      for (let i = bounds[at] - elementBase; i < bounds[at + 1] - elementBase; i++) {
        const value = values[i];
        const next = sum + value;
        const error = lost(sum, value, next);
        const nextErrors = errors + error;
        ofErrors += lost(errors, error, nextErrors);
        sum = next;
        errors = nextErrors;
      }
      const total = sum + errors;
      sums[at] = total + (lost(sum, errors, total) + ofErrors);
    }
  },
});

/** What rounding took from sum = a + b. */
function lost(a: number, b: number, sum: number): number {
  const added = sum - a;
  return a - (sum - added) + (b - added);
}
