/** Refuses batches that lack rewards or identity, and puts several rewards of a row together. */
import { InputError } from '../errors.ts';
import type { SampleColumns } from './columns.ts';
import { gather } from './gather.ts';
import { NO_ID } from './ids.ts';

/**
 * @param mayBeMissing rollouts without a reward are left out rather than refused
 * @param requireIdentity every row needs a rollout_id or an index
 * @throws InputError naming the first row
 */
export function requireRewards(columns: SampleColumns, mayBeMissing: boolean, requireIdentity: boolean): void {
  const { missingReward, rolloutCodes, rowCount, place } = columns;
  if (missingReward && !mayBeMissing) {
    throw new InputError(
      `${place(missingReward.row)}: reward must be a finite number, found ${missingReward.found} (excluding missing-reward leaves such rollouts out)`,
    );
  }
  if (!requireIdentity) return;
  const nameless = rolloutCodes === null ? (rowCount > 0 ? 0 : -1) : rolloutCodes.indexOf(NO_ID);
  if (nameless >= 0) throw new InputError(`${place(nameless)}: neither rollout_id nor index, but identity is required`);
}

/** The rewards at some rows, in their order. */
export function rewardsOfRows(
  columns: SampleColumns,
  rows: Uint32Array,
): Pick<SampleColumns, 'rewards' | 'rewardParts' | 'rewardNames' | 'missingReward'> {
  const { rewardParts = null, rewardNames = null, missingReward: first } = columns;
  const rewards = gather(columns.rewards, rows, new Float64Array(rows.length))!;
  const missing = rewards.findIndex(Number.isNaN);
  // What stood in the place of a reward is known of the first that was missing.
  const found = missing >= 0 && first?.row === rows[missing] ? first.found : 'none';
  return {
    rewards,
    rewardParts: rewardParts?.map((part) => gather(part, rows, new Float64Array(rows.length))!) ?? null,
    rewardNames,
    missingReward: missing < 0 ? null : { row: missing, found },
  };
}

/** A row that lacks one of several rewards lacks all. */
export function shareMissing(parts: readonly Float64Array[], rowCount: number): void {
  for (let row = 0; row < rowCount; row++) {
    if (!parts.some((part) => Number.isNaN(part[row]))) continue;
    for (const part of parts) part[row] = Number.NaN;
  }
}

/** In binary64, in their order; NaN where a row lacks one, no finite number where the sum overflows. */
export function weightedSum(
  parts: readonly Float64Array[],
  weights: readonly number[] | null,
  rowCount: number,
): Float64Array {
  const sums = new Float64Array(rowCount);
  for (const [k, part] of parts.entries()) {
    const weight = weights?.[k] ?? 1;
    for (let row = 0; row < rowCount; row++) sums[row] += weight * part[row];
  }
  return sums;
}
