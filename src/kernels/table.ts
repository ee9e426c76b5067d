/** The kernels, in the order in which a row meets them; each joins its shader, its bindings and its CPU twin. */
import { countTokens } from './cpu/count-tokens.ts';
import { foldCounts } from './cpu/fold-counts.ts';
import { foldRepresentatives } from './cpu/fold-representatives.ts';
import { foldSums } from './cpu/fold-sums.ts';
import { gatherRewards } from './cpu/gather-rewards.ts';
import { groupDeviation } from './cpu/group-deviation.ts';
import { groupMean } from './cpu/group-mean.ts';
import { normalize } from './cpu/normalize.ts';
import { passThrough } from './cpu/pass-through.ts';
import { scatterAdvantages } from './cpu/scatter-advantages.ts';
import { selectRepresentative } from './cpu/select-representative.ts';
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
  groupDeviation,
  normalize,
  scatterAdvantages,
  passThrough,
} as const;
