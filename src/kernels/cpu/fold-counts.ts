/** Twin of fold-counts.wgsl: adds the counts of a row's pieces. */
import { COUNT_THE_MASK } from '../../samples/columns.ts';
import { UNWRITTEN } from '../codes.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const foldCounts = defineKernel({
  name: 'fold-counts',
  preludes: ['dispatch', 'codes'],
  parameters: ['wholeRows'],
  bindings: {
    bounds: read('u32', 'bounds'),
    partials: read('u32', 'element'),
    fixedTokens: read('u32', 'item'),
    counts: write('u32', 'item'),
  },
  twin(parameters, { bounds, partials, fixedTokens, counts }) {
    const { firstItem, itemCount, itemBase, elementBase, wholeRows } = parameters;
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      let count = 0;
      let unwritten = false;
      for (let i = bounds[at]; i < bounds[at + 1]; i++) {
        if (partials[i - elementBase] === UNWRITTEN) unwritten = true;
        count += partials[i - elementBase];
      }
      const fixed = wholeRows === 1 ? fixedTokens[at] : COUNT_THE_MASK;
      counts[at] = unwritten ? UNWRITTEN : fixed === COUNT_THE_MASK ? count : fixed;
    }
  },
});
