/** Twin of count-tokens.wgsl: set bits of a piece of a row's loss mask. */
import { COUNT_THE_MASK } from '../../samples/columns.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const countTokens = defineKernel({
  name: 'count-tokens',
  preludes: ['dispatch', 'codes'],
  // wholeRows: an item is a row, so a fixed count can replace the mask's
  parameters: ['wholeRows'],
  bindings: {
    bounds: read('u32', 'bounds'),
    words: read('u32', 'element'),
    fixedTokens: read('u32', 'item'),
    counts: write('u32', 'item'),
  },
  twin(parameters, { bounds, words, fixedTokens, counts }) {
    const { firstItem, itemCount, itemBase, elementBase, wholeRows } = parameters;
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      let count = 0;
      for (let word = bounds[at]; word < bounds[at + 1]; word++) count += countBits(words[word - elementBase]);
      const fixed = wholeRows === 1 ? fixedTokens[at] : COUNT_THE_MASK;
      counts[at] = fixed === COUNT_THE_MASK ? count : fixed;
    }
  },
});

function countBits(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
