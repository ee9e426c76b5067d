/** The plan of a batch: which rows are a rollout, which rollouts are a prompt group. Integers only. */
import { InputError } from '../errors.ts';
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

/** Numbers of rows, rollouts and groups are held in 31 bits. */
export const MOST_ROWS = 2 ** 31 - 2;

/** @throws InputError as groupRows does, and on a batch of more rows than can be numbered */
export function planBatch(columns: SampleColumns, options: PlanOptions = {}): Plan {
  const { rowCount, groupCodes } = columns;
  if (rowCount > MOST_ROWS) throw new InputError(`a batch may have ${MOST_ROWS} rows, this one has ${rowCount}`);
  const rolloutCodes = options.everyRowIsARollout ? null : columns.rolloutCodes;
  const groups = groupRows(groupCodes, rowCount, options, columns.place);
  const { rollouts, keys } = findRollouts(groups, rolloutCodes, rowCount);
  const { tier, ungrouped, groupCount } = groups;
  return {
    rowCount,
    tier,
    ungrouped,
    groupCount,
    ...rollouts,
    hygiene: keyHygiene(rollouts, keys, columns.flags),
  };
}

/** Row at a position of the plan. */
export function rowAt(plan: RowRollouts, position: number): number {
  return plan.rowsByRollout === null ? position : plan.rowsByRollout[position];
}
