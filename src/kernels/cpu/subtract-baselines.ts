/** Twin of subtract-baselines.wgsl: each reward less a baseline of its own. */
import { defineKernel, read, write } from '../kernel.ts';

export const subtractBaselines = defineKernel({
  name: 'subtract-baselines',
  preludes: ['dispatch', 'binary64-bits', 'binary64-add'],
  parameters: [],
  bindings: {
    values: read('f64', 'item'),
    baselines: read('f64', 'item'),
    differences: write('f64', 'item'),
  },
  twin(parameters, { values, baselines, differences }) {
    const { firstItem, itemCount, itemBase } = parameters;
    for (let item = firstItem; item < firstItem + itemCount; item++)
      differences[item - itemBase] = values[item - itemBase] - baselines[item - itemBase];
  },
});
