/** The plan of a batch: which rows are a rollout, which rollouts are a prompt group. Integers only. */
import type { SampleColumns } from '../samples/columns.ts';
import { type GroupingOptions, groupRows, type Tier, type UngroupedRows } from './groups.ts';
import { type KeyHygiene, keyHygiene } from './hygiene.ts';
import { findRollouts, type RowRollouts } from './rollouts.ts';

export interface Plan extends RowRollouts {
  readonly rowCount: number;
  readonly tier: Tier;
  readonly ungrouped: UngroupedRows;
  readonly groupCount: number;
  readonly hygiene: KeyHygiene;
}

export interface PlanOptions extends GroupingOptions {
  /** Every row is a rollout of its own, whatever its ids (`--siblings rows`). */
  readonly everyRowIsARollout?: boolean | undefined;
}

/** @throws InputError as groupRows does */
export function planBatch(columns: SampleColumns, options: PlanOptions = {}): Plan {
  const { rowCount, groupCodes } = columns;
  const rolloutCodes = options.everyRowIsARollout ? null : columns.rolloutCodes;
  const groups = groupRows(groupCodes, rowCount, options, columns.place);
  const rollouts = findRollouts(groups, rolloutCodes, rowCount);
  const { tier, ungrouped, groupCount } = groups;
  return {
    rowCount,
    tier,
    ungrouped,
    groupCount,
    ...rollouts,
    hygiene: keyHygiene(rollouts, rolloutCodes, columns.flags),
  };
}

/** Row at a position of the plan. */
export function rowAt(plan: RowRollouts, position: number): number {
  return plan.rowsByRollout === null ? position : plan.rowsByRollout[position];
}
