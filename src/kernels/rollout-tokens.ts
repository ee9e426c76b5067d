/** Trainable tokens of rollouts. Sums of whole numbers, exact in binary64 up to 2^53, so they are host work everywhere. */
import { InputError } from '../errors.ts';
import { type Plan, rowAt } from '../plan/plan.ts';
import { NOT_COUNTED } from './codes.ts';

/** @returns binary64 per rollout: the trainable tokens of all its rows; null where they are unknown */
export function rolloutTokens(plan: Plan, rowTokens: Uint32Array | null): Float64Array | null {
  if (rowTokens === null) return null;
  const tokens = new Float64Array(plan.rolloutCount);
  for (let rollout = 0; rollout < plan.rolloutCount; rollout++) {
    for (let position = plan.rowOffsets[rollout]; position < plan.rowOffsets[rollout + 1]; position++)
      tokens[rollout] += rowTokens[rowAt(plan, position)];
  }
  return tokens;
}

export interface GroupLengths {
  /** Weights of the counted rollouts; 1 in a group that has no trainable token. */
  readonly weights: Float64Array;
  /** Their sums by group. */
  readonly totals: Float64Array;
  /** Groups of two or more without a trainable token. */
  readonly withoutTokens: number;
}

/** @param groupOffsets counted rollouts of each group, from 0. @param tokens of the counted rollouts; null: unknown */
export function groupLengths(groupOffsets: Uint32Array, tokens: Float64Array | null): GroupLengths {
  const groupCount = groupOffsets.length - 1;
  const weights = tokens ? Float64Array.from(tokens) : new Float64Array(groupOffsets[groupCount]).fill(1);
  const totals = new Float64Array(groupCount);
  let withoutTokens = 0;
  for (let group = 0; group < groupCount; group++) {
    const start = groupOffsets[group];
    const end = groupOffsets[group + 1];
    for (let i = start; i < end; i++) totals[group] += weights[i];
    if (tokens && totals[group] > 0) continue;
    if (end - start > 1) withoutTokens++;
    weights.fill(1, start, end);
    totals[group] = end - start;
  }
  return { weights, totals, withoutTokens };
}

/**
 * Weights of the counted rollouts of a batch.
 * @param tokens of every rollout; null: no row says
 * @param slots place of each rollout among the counted ones, or NOT_COUNTED; null: all count
 * @throws InputError where there are none to speak of
 */
export function tokenWeights(
  tokens: Float64Array | null,
  slots: Uint32Array | null,
  countedRollouts: number,
  ddof: number,
): { weights: Float64Array; total: number } {
  if (tokens === null)
    throw new InputError(
      'weighing by tokens needs trainable tokens, and no row says how many it has (loss_mask, response_length or trainable_tokens)',
    );
  let weights = tokens;
  if (slots) {
    weights = new Float64Array(countedRollouts);
    for (let rollout = 0; rollout < tokens.length; rollout++)
      if (slots[rollout] !== NOT_COUNTED) weights[slots[rollout]] = tokens[rollout];
  }
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total <= ddof)
    throw new InputError(
      `weighing by tokens needs more than ${ddof} trainable tokens in the batch, and the counted rollouts have ${total}`,
    );
  return { weights, total };
}
