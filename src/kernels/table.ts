/** The kernels, in the order in which a row meets them; each joins its shader, its bindings and its CPU twin. */
import { addWeighted } from './cpu/add-weighted.ts';
import { countTokens } from './cpu/count-tokens.ts';
import { divideByPeers } from './cpu/divide-by-peers.ts';
import { foldCounts } from './cpu/fold-counts.ts';
import { foldRepresentatives } from './cpu/fold-representatives.ts';
import { foldSums } from './cpu/fold-sums.ts';
import { gatherRewards } from './cpu/gather-rewards.ts';
import { groupDivisor } from './cpu/group-divisor.ts';
import { groupMean } from './cpu/group-mean.ts';
import { groupMedian } from './cpu/group-median.ts';
import { groupTotal } from './cpu/group-total.ts';
import { keepBest } from './cpu/keep-best.ts';
import { normalize } from './cpu/normalize.ts';
import { roundAdvantages } from './cpu/round-advantages.ts';
import { scatterAdvantages } from './cpu/scatter-advantages.ts';
import { selectRepresentative } from './cpu/select-representative.ts';
import { subtractBaselines } from './cpu/subtract-baselines.ts';
import { sumDeviations } from './cpu/sum-deviations.ts';

export const KERNELS = {
  countTokens,
  foldCounts,
  selectRepresentative,
  foldRepresentatives,
  gatherRewards,
  sumDeviations,
  foldSums,
  groupMean,
  groupMedian,
  groupTotal,
  groupDivisor,
  subtractBaselines,
  keepBest,
  normalize,
  divideByPeers,
  addWeighted,
  roundAdvantages,
  scatterAdvantages,
} as const;
