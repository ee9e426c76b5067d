/** Twin of scatter-advantages.wgsl: every row takes the advantage of its rollout; one writer per row. */

import { NOT_COUNTED } from '../codes.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const scatterAdvantages = defineKernel({
  name: 'scatter-advantages',
  preludes: ['dispatch', 'codes'],
  // everyRolloutCounts: a rollout is its own slot
  parameters: ['everyRolloutCounts'],
  bindings: {
    rowRollout: read('u32', 'item'),
    slots: read('u32', 'table'),
    advantages: read('f32', 'table'),
    rowAdvantages: write('f32', 'item'),
  },
  twin(parameters, { rowRollout, slots, advantages, rowAdvantages }) {
    const { firstItem, itemCount, itemBase, everyRolloutCounts } = parameters;
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      const slot = everyRolloutCounts === 1 ? rowRollout[at] : slots[rowRollout[at]];
      rowAdvantages[at] = slot === NOT_COUNTED ? 0 : advantages[slot];
    }
  },
});
