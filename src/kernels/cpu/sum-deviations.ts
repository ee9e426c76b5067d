/**
 * Twin of sum-deviations.wgsl: over a piece of a group, the tree sum of w d with d = r - r_1, or of w (d - centre)^2; and
 * whether any d is not zero.
 */
import { BLOCK_LENGTH, sumOfBlock, TreeAccumulator } from '../../numeric/summation-tree.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const sumDeviations = defineKernel({
  name: 'sum-deviations',
  preludes: ['dispatch', 'binary64-bits', 'binary64-add', 'binary64-multiply', 'summation-tree'],
  // wholeSegments: an item is its segment; squared: sum (d - centre)^2; weighted: 0 is w = 1
  parameters: ['wholeSegments', 'squared', 'weighted'],
  bindings: {
    bounds: read('u32', 'bounds'),
    itemSegments: read('u32', 'item'),
    values: read('f64', 'element'),
    references: read('f64', 'segment'),
    centres: read('f64', 'segment'),
    weights: read('f64', 'element'),
    sums: write('f64', 'item'),
    spreads: write('u32', 'item'),
  },
  twin(parameters, views) {
    const { firstItem, itemCount, itemBase, elementBase, segmentBase, wholeSegments, squared, weighted } = parameters;
    const { bounds, itemSegments, values, references, centres, weights, sums, spreads } = views;
    const tree = new TreeAccumulator();
    const terms = new Float64Array(BLOCK_LENGTH);
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      const segment = (wholeSegments === 1 ? item : itemSegments[at]) - segmentBase;
      const reference = references[segment];
      const centre = squared === 1 ? centres[segment] : 0;
      const end = bounds[at + 1] - elementBase;
      let spread = 0;
      tree.reset();
      for (let start = bounds[at] - elementBase; start < end; start += BLOCK_LENGTH) {
        const count = Math.min(BLOCK_LENGTH, end - start);
        for (let i = 0; i < count; i++) {
          const deviation = values[start + i] - reference;
          const centred = deviation - centre;
          const term = squared === 1 ? centred * centred : deviation;
          terms[i] = weighted === 1 ? weights[start + i] * term : term;
          if (deviation !== 0) spread = 1;
        }
        tree.add(sumOfBlock(terms, count));
      }
      sums[at] = tree.total();
      spreads[at] = spread;
    }
  },
});
