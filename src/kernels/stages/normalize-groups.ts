/** Counted rewards, group by group, to their advantages: mean, deviation, quotient. */
import type { Estimator } from '../../estimators/estimators.ts';
import { planReduction, type ReductionLevel } from '../../plan/reduction.ts';
import type { KernelArray, Workspace } from '../executor.ts';
import { KERNELS } from '../table.ts';
import { gatherRewards } from './select-representatives.ts';

export interface GroupedRewards {
  /** Counted rollouts of each group; begins at 0. */
  readonly groupOffsets: Uint32Array;
  /** Binary64 per counted rollout. */
  readonly values: KernelArray<'f64'>;
}

export interface NormalizedGroups {
  /** Binary32 per counted rollout. */
  readonly advantages: KernelArray<'f32'>;
  /** GROUP_STATUS per group. */
  readonly statuses: KernelArray<'u32'>;
}

export async function normalizeGroups(
  workspace: Workspace,
  pieceLength: number,
  { groupOffsets, values }: GroupedRewards,
  estimator: Estimator,
): Promise<NormalizedGroups> {
  const groupCount = groupOffsets.length - 1;
  const levels = planReduction(groupOffsets, pieceLength);
  const bounds = workspace.input('u32', groupOffsets);
  const references = await firstOfEachGroup(workspace, groupOffsets, values);
  const deviations = await sumDeviations(workspace, levels, values, references, null);
  const centres = workspace.output('f64', groupCount);
  const means = workspace.output('u32', groupCount);
  await workspace.run(KERNELS.groupMean, {}, groupCount, { bounds, ...deviations, centres, statuses: means });
  workspace.release(deviations.sums, deviations.spreads);
  let divisors: KernelArray<'f64'> | null = null;
  let statuses = means;
  if (estimator.scale === 'deviation') {
    const squares = await sumDeviations(workspace, levels, values, references, centres);
    divisors = workspace.output('f64', groupCount);
    statuses = workspace.output('u32', groupCount);
    const parameters = { ddof: estimator.ddof, ...wordsOf(estimator.epsilon) };
    await workspace.run(KERNELS.groupDeviation, parameters, groupCount, {
      bounds,
      squareSums: squares.sums,
      means,
      divisors,
      statuses,
    });
    workspace.release(squares.sums, squares.spreads, means);
  }
  const { itemCount, elementOffsets, itemSegments } = levels[0];
  const advantages = workspace.output('f32', values.length);
  const arrays = {
    bounds: itemSegments ? workspace.input('u32', elementOffsets) : bounds,
    itemSegments: itemSegments && workspace.input('u32', itemSegments),
    ...{ values, references, centres, divisors, statuses, advantages },
  };
  const parameters = { wholeSegments: itemSegments ? 0 : 1, divide: divisors ? 1 : 0 };
  await workspace.run(KERNELS.normalize, parameters, itemCount, arrays);
  return { advantages, statuses };
}

/** Each group's first counted reward, by which the rest are shifted. */
async function firstOfEachGroup(workspace: Workspace, groupOffsets: Uint32Array, values: KernelArray<'f64'>) {
  const last = Math.max(0, values.length - 1);
  // A group without counted rollouts reads some other group's value; nothing is computed from it.
  const firsts = groupOffsets.subarray(0, -1).map((offset) => Math.min(offset, last));
  const rewards = values.length > 0 ? values : workspace.input('f64', new Float64Array(1));
  return gatherRewards(
    workspace,
    { rowsInOrder: 1, rowsByRollout: null, rewards, firstPosition: 0 },
    workspace.input('u32', firsts),
  );
}

/** Per group the tree sum of d = r - r_1, or with `centres` of (d - centre)^2, and whether any d is not zero. */
async function sumDeviations(
  workspace: Workspace,
  [lowest, ...upper]: readonly ReductionLevel[],
  values: KernelArray<'f64'>,
  references: KernelArray<'f64'>,
  centres: KernelArray<'f64'> | null,
) {
  const outputs = (itemCount: number) => ({
    sums: workspace.output('f64', itemCount),
    spreads: workspace.output('u32', itemCount),
  });
  const bounds = workspace.input('u32', lowest.elementOffsets);
  const itemSegments = lowest.itemSegments && workspace.input('u32', lowest.itemSegments);
  let below = outputs(lowest.itemCount);
  const parameters = { wholeSegments: itemSegments ? 0 : 1, squared: centres ? 1 : 0 };
  const arrays = { bounds, itemSegments, values, references, centres, ...below };
  await workspace.run(KERNELS.sumDeviations, parameters, lowest.itemCount, arrays);
  workspace.release(bounds, itemSegments);
  for (const { itemCount, elementOffsets } of upper) {
    const above = outputs(itemCount);
    const pieces = workspace.input('u32', elementOffsets);
    const partials = { partialSums: below.sums, partialSpreads: below.spreads };
    await workspace.run(KERNELS.foldSums, {}, itemCount, { bounds: pieces, ...partials, ...above });
    workspace.release(pieces, below.sums, below.spreads);
    below = above;
  }
  return below;
}

function wordsOf(value: number): { epsilonLow: number; epsilonHigh: number } {
  const [epsilonLow, epsilonHigh] = new Uint32Array(Float64Array.of(value).buffer);
  return { epsilonLow, epsilonHigh };
}
