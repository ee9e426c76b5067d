/** Rows of each rollout to the position of the row that stands for it. */
import type { SiblingPolicy } from '../../estimators/policies.ts';
import { planReduction } from '../../plan/reduction.ts';
import { CHOICE } from '../codes.ts';
import type { KernelArray, Workspace } from '../executor.ts';
import { KERNELS } from '../table.ts';

/** How the rows of some rollouts lie. */
export interface RowOrder {
  /** 1: a position, less firstPosition, is the row's place in `tokens` and `rewards`. */
  readonly rowsInOrder: 0 | 1;
  /** Else the row of each position. */
  readonly rowsByRollout: KernelArray<'u32'> | null;
  readonly firstPosition: number;
}

/** The rows of some rollouts as kernels see them. */
export interface RolloutRows extends RowOrder {
  /** Null: unknown, so that every choice by tokens is a tie. */
  readonly tokens: KernelArray<'u32'> | null;
  /** Null: not needed for the choice. */
  readonly rewards: KernelArray<'f64'> | null;
}

/** Whether the choice among a rollout's rows depends on their rewards. */
export function choosesByReward(policy: SiblingPolicy): boolean {
  return policy === 'max' || policy === 'min' || policy === 'shared';
}

/** @param rowOffsets positions of each rollout's rows, the first at rows.firstPosition */
export async function selectRepresentatives(
  workspace: Workspace,
  pieceLength: number,
  rowOffsets: Uint32Array,
  rows: RolloutRows,
  policy: Exclude<SiblingPolicy, 'mean' | 'sum'>,
): Promise<KernelArray<'u32'>> {
  const { rowsInOrder, rowsByRollout, tokens, rewards, firstPosition } = rows;
  const choice = CHOICE[policy === 'rows' ? 'first' : policy];
  const [lowest, ...upper] = planReduction(rowOffsets, pieceLength);
  const outputs = (itemCount: number) => ({
    winners: workspace.output('u32', itemCount),
    ranks: workspace.output('f64', itemCount),
  });
  const bounds = workspace.input('u32', lowest.elementOffsets);
  let below = outputs(lowest.itemCount);
  const parameters = { choice, rowsInOrder, tokensKnown: tokens ? 1 : 0 };
  const arrays = { bounds, rowsByRollout, tokens, rewards, ...below };
  await workspace.run(KERNELS.selectRepresentative, parameters, lowest.itemCount, arrays, {
    elementBase: firstPosition,
  });
  workspace.release(bounds);
  for (const { itemCount, elementOffsets } of upper) {
    const above = outputs(itemCount);
    const pieces = workspace.input('u32', elementOffsets);
    const candidates = { candidates: below.winners, candidateRanks: below.ranks };
    await workspace.run(KERNELS.foldRepresentatives, {}, itemCount, { bounds: pieces, ...candidates, ...above });
    workspace.release(pieces, below.winners, below.ranks);
    below = above;
  }
  workspace.release(below.ranks);
  return below.winners;
}

/** The rewards at some positions. */
export async function gatherRewards(
  workspace: Workspace,
  { rowsInOrder, rowsByRollout, firstPosition }: RowOrder,
  rewards: KernelArray<'f64'>,
  positions: KernelArray<'u32'>,
): Promise<KernelArray<'f64'>> {
  const values = workspace.output('f64', positions.length);
  const parameters = { rowsInOrder, positionBase: firstPosition };
  await workspace.run(KERNELS.gatherRewards, parameters, positions.length, {
    positions,
    rowsByRollout,
    rewards,
    values,
  });
  return values;
}
