/** How a message names a prompt group. */
import type { SampleColumns } from '../samples/columns.ts';
import { type Plan, rowAt } from './plan.ts';

/** `group 7 (group_index 41, line 12 to line 19)`, groups counted from 1. */
export function describeGroup(plan: Plan, columns: SampleColumns, group: number): string {
  const firstPosition = plan.rowOffsets[plan.groupOffsets[group]];
  const positionEnd = plan.rowOffsets[plan.groupOffsets[group + 1]];
  const first = rowAt(plan, firstPosition);
  let last = first;
  for (let position = firstPosition; position < positionEnd; position++) last = Math.max(last, rowAt(plan, position));
  const rows = first === last ? columns.place(first) : `${columns.place(first)} to ${columns.place(last)}`;
  const id = plan.tier === 2 ? `group_index ${columns.groupIds.describe(columns.groupCodes![first])}, ` : '';
  return `group ${group + 1} (${id}${rows})`;
}

/** Prompt group of a row. */
export function groupOfRow(plan: Plan, row: number): number {
  const rollout = plan.rowRollout[row];
  let low = 0;
  let high = plan.groupCount - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (plan.groupOffsets[middle] <= rollout) low = middle;
    else high = middle - 1;
  }
  return low;
}
