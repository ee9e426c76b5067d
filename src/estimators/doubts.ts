/** Representatives that may not be what their writer thinks; they matter only where siblings have different rewards. */
import { type Plan, rowAt } from '../plan/plan.ts';
import { type SampleColumns, statusOf } from '../samples/columns.ts';
import { tokensOfRow } from '../samples/row-tokens.ts';
import { sameReward } from './siblings.ts';

export interface Doubt {
  readonly count: number;
  /** The first one, its row counted from 0, and what is doubtful about it. */
  readonly first: { readonly rollout: string; readonly row: number; readonly why: string } | null;
}

const NONE: Doubt = { count: 0, first: null };
/** A representative that is ahead by a smaller part of its tokens is as good as tied. */
const SMALLEST_LEAD = 0.1;

/** Under `mainstream`: representatives that were cut short, are hardly ahead, or stand alone among their siblings. */
export function findDoubts(plan: Plan, columns: SampleColumns, disagreeing: number): Doubt {
  if (disagreeing === 0 || columns.fixedTokens === null) return NONE;
  let count = 0;
  let first: Doubt['first'] = null;
  for (let rollout = 0; rollout < plan.rolloutCount; rollout++) {
    const start = plan.rowOffsets[rollout];
    const end = plan.rowOffsets[rollout + 1];
    if (end - start < 2) continue;
    if (agree(plan, columns.rewards, start, end, -1)) continue;
    const [row, why] = doubtOf(plan, columns, start, end);
    if (why === null) continue;
    count++;
    first ??= { rollout: columns.rolloutIds.describe(columns.rolloutCodes![row]), row, why: why() };
  }
  return { count, first };
}

/** Looks at the rows of one rollout; the words are made for the first doubt alone. */
function doubtOf(
  plan: Plan,
  columns: SampleColumns,
  start: number,
  end: number,
): [row: number, why: (() => string) | null] {
  const { rewards, flags } = columns;
  let best = start;
  let most = -1;
  let second = -1;
  for (let position = start; position < end; position++) {
    const tokens = tokensOfRow(columns, rowAt(plan, position)) ?? 0;
    if (tokens > most) {
      second = most;
      most = tokens;
      best = position;
    } else if (tokens > second) second = tokens;
  }
  const row = rowAt(plan, best);
  const status = statusOf(flags, row);
  if (status === 'truncated' || status === 'aborted') return [row, () => `it is ${status}`];
  if (end - start > 2 && agree(plan, rewards, start, end, best)) {
    const other = rowAt(plan, best === start ? start + 1 : start);
    const why = () =>
      `its reward ${rewards[row]} is the only one among ${end - start}, the others have ${rewards[other]}`;
    return [row, why];
  }
  if (most > second && most - second < SMALLEST_LEAD * most)
    return [row, () => `it has ${most} trainable tokens, the next ${second}`];
  return [row, null];
}

/** Whether the rows at some positions, but for one of them, have one reward. */
function agree(plan: Plan, rewards: Float64Array, start: number, end: number, but: number): boolean {
  const first = rewards[rowAt(plan, but === start ? start + 1 : start)];
  for (let position = start; position < end; position++)
    if (position !== but && !sameReward(rewards[rowAt(plan, position)], first)) return false;
  return true;
}

/** Groups that are looked at, and rows of each. */
const GROUPS_SAMPLED = 200;
const ROWS_SAMPLED = 1000;
const NEAR = 1e-3;

/** Whether the rewards of most groups (of their first rows) have mean 0 and deviation 1, by ddof 0 or 1. */
export function looksNormalized(plan: Plan, rewards: Float64Array): boolean {
  let varied = 0;
  let normalized = 0;
  for (let group = 0; group < Math.min(plan.groupCount, GROUPS_SAMPLED); group++) {
    const values: number[] = [];
    const end = Math.min(plan.groupOffsets[group + 1], plan.groupOffsets[group] + ROWS_SAMPLED);
    for (let rollout = plan.groupOffsets[group]; rollout < end; rollout++)
      values.push(rewards[rowAt(plan, plan.rowOffsets[rollout])]);
    if (values.length < 3 || values.every((value) => value === values[0])) continue;
    varied++;
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    const isOne = (deviation: number) => Math.abs(deviation - 1) < NEAR;
    const scaled = isOne(Math.sqrt(squares / (values.length - 1))) || isOne(Math.sqrt(squares / values.length));
    if (Math.abs(mean) < NEAR && scaled) normalized++;
  }
  return varied > 1 && normalized * 2 > varied;
}
