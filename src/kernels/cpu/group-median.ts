/**
 * Twin of group-median.wgsl: the median of d = r - r_1 of each group, or of |d - centre|; an even number of them averages
 * the middle two. A median is one number however it is found: the shader narrows it down bit by bit, here it is sorted.
 */
import { defineKernel, read, write } from '../kernel.ts';

/** Insertion sort is faster below this. */
const FEW = 24;

export const groupMedian = defineKernel({
  name: 'group-median',
  preludes: ['dispatch', 'binary64-bits', 'binary64-add', 'binary64-multiply', 'binary64-order'],
  // distances: 1 takes |d - centre|
  parameters: ['distances'],
  walksWholeSegments: true,
  looksPerElement: 32,
  bindings: {
    bounds: read('u32', 'bounds'),
    values: read('f64', 'element'),
    references: read('f64', 'item'),
    centres: read('f64', 'item'),
    medians: write('f64', 'item'),
  },
  twin(parameters, { bounds, values, references, centres, medians }) {
    const { firstItem, itemCount, itemBase, elementBase, distances } = parameters;
    let terms = new Float64Array(64);
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      const count = bounds[at + 1] - bounds[at];
      if (terms.length < count) terms = new Float64Array(2 * count);
      let isNumber = true;
      for (let i = 0; i < count; i++) {
        const deviation = values[bounds[at] - elementBase + i] - references[at];
        const term = distances === 1 ? Math.abs(deviation - centres[at]) : deviation + 0; // -0 equals 0
        if (Number.isNaN(term)) isNumber = false;
        terms[i] = term;
      }
      medians[at] = !isNumber ? Number.NaN : count === 0 ? 0 : middle(terms, count);
    }
  },
});

function middle(terms: Float64Array, count: number): number {
  if (count <= FEW) sortFew(terms, count);
  else terms.subarray(0, count).sort();
  const upper = terms[count >> 1];
  return count % 2 === 1 ? upper : (terms[(count >> 1) - 1] + upper) * 0.5;
}

function sortFew(terms: Float64Array, count: number): void {
  for (let i = 1; i < count; i++) {
    const term = terms[i];
    let at = i;
    for (; at > 0 && terms[at - 1] > term; at--) terms[at] = terms[at - 1];
    terms[at] = term;
  }
}
