/** Representatives that may not be what their writer thinks; they matter only where siblings have different rewards. */
import { type Plan, rowAt } from '../plan/plan.ts';
import { COUNT_THE_MASK, type SampleColumns, statusOf } from '../samples/columns.ts';
import { tokensOfRow } from '../samples/row-tokens.ts';
import { sameReward } from './siblings.ts';

export interface Doubt {
  readonly count: number;
  /** The first one, its row counted from 0, and what is doubtful about it. */
  readonly first: { readonly rollout: string; readonly row: number; readonly why: string } | null;
}

export const NO_DOUBT: Doubt = { count: 0, first: null };
/** A representative that is ahead by a smaller part of its tokens is as good as tied. */
const SMALLEST_LEAD = 0.1;

/** Under `mainstream`: representatives that were cut short, are hardly ahead, or stand alone among their siblings. */
export class DoubtFinder {
  readonly #plan: Plan;
  readonly #columns: SampleColumns;
  #tokens = new Uint32Array(0);
  #count = 0;
  #first: Doubt['first'] = null;

  constructor(plan: Plan, columns: SampleColumns) {
    this.#plan = plan;
    this.#columns = columns;
  }

  doubts(): Doubt {
    return { count: this.#count, first: this.#first };
  }

  /**
   * Looks at rollouts of a block.
   * @param bounds positions of the rows of the block's rollouts
   * @param rollouts of the block, those whose siblings have different rewards
   * @param block each of the rewards looked at, of the block's rows, rollout by rollout
   */
  look(bounds: Uint32Array, rollouts: Uint32Array, block: readonly Float64Array[]): void {
    const base = bounds[0];
    const tokens = this.#tokensOf(bounds, rollouts);
    for (let i = 0; i < rollouts.length; i++) {
      const start = bounds[rollouts[i]] - base;
      const end = bounds[rollouts[i] + 1] - base;
      let best = start;
      let most = -1;
      let second = -1;
      for (let at = start; at < end; at++) {
        if (tokens[at] > most) {
          second = most;
          most = tokens[at];
          best = at;
        } else if (tokens[at] > second) second = tokens[at];
      }
      const row = rowAt(this.#plan, base + best);
      const status = statusOf(this.#columns.flags, row);
      const wasCut = status === 'truncated' || status === 'aborted';
      const isAlone = !wasCut && end - start > 2 && block.every((rewards) => othersAgree(rewards, start, end, best));
      if (!wasCut && !isAlone && !isHardlyAhead(most, second)) continue;
      this.#count++;
      if (this.#first !== null) continue;
      let why = `it has ${most} trainable tokens, the next ${second}`;
      if (wasCut) why = `it is ${status}`;
      else if (isAlone) {
        const other = best === start ? start + 1 : start;
        const rewards = block.find((own) => !sameReward(own[best], own[other]))!;
        why = `its reward ${rewards[best]} is the only one among ${end - start}, the others have ${rewards[other]}`;
      }
      const { rolloutIds, rolloutCodes } = this.#columns;
      this.#first = { rollout: rolloutIds.describe(rolloutCodes![row]), row, why };
    }
  }

  /** Tokens of the rows of these rollouts, each at its row's place in the block; looked up before any is looked at. */
  #tokensOf(bounds: Uint32Array, rollouts: Uint32Array): Uint32Array {
    const base = bounds[0];
    const rowCount = bounds[bounds.length - 1] - base;
    if (this.#tokens.length < rowCount) this.#tokens = new Uint32Array(rowCount);
    const tokens = this.#tokens;
    const { rowsByRollout } = this.#plan;
    const fixedTokens = this.#columns.fixedTokens!;
    for (let i = 0; i < rollouts.length; i++) {
      for (let position = bounds[rollouts[i]]; position < bounds[rollouts[i] + 1]; position++) {
        const row = rowsByRollout === null ? position : rowsByRollout[position];
        const fixed = fixedTokens[row];
        tokens[position - base] = fixed === COUNT_THE_MASK ? tokensOfRow(this.#columns, row)! : fixed;
      }
    }
    return tokens;
  }
}

/** Equal counts are a tie, and no doubt: then the first row stands by the rule. */
function isHardlyAhead(most: number, second: number): boolean {
  return most > second && most - second < SMALLEST_LEAD * most;
}

/** Whether the rows but for one of them have one reward. */
function othersAgree(rewards: Float64Array, start: number, end: number, but: number): boolean {
  const first = rewards[but === start ? start + 1 : start];
  for (let at = start; at < end; at++) if (at !== but && !sameReward(rewards[at], first)) return false;
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
