/** Twin of add-weighted.wgsl: the advantages by one reward, times its weight, added to those by the rewards before. */

import { fromWords } from '../../numeric/words.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const addWeighted = defineKernel({
  name: 'add-weighted',
  preludes: ['dispatch', 'binary64-bits', 'binary64-add', 'binary64-multiply'],
  // first: there are none before
  parameters: ['first', 'weightLow', 'weightHigh'],
  bindings: {
    advantages: read('f64', 'item'),
    before: read('f64', 'item'),
    sums: write('f64', 'item'),
  },
  twin(parameters, { advantages, before, sums }) {
    const { firstItem, itemCount, itemBase, first } = parameters;
    const weight = fromWords(parameters.weightLow, parameters.weightHigh);
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const weighted = weight * advantages[item - itemBase];
      sums[item - itemBase] = first === 1 ? weighted : before[item - itemBase] + weighted;
    }
  },
});
