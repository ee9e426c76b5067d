/** Whether the siblings of each rollout agree, and whether the right one stands for them where they do not. */
import { type Plan, rowAt } from '../plan/plan.ts';
import { portionsOf } from '../plan/portions.ts';
import type { SampleColumns } from '../samples/columns.ts';
import { gatherDoubles } from '../samples/gather.ts';
import { type Doubt, DoubtFinder, NO_DOUBT } from './doubts.ts';
import { rewardsLookedAt, sameReward } from './siblings.ts';

/** A rollout whose siblings carry different rewards. Rows count from 0; a missing reward is null. */
export interface Disagreement {
  readonly rollout: string;
  readonly rows: readonly number[];
  readonly rewards: readonly (number | null)[];
  /**
   * Which of several rewards they are, where the rule takes each by itself. Without it they are the rows' own, of several
   * rewards the sum: a row that lacks one of them lacks all.
   */
  readonly reward?: string;
  /** Where its rows stand, of rows from files; and in which of several files that are batches of their own. */
  readonly places?: readonly string[];
  readonly file?: string;
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

export interface SurveyRequest {
  /** Each of several rewards counts by itself. */
  readonly perReward: boolean;
  /** The row with most tokens stands for its rollout, and may be doubtful. */
  readonly isMainstream: boolean;
}

export function surveySiblings(plan: Plan, columns: SampleColumns, request: SurveyRequest): SiblingSurvey {
  const { rowOffsets, rowsByRollout, rolloutCount, rowCount } = plan;
  const none = { multiRow: 0, disagreeing: 0, examples: [], doubts: NO_DOUBT };
  if (rolloutCount === rowCount) return none;
  const looked = rewardsLookedAt(columns, request);
  const finder = request.isMainstream && columns.fixedTokens ? new DoubtFinder(plan, columns) : null;
  const examples: Disagreement[] = [];
  const differing = new Uint32Array(Math.min(rowCount, ROWS_AT_ONCE));
  let packed = looked.map(() => new Float64Array(rowsByRollout ? differing.length : 0));
  let disagreeing = 0;
  for (const { firstItem, itemCount } of portionsOf(0, rolloutCount, rowOffsets, differing.length, ROWS_AT_ONCE)) {
    const bounds = rowOffsets.subarray(firstItem, firstItem + itemCount + 1);
    const [start, end] = [bounds[0], bounds[itemCount]];
    const rows = rowsByRollout?.subarray(start, end);
    if (rows && rows.length > packed[0].length) packed = looked.map(() => new Float64Array(rows.length));
    const block = looked.map((own, i) => (rows ? gatherDoubles(own, rows, packed[i]) : own.subarray(start, end)));
    const found = differing.subarray(0, findDiffering(bounds, block, differing));
    disagreeing += found.length;
    for (const at of found.subarray(0, EXAMPLES - examples.length))
      examples.push(describe(plan, columns, looked, bounds[at], bounds[at + 1]));
    finder?.look(bounds, found, block);
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
 * @param block each of the rewards looked at, of the block's rows, rollout by rollout
 */
function findDiffering(bounds: Uint32Array, block: readonly Float64Array[], differing: Uint32Array): number {
  const base = bounds[0];
  let count = 0;
  for (let rollout = 0; rollout + 1 < bounds.length; rollout++) {
    const start = bounds[rollout] - base;
    const end = bounds[rollout + 1] - base;
    for (const rewards of block) {
      if (areEqual(rewards, start, end)) continue;
      differing[count++] = rollout;
      break;
    }
  }
  return count;
}

function areEqual(rewards: Float64Array, start: number, end: number): boolean {
  const first = rewards[start];
  let at = start + 1;
  while (at < end && sameReward(rewards[at], first)) at++;
  return at >= end;
}

/** A rollout whose rows differ, by the first of the rewards looked at in which they do; as a whole where one has none. */
function describe(
  plan: Plan,
  columns: SampleColumns,
  looked: readonly Float64Array[],
  start: number,
  end: number,
): Disagreement {
  const first = rowAt(plan, start);
  let other = start;
  let which = -1;
  while (which < 0) {
    const row = rowAt(plan, ++other);
    which = looked.findIndex((own) => !sameReward(own[row], own[first]));
  }
  const isWhole = Number.isNaN(looked[which][first]) || Number.isNaN(looked[which][other]);
  const rewards = isWhole ? columns.rewards : looked[which];
  const shown = Math.min(end, start + ROWS_PER_EXAMPLE);
  const rows = Array.from({ length: shown - start }, (_, i) => rowAt(plan, start + i));
  // The rows shown must show the difference, however far down it is.
  if (other >= shown) rows.push(rowAt(plan, other));
  const name = looked.length > 1 && !isWhole ? columns.rewardNames?.[which] : undefined;
  return {
    rollout: columns.rolloutIds.describe(columns.rolloutCodes![first]),
    rows,
    rewards: rows.map((row) => presentOrNull(rewards[row])),
    ...(name !== undefined && { reward: name }),
  };
}

const presentOrNull = (reward: number) => (Number.isNaN(reward) ? null : reward);
