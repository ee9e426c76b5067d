/**
 * Twin of divide-by-peers.wgsl: each reward less the mean of the others of its group, divided by their standard deviation
 * + epsilon unless they are equal. Statistics of the rewards before and after one are merged rather than its own part
 * taken off (Chan, Golub, LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979): those
 * before are shifted by the first of the group and those after by the last, so that a reward far from all others costs
 * them no digits.
 */

import { vanishes } from '../../numeric/vanishing.ts';
import { fromWords } from '../../numeric/words.ts';
import { GROUP_STATUS } from '../codes.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const divideByPeers = defineKernel({
  name: 'divide-by-peers',
  preludes: [
    'dispatch',
    'codes',
    'binary64-bits',
    'binary64-add',
    'binary64-multiply',
    'binary64-divide',
    'binary64-sqrt',
    'binary64-convert',
    'binary64-order',
    'vanishing',
  ],
  parameters: ['ddof', 'epsilonLow', 'epsilonHigh'],
  walksWholeSegments: true,
  bindings: {
    bounds: read('u32', 'bounds'),
    values: read('f64', 'element'),
    means: read('u32', 'item'),
    meansBefore: write('f64', 'element'),
    squaresBefore: write('f64', 'element'),
    advantages: write('f64', 'element'),
    statuses: write('u32', 'item'),
  },
  twin(parameters, { bounds, values, means, meansBefore, squaresBefore, advantages, statuses }) {
    const { firstItem, itemCount, itemBase, elementBase, ddof } = parameters;
    const epsilon = fromWords(parameters.epsilonLow, parameters.epsilonHigh);
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      statuses[at] = means[at];
      const start = bounds[at] - elementBase;
      const end = bounds[at + 1] - elementBase;
      if (start === end) continue;
      const peers = end - start - 1;
      const first = values[start];
      const last = values[end - 1];
      const odd = oddOne(values, start, end);
      let mean = 0;
      let squares = 0;
      for (let i = start; i < end; i++) {
        meansBefore[i] = mean;
        squaresBefore[i] = squares;
        const deviation = values[i] - first;
        const step = deviation - mean;
        mean += step / (i - start + 1);
        squares += step * (deviation - mean);
      }
      mean = 0;
      squares = 0;
      for (let i = end - 1; i >= start; i--) {
        const before = i - start;
        const after = peers - before;
        const fromLast = values[i] - last;
        let peersSquares = squaresBefore[i];
        let advantage = values[i] - first - meansBefore[i];
        if (before === 0) {
          peersSquares = squares;
          advantage = fromLast - mean;
        } else if (after > 0) {
          const apart = mean - meansBefore[i] + (last - first);
          advantage = values[i] - first - (meansBefore[i] + apart * (after / peers));
          peersSquares += squares + apart * apart * ((before * after) / peers);
        }
        const hasEqualPeers = peers < 2 || i === odd;
        if (means[at] === GROUP_STATUS.flat) advantage = 0;
        else if (!hasEqualPeers) {
          const divisor = Math.sqrt(peersSquares / (peers - ddof)) + epsilon;
          advantage /= divisor;
          if (!Number.isFinite(divisor)) statuses[at] = GROUP_STATUS.overflow;
          else if (statuses[at] === GROUP_STATUS.regular && vanishes(peersSquares, epsilon))
            statuses[at] = GROUP_STATUS.vanishing;
        }
        advantages[i] = advantage;
        const step = fromLast - mean;
        mean += step / (after + 1);
        squares += step * (fromLast - mean);
      }
    }
  },
});

/** The one place whose others are all equal, in a group of three or more that is not flat; `end`: there is none. */
function oddOne(values: Float64Array, start: number, end: number): number {
  let odd = end;
  let unequal = 0;
  let restIsEqual = true;
  for (let i = start + 1; i < end; i++) {
    if (values[i] !== values[end - 1]) restIsEqual = false;
    if (values[i] === values[start]) continue;
    unequal++;
    odd = i;
  }
  if (restIsEqual) return start;
  return unequal === 1 ? odd : end;
}
