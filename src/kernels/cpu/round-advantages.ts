/** Twin of round-advantages.wgsl: binary64 advantages, or rewards that pass through, bounded and rounded once to binary32. */

import { advantageOf } from '../../numeric/advantage.ts';
import { fromWords } from '../../numeric/words.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const roundAdvantages = defineKernel({
  name: 'round-advantages',
  preludes: ['dispatch', 'binary64-bits', 'binary64-convert', 'binary64-order', 'advantage'],
  // bounded: advantages end at the two bounds
  parameters: ['bounded', 'lowLow', 'lowHigh', 'highLow', 'highHigh'],
  bindings: {
    advantages: read('f64', 'item'),
    rounded: write('f32', 'item'),
  },
  twin(parameters, { advantages, rounded }) {
    const { firstItem, itemCount, itemBase, bounded } = parameters;
    const low = fromWords(parameters.lowLow, parameters.lowHigh);
    const high = fromWords(parameters.highLow, parameters.highHigh);
    for (let item = firstItem; item < firstItem + itemCount; item++)
      rounded[item - itemBase] = advantageOf(advantages[item - itemBase], bounded, low, high);
  },
});
