/** Twin of fold-representatives.wgsl: the best of the winners of a rollout's pieces, the first on a tie. */
import { UNWRITTEN } from '../codes.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const foldRepresentatives = defineKernel({
  name: 'fold-representatives',
  preludes: ['dispatch', 'codes', 'binary64-order'],
  parameters: [],
  bindings: {
    bounds: read('u32', 'bounds'),
    candidates: read('u32', 'element'),
    candidateRanks: read('f64', 'element'),
    winners: write('u32', 'item'),
    ranks: write('f64', 'item'),
  },
  twin(parameters, { bounds, candidates, candidateRanks, winners, ranks }) {
    const { firstItem, itemCount, itemBase, elementBase } = parameters;
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      let winner = bounds[at];
      let unwritten = candidates[winner - elementBase] === UNWRITTEN;
      for (let i = bounds[at] + 1; i < bounds[at + 1]; i++) {
        if (candidates[i - elementBase] === UNWRITTEN) unwritten = true;
        if (candidateRanks[i - elementBase] > candidateRanks[winner - elementBase]) winner = i;
      }
      winners[at] = unwritten ? UNWRITTEN : candidates[winner - elementBase];
      ranks[at] = candidateRanks[winner - elementBase];
    }
  },
});
