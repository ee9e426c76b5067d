/** Rows of each prompt group to rollouts, numbered group by group in first-seen order. */
import { NO_ID } from '../samples/ids.ts';
import { bucketOffsets, stableOrder } from './bucket-sort.ts';
import type { RowGroups } from './groups.ts';
import { KeyTable } from './key-table.ts';

/** Rollouts over rows. A position is a place in the order rollout by rollout, rows of a rollout in row order. */
export interface RowRollouts {
  readonly rolloutCount: number;
  /** The rollouts of group g are [groupOffsets[g], groupOffsets[g + 1]); length groupCount + 1. */
  readonly groupOffsets: Uint32Array;
  /** The rows of rollout r stand at positions [rowOffsets[r], rowOffsets[r + 1]); length rolloutCount + 1. */
  readonly rowOffsets: Uint32Array;
  /** Row at each position; null: position and row are the same. */
  readonly rowsByRollout: Uint32Array | null;
  /** Rollout of each row. */
  readonly rowRollout: Uint32Array;
}

/**
 * Finds the rollouts: rows of one group with the same code are one; a row with NO_ID is one by itself.
 * @param rolloutCodes code per row, or null: every row is a rollout
 */
export function findRollouts(groups: RowGroups, rolloutCodes: Uint32Array | null, rowCount: number): RowRollouts {
  const { groupCount, rowOffsets: groupRows, rowsByGroup } = groups;
  const groupOffsets = new Uint32Array(groupCount + 1);
  const rowRollout = new Uint32Array(rowCount);
  const keys = new KeyTable();
  let rolloutCount = 0;
  let inOrder = rowsByGroup === null;
  for (let group = 0; group < groupCount; group++) {
    keys.begin(groupRows[group + 1] - groupRows[group]);
    let lastCode = NO_ID;
    let rollout = 0;
    for (let at = groupRows[group]; at < groupRows[group + 1]; at++) {
      const row = rowsByGroup === null ? at : rowsByGroup[at];
      const code = rolloutCodes === null ? NO_ID : rolloutCodes[row];
      if (code === NO_ID) rollout = rolloutCount++;
      else if (code !== lastCode) {
        rollout = keys.findOrAdd(code, rolloutCount);
        if (rollout === rolloutCount) rolloutCount++;
        else inOrder = false;
      }
      lastCode = code;
      rowRollout[row] = rollout;
    }
    groupOffsets[group + 1] = rolloutCount;
  }
  const rowOffsets = bucketOffsets(rowRollout, rolloutCount);
  const rowsByRollout = inOrder ? null : stableOrder(rowRollout, rowOffsets);
  return { rolloutCount, groupOffsets, rowOffsets, rowsByRollout, rowRollout };
}
