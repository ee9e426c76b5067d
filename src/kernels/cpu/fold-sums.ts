/** Twin of fold-sums.wgsl: goes on with the summation tree over the sums of a group's pieces. */
import { TreeAccumulator } from '../../numeric/summation-tree.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const foldSums = defineKernel({
  name: 'fold-sums',
  preludes: ['dispatch', 'binary64-bits', 'binary64-add', 'summation-tree'],
  parameters: [],
  bindings: {
    bounds: read('u32', 'bounds'),
    partialSums: read('f64', 'element'),
    partialSpreads: read('u32', 'element'),
    sums: write('f64', 'item'),
    spreads: write('u32', 'item'),
  },
  twin(parameters, { bounds, partialSums, partialSpreads, sums, spreads }) {
    const { firstItem, itemCount, itemBase, elementBase } = parameters;
    const tree = new TreeAccumulator();
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      let spread = 0;
      tree.reset();
      for (let i = bounds[at]; i < bounds[at + 1]; i++) {
        tree.add(partialSums[i - elementBase]);
        spread |= partialSpreads[i - elementBase];
      }
      sums[at] = tree.total();
      spreads[at] = spread;
    }
  },
});
