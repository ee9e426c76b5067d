/** Twin of scatter-advantages.wgsl: every row takes the advantage of its rollout, bounded and rounded; one writer per row. */

import { advantageOf } from '../../numeric/advantage.ts';
import { fromWords } from '../../numeric/words.ts';
import { NOT_COUNTED } from '../codes.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const scatterAdvantages = defineKernel({
  name: 'scatter-advantages',
  preludes: ['dispatch', 'codes', 'binary64-bits', 'binary64-convert', 'binary64-order', 'advantage'],
  // everyRolloutCounts: a rollout is its own slot; bounded: advantages end at the two bounds
  parameters: ['everyRolloutCounts', 'bounded', 'lowLow', 'lowHigh', 'highLow', 'highHigh'],
  bindings: {
    rowRollout: read('u32', 'item'),
    slots: read('u32', 'table'),
    advantages: read('f64', 'table'),
    rowAdvantages: write('f32', 'item'),
  },
  twin(parameters, { rowRollout, slots, advantages, rowAdvantages }) {
    const { firstItem, itemCount, itemBase, everyRolloutCounts, bounded } = parameters;
    const low = fromWords(parameters.lowLow, parameters.lowHigh);
    const high = fromWords(parameters.highLow, parameters.highHigh);
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      const slot = everyRolloutCounts === 1 ? rowRollout[at] : slots[rowRollout[at]];
      rowAdvantages[at] = slot === NOT_COUNTED ? 0 : advantageOf(advantages[slot], bounded, low, high);
    }
  },
});
