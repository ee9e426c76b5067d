/**
 * Twin of divide-by-peers.wgsl: each reward less the mean of the others of its group, divided by their standard deviation
 * + epsilon where that is not 0. Statistics of the rewards before and after one are merged rather than its own part taken
 * off (Chan, Golub, LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979), so that
 * equal peers have a deviation of exactly 0.
 */

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
  ],
  parameters: ['ddof', 'epsilonLow', 'epsilonHigh'],
  walksWholeSegments: true,
  bindings: {
    bounds: read('u32', 'bounds'),
    values: read('f64', 'element'),
    references: read('f64', 'item'),
    statuses: read('u32', 'item'),
    meansBefore: write('f64', 'element'),
    squaresBefore: write('f64', 'element'),
    advantages: write('f64', 'element'),
  },
  twin(parameters, { bounds, values, references, statuses, meansBefore, squaresBefore, advantages }) {
    const { firstItem, itemCount, itemBase, elementBase, ddof } = parameters;
    const epsilon = fromWords(parameters.epsilonLow, parameters.epsilonHigh);
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      const start = bounds[at] - elementBase;
      const end = bounds[at + 1] - elementBase;
      const peers = end - start - 1;
      let mean = 0;
      let squares = 0;
      for (let i = start; i < end; i++) {
        meansBefore[i] = mean;
        squaresBefore[i] = squares;
        const deviation = values[i] - references[at];
        const step = deviation - mean;
        mean += step / (i - start + 1);
        squares += step * (deviation - mean);
      }
      mean = 0;
      squares = 0;
      for (let i = end - 1; i >= start; i--) {
        const deviation = values[i] - references[at];
        const before = i - start;
        const after = peers - before;
        const apart = mean - meansBefore[i];
        let peersMean = meansBefore[i];
        let peersSquares = squaresBefore[i];
        if (before === 0) {
          peersMean = mean;
          peersSquares = squares;
        } else if (after > 0) {
          peersMean += apart * (after / peers);
          peersSquares += squares + apart * apart * ((before * after) / peers);
        }
        const scale = peers > ddof ? Math.sqrt(peersSquares / (peers - ddof)) : 0;
        const centred = deviation - peersMean;
        advantages[i] = scale > 0 || Number.isNaN(scale) ? centred / (scale + epsilon) : centred;
        if (statuses[at] === GROUP_STATUS.flat) advantages[i] = 0;
        const step = deviation - mean;
        mean += step / (after + 1);
        squares += step * (deviation - mean);
      }
    }
  },
});
