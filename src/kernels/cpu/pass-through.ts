/** Twin of pass-through.wgsl: a row's own reward, bounded and rounded once to binary32. */

import { advantageOf } from '../../numeric/advantage.ts';
import { fromWords } from '../../numeric/words.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const passThrough = defineKernel({
  name: 'pass-through',
  preludes: ['dispatch', 'binary64-bits', 'binary64-convert', 'binary64-order', 'advantage'],
  // bounded: advantages end at the two bounds
  parameters: ['bounded', 'lowLow', 'lowHigh', 'highLow', 'highHigh'],
  bindings: {
    rewards: read('f64', 'item'),
    rowAdvantages: write('f32', 'item'),
  },
  twin(parameters, { rewards, rowAdvantages }) {
    const { firstItem, itemCount, itemBase, bounded } = parameters;
    const low = fromWords(parameters.lowLow, parameters.lowHigh);
    const high = fromWords(parameters.highLow, parameters.highHigh);
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      rowAdvantages[item - itemBase] = advantageOf(rewards[item - itemBase], bounded, low, high);
    }
  },
});
