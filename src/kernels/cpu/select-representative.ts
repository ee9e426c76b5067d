/** Twin of select-representative.wgsl: the best position among a piece of a rollout's rows, the first on a tie. */

import { CHOICE, UNWRITTEN } from '../codes.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const selectRepresentative = defineKernel({
  name: 'select-representative',
  preludes: ['dispatch', 'codes', 'binary64-bits', 'binary64-convert', 'binary64-order'],
  // rowsInOrder: a position is its row; tokensKnown: 0 makes every choice by tokens a tie
  parameters: ['choice', 'rowsInOrder', 'tokensKnown'],
  bindings: {
    bounds: read('u32', 'bounds'),
    rowsByRollout: read('u32', 'element'),
    tokens: read('u32', 'row'),
    rewards: read('f64', 'row'),
    winners: write('u32', 'item'),
    ranks: write('f64', 'item'),
  },
  twin(parameters, views) {
    const { firstItem, itemCount, itemBase, elementBase, choice, rowsInOrder, tokensKnown } = parameters;
    const { bounds, rowsByRollout, tokens, rewards, winners, ranks } = views;
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      const end = bounds[at + 1];
      let unwritten = false;
      let winner = bounds[at];
      let best = Number.NEGATIVE_INFINITY;
      for (let position = winner; position < end; position++) {
        const row = rowsInOrder === 1 ? position - elementBase : rowsByRollout[position - elementBase];
        const rowTokens = tokensKnown === 1 ? tokens[row] : 0;
        if (rowTokens === UNWRITTEN) unwritten = true;
        const rank = choice === CHOICE.mainstream ? rowTokens : rankOf(choice, position, rewards[row]);
        if (rank <= best) continue;
        best = rank;
        winner = position;
      }
      winners[at] = unwritten ? UNWRITTEN : winner;
      ranks[at] = best;
    }
  },
});

/** Higher wins. A missing reward ranks below every present one where the reward decides. */
function rankOf(choice: number, position: number, reward: number): number {
  const present = !Number.isNaN(reward);
  if (choice === CHOICE.last) return position;
  if (choice === CHOICE.shared) return present ? 1 : 0;
  if (choice === CHOICE.first || !present) return Number.NEGATIVE_INFINITY;
  return (choice === CHOICE.max ? reward : -reward) + 0; // -0 equals 0
}
