/** Whether the siblings of each rollout agree, and whether the right one stands for them where they do not. */
import { type Plan, rowAt } from '../plan/plan.ts';
import { portionsOf } from '../plan/portions.ts';
import type { SampleColumns } from '../samples/columns.ts';
import { gatherDoubles } from '../samples/gather.ts';
import { type Doubt, DoubtFinder, NO_DOUBT } from './doubts.ts';
import { sameReward } from './siblings.ts';

/** A rollout whose siblings carry different rewards. Rows count from 0; a missing reward is null. */
export interface Disagreement {
  readonly rollout: string;
  readonly rows: readonly number[];
  readonly rewards: readonly (number | null)[];
}

export interface SiblingSurvey {
  /** Rollouts with more than one row. */
  readonly multiRow: number;
  /** Those whose rewards are not all equal (-0 equals 0; missing equals missing only). */
  readonly disagreeing: number;
  readonly examples: readonly Disagreement[];
  /** Representatives that may not be what their writer thinks, if that was asked for. */
  readonly doubts: Doubt;
}

const EXAMPLES = 3;
const ROWS_PER_EXAMPLE = 8;
const ROWS_AT_ONCE = 1 << 13;

/** @param isMainstream the row with most tokens stands for its rollout, and may be doubtful */
export function surveySiblings(plan: Plan, columns: SampleColumns, isMainstream: boolean): SiblingSurvey {
  const { rowOffsets, rowsByRollout, rolloutCount, rowCount } = plan;
  const none = { multiRow: 0, disagreeing: 0, examples: [], doubts: NO_DOUBT };
  if (rolloutCount === rowCount) return none;
  const finder = isMainstream && columns.fixedTokens ? new DoubtFinder(plan, columns) : null;
  const examples: Disagreement[] = [];
  const differing = new Uint32Array(Math.min(rowCount, ROWS_AT_ONCE));
  let packed = new Float64Array(rowsByRollout ? differing.length : 0);
  let disagreeing = 0;
  for (const { firstItem, itemCount } of portionsOf(0, rolloutCount, rowOffsets, differing.length, ROWS_AT_ONCE)) {
    const bounds = rowOffsets.subarray(firstItem, firstItem + itemCount + 1);
    const rows = rowsByRollout?.subarray(bounds[0], bounds[itemCount]);
    if (rows && rows.length > packed.length) packed = new Float64Array(rows.length);
    const rewards = rows
      ? gatherDoubles(columns.rewards, rows, packed)
      : columns.rewards.subarray(bounds[0], bounds[itemCount]);
    const found = differing.subarray(0, findDiffering(bounds, rewards, differing));
    disagreeing += found.length;
    for (const at of found.subarray(0, EXAMPLES - examples.length))
      examples.push(describe(plan, columns, bounds[at], bounds[at + 1]));
    finder?.look(bounds, found, rewards);
  }
  return { multiRow: countMultiRow(rowOffsets), disagreeing, examples, doubts: finder?.doubts() ?? NO_DOUBT };
}

function countMultiRow(rowOffsets: Uint32Array): number {
  let count = 0;
  for (let end = 1; end < rowOffsets.length; end++) if (rowOffsets[end] - rowOffsets[end - 1] > 1) count++;
  return count;
}

/**
 * Fills `differing` with the rollouts of a block whose rewards are not all equal, and says how many there are.
 * @param rewards of the block's rows, rollout by rollout
 */
function findDiffering(bounds: Uint32Array, rewards: Float64Array, differing: Uint32Array): number {
  const base = bounds[0];
  let count = 0;
  for (let rollout = 0; rollout + 1 < bounds.length; rollout++) {
    const end = bounds[rollout + 1] - base;
    let at = bounds[rollout] - base;
    const first = rewards[at++];
    while (at < end && sameReward(rewards[at], first)) at++;
    if (at < end) differing[count++] = rollout;
  }
  return count;
}

function describe(plan: Plan, columns: SampleColumns, start: number, end: number): Disagreement {
  const rows: number[] = [];
  for (let position = start; position < Math.min(end, start + ROWS_PER_EXAMPLE); position++)
    rows.push(rowAt(plan, position));
  // The rows shown must show the difference, however far down it is.
  for (let position = start + ROWS_PER_EXAMPLE; position < end; position++) {
    const row = rowAt(plan, position);
    if (sameReward(columns.rewards[row], columns.rewards[rows[0]])) continue;
    rows.push(row);
    break;
  }
  const rollout = columns.rolloutIds.describe(columns.rolloutCodes![rows[0]]);
  return { rollout, rows, rewards: rows.map((row) => presentOrNull(columns.rewards[row])) };
}

const presentOrNull = (reward: number) => (Number.isNaN(reward) ? null : reward);
