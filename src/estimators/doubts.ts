/** Representatives that may not be what their writer thinks; they matter only where siblings have different rewards. */
import { type Plan, rowAt } from '../plan/plan.ts';
import { COUNT_THE_MASK, type SampleColumns, statusOf } from '../samples/columns.ts';
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
    const rows = Array.from({ length: end - start }, (_, i) => rowAt(plan, start + i));
    if (rows.every((row) => sameReward(columns.rewards[row], columns.rewards[rows[0]]))) continue;
    const [row, why] = doubtOf(rows, columns);
    if (why === null) continue;
    count++;
    first ??= { rollout: columns.rolloutIds.describe(columns.rolloutCodes![row]), row, why };
  }
  return { count, first };
}

function doubtOf(rows: readonly number[], columns: SampleColumns): [row: number, why: string | null] {
  const tokens = rows.map((row) => tokensOf(columns, row));
  const best = tokens.indexOf(Math.max(...tokens));
  const row = rows[best];
  const status = statusOf(columns.flags, row);
  if (status === 'truncated' || status === 'aborted') return [row, `it is ${status}`];
  const others = rows.filter((_, i) => i !== best);
  const agree = others.every((other) => sameReward(columns.rewards[other], columns.rewards[others[0]]));
  if (others.length > 1 && agree)
    return [
      row,
      `its reward ${columns.rewards[row]} is the only one among ${rows.length}, the others have ${columns.rewards[others[0]]}`,
    ];
  const second = Math.max(...tokens.filter((_, i) => i !== best));
  if (tokens[best] > second && tokens[best] - second < SMALLEST_LEAD * tokens[best])
    return [row, `it has ${tokens[best]} trainable tokens, the next ${second}`];
  return [row, null];
}

function tokensOf({ fixedTokens, lossMasks }: SampleColumns, row: number): number {
  const fixed = fixedTokens![row];
  if (fixed !== COUNT_THE_MASK || lossMasks === null) return fixed;
  let count = 0;
  for (let word = lossMasks.wordOffsets[row]; word < lossMasks.wordOffsets[row + 1]; word++)
    count += ones(lossMasks.words[word]);
  return count;
}

function ones(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  return count;
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
