/** Twin of pass-through.wgsl: a row's own reward, rounded once to binary32. */
import { defineKernel, read, write } from '../kernel.ts';

export const passThrough = defineKernel({
  name: 'pass-through',
  preludes: ['dispatch', 'binary64-bits', 'binary64-convert'],
  parameters: [],
  bindings: {
    rewards: read('f64', 'item'),
    rowAdvantages: write('f32', 'item'),
  },
  twin(parameters, { rewards, rowAdvantages }) {
    const { firstItem, itemCount, itemBase } = parameters;
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      rowAdvantages[item - itemBase] = Math.fround(rewards[item - itemBase]) + 0;
    }
  },
});
