/** What the siblings of a rollout say: whether they agree, and the reward of a rollout under mean and sum. */
import { InputError } from '../errors.ts';
import { type Plan, rowAt } from '../plan/plan.ts';
import type { SampleColumns } from '../samples/columns.ts';
import type { SiblingPolicy } from './policies.ts';

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
}

const EXAMPLES = 3;
const ROWS_PER_EXAMPLE = 8;

export function surveySiblings(plan: Plan, columns: SampleColumns): SiblingSurvey {
  const { rowOffsets, rolloutCount, rowCount } = plan;
  const examples: Disagreement[] = [];
  let multiRow = 0;
  let disagreeing = 0;
  if (rolloutCount === rowCount) return { multiRow, disagreeing, examples };
  for (let rollout = 0; rollout < rolloutCount; rollout++) {
    const start = rowOffsets[rollout];
    const end = rowOffsets[rollout + 1];
    if (end - start < 2) continue;
    multiRow++;
    if (agree(plan, columns.rewards, start, end)) continue;
    if (disagreeing++ < EXAMPLES) examples.push(describe(plan, columns, start, end));
  }
  return { multiRow, disagreeing, examples };
}

function agree(plan: Plan, rewards: Float64Array, start: number, end: number): boolean {
  const first = rewards[rowAt(plan, start)];
  for (let position = start + 1; position < end; position++) {
    if (!sameReward(rewards[rowAt(plan, position)], first)) return false;
  }
  return true;
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

/** -0 equals 0; missing equals missing. */
export const sameReward = (a: number, b: number) => a === b || (Number.isNaN(a) && Number.isNaN(b));

const presentOrNull = (reward: number) => (Number.isNaN(reward) ? null : reward);

/**
 * `--siblings shared`: the present rewards of a rollout's rows must be exactly equal.
 * @throws InputError naming rollout, rows and rewards
 */
export function requireSharedRewards(plan: Plan, columns: SampleColumns): void {
  const { rowOffsets, rolloutCount, rowCount } = plan;
  if (rolloutCount === rowCount) return;
  for (let rollout = 0; rollout < rolloutCount; rollout++) {
    let known = -1;
    for (let position = rowOffsets[rollout]; position < rowOffsets[rollout + 1]; position++) {
      const row = rowAt(plan, position);
      if (Number.isNaN(columns.rewards[row])) continue;
      if (known < 0) known = row;
      else if (columns.rewards[row] !== columns.rewards[known]) throw sharedRefusal(columns, known, row);
    }
  }
}

function sharedRefusal(columns: SampleColumns, known: number, row: number): InputError {
  const id = columns.rolloutIds.describe(columns.rolloutCodes![row]);
  const { rewards, place } = columns;
  return new InputError(
    `rollout ${id}: siblings must share one reward, but ${place(known)} has ${rewards[known]} and ${place(row)} has ${rewards[row]}`,
  );
}

/**
 * Reward of every rollout under `mean` and `sum`: its present rewards in binary64, added one after the other in row order.
 * Sequential by definition, so it is host work on every backend. NaN where no sibling has a reward.
 */
export function combineSiblings(
  plan: Plan,
  rewards: Float64Array,
  policy: SiblingPolicy & ('mean' | 'sum'),
): Float64Array {
  const combined = new Float64Array(plan.rolloutCount);
  for (let rollout = 0; rollout < plan.rolloutCount; rollout++) {
    let sum = 0;
    let present = 0;
    for (let position = plan.rowOffsets[rollout]; position < plan.rowOffsets[rollout + 1]; position++) {
      const reward = rewards[rowAt(plan, position)];
      if (Number.isNaN(reward)) continue;
      sum += reward;
      present++;
    }
    combined[rollout] = present === 0 ? Number.NaN : policy === 'mean' ? sum / present : sum;
  }
  return combined;
}
