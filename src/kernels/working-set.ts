/** How much memory the arrays of a computation take, by which an executor says whether a batch fits. */
import type { Tile } from '../plan/tiles.ts';
import type { Work } from './work.ts';

/** Bytes of the arrays that live at the same time when a batch is worked on without tiles. */
export function wholeBatchBytes({ columns, plan, estimator }: Pick<Work, 'columns' | 'plan' | 'estimator'>): number[] {
  const rewardCount = columns.rewardParts?.length ?? 1;
  const perRow = [8, 4, 4, 4, plan.rowsByRollout ? 4 : 0].map((bytes) => bytes * columns.rowCount);
  const more = Array.from({ length: rewardCount - 1 }, () => 8 * columns.rowCount);
  const values = Array.from(
    { length: rewardCount + EXTRA_ARRAYS[estimator.scale === 'peers' ? 'peers' : 'others'] },
    () => 8,
  );
  const perRollout = [4, 4, 8, 8, 8, 4, 4, ...values].map((bytes) => bytes * (plan.rolloutCount + 1));
  const perGroup = [4, 8, 8, 8, 8, 8, 4, 4, 4, 4].map((bytes) => bytes * (plan.groupCount + 1));
  const masks = columns.lossMasks ? [columns.lossMasks.words.byteLength, columns.lossMasks.wordOffsets.byteLength] : [];
  return [...perRow, ...more, ...perRollout, ...perGroup, ...masks];
}

/** Binary64 arrays per rollout beside the rewards and the advantages. */
const EXTRA_ARRAYS = { peers: 3, others: 2 };

/** The same for one tile. */
export function tileBytes({ firstRollout, rolloutEnd, firstPosition, positionEnd }: Tile): number[] {
  const perRow = [8, 4, 4].map((bytes) => bytes * (positionEnd - firstPosition));
  const perRolloutOrGroup = [4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 4].map(
    (bytes) => bytes * (rolloutEnd - firstRollout + 1),
  );
  return [...perRow, ...perRolloutOrGroup];
}
