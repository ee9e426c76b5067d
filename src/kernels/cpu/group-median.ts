/**
 * Twin of group-median.wgsl: the median of each group as the upper one of its middle rewards and what is to be added, as
 * the number between two rewards may be none of binary64; or the median of the distances from it. A median is one number
 * however it is found: the shader narrows it down bit by bit, here it is sorted.
 */
import { defineKernel, read, write } from '../kernel.ts';

/** Insertion sort is faster below this. */
const FEW = 24;

export const groupMedian = defineKernel({
  name: 'group-median',
  preludes: ['dispatch', 'binary64-bits', 'binary64-add', 'binary64-multiply', 'binary64-order'],
  // distances: 1 takes |(r - reference) - centre|
  parameters: ['distances'],
  walksWholeSegments: true,
  looksPerElement: 32,
  bindings: {
    bounds: read('u32', 'bounds'),
    values: read('f64', 'element'),
    references: read('f64', 'item'),
    centres: read('f64', 'item'),
    middles: write('f64', 'item'),
    medians: write('f64', 'item'),
  },
  twin(parameters, { bounds, values, references, centres, middles, medians }) {
    const { firstItem, itemCount, itemBase, elementBase, distances } = parameters;
    let terms = new Float64Array(64);
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      const count = bounds[at + 1] - bounds[at];
      if (terms.length < count) terms = new Float64Array(2 * count);
      let isNumber = true;
      for (let i = 0; i < count; i++) {
        const value = values[bounds[at] - elementBase + i];
        const term = distances === 1 ? Math.abs(value - references[at] - centres[at]) : value + 0; // -0 equals 0
        if (Number.isNaN(term)) isNumber = false;
        terms[i] = term;
      }
      middles[at] = medians[at] = isNumber ? 0 : Number.NaN;
      if (count === 0 || !isNumber) continue;
      sort(terms, count);
      const upper = terms[count >> 1];
      middles[at] = upper;
      medians[at] = distances === 1 ? upper : 0;
      if (count % 2 === 1) continue;
      const lower = terms[(count >> 1) - 1];
      const half = (lower + upper) * 0.5;
      if (distances === 0) medians[at] = (lower - upper) * 0.5 + 0;
      // Half of the smallest number is 0, and a distance of 0 would say that the rewards are equal.
      else medians[at] = half === 0 ? upper : half;
    }
  },
});

function sort(terms: Float64Array, count: number): void {
  if (count > FEW) terms.subarray(0, count).sort();
  else sortFew(terms, count);
}

function sortFew(terms: Float64Array, count: number): void {
  for (let i = 1; i < count; i++) {
    const term = terms[i];
    let at = i;
    for (; at > 0 && terms[at - 1] > term; at--) terms[at] = terms[at - 1];
    terms[at] = term;
  }
}
