/** Refuses batches whose rows lack what every estimator needs. */
import { InputError } from '../errors.ts';
import type { SampleColumns } from './columns.ts';
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
