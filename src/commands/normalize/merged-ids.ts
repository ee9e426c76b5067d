/** Counts the ids that occur in more than one file of a batch, whose rows therefore stand together. */
import type { InputRows } from '../../io/read-input.ts';
import { codeTableFor } from '../../plan/code-table.ts';
import type { SampleColumns } from '../../samples/columns.ts';
import { NO_ID } from '../../samples/ids.ts';

export interface MergedIds {
  readonly group_index: number;
  /** rollout_id, else index. */
  readonly rollout_id: number;
}

export function countMergedIds(columns: SampleColumns, files: readonly InputRows[]): MergedIds {
  return {
    group_index: countShared(columns.groupCodes, files),
    rollout_id: countShared(columns.rolloutCodes, files),
  };
}

/** Number in the table of what was met in more than one file. */
const SHARED = 0x7fffffff;

function countShared(codes: Uint32Array | null, files: readonly InputRows[]): number {
  if (codes === null || files.length < 2) return 0;
  const fileOf = codeTableFor(codes, NO_ID);
  let shared = 0;
  for (const [file, { firstRow, rowCount }] of files.entries()) {
    for (let row = firstRow; row < firstRow + rowCount; row++) {
      const code = codes[row];
      if (code === NO_ID) continue;
      const before = fileOf.get(code);
      if (before < 0) fileOf.set(code, file);
      else if (before !== file && before !== SHARED) {
        fileOf.set(code, SHARED);
        shared++;
      }
    }
  }
  return shared;
}
