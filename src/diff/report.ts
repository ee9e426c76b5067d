/** A comparison as a report: plain data, rows counted from 1, ids as they stand in the file. */
import { describeGroup, groupOfRow } from '../plan/describe.ts';
import { type Plan, rowAt } from '../plan/plan.ts';
import type { SampleColumns } from '../samples/columns.ts';
import { NO_ID } from '../samples/ids.ts';
import type { Side } from './account.ts';
import type { Comparison, Counts, GroupChange, RolloutChange, SignChange } from './compare.ts';
import { distributionOf } from './distribution.ts';
import type { Reason } from './reasons.ts';

export interface ReportedChange {
  /** File or batch. */
  readonly batch: string;
  /** Of the file; of the batch where it is several files. */
  readonly row: number;
  readonly place: string;
  /** Id as JSON; null: the row has none. */
  readonly rollout: string | null;
  readonly rollout_rows: number;
  readonly group: string;
  readonly before: number;
  readonly after: number;
  readonly change: number;
  readonly reasons: readonly Reason[];
}

export interface ReportedGroup {
  readonly batch: string;
  readonly group: string;
  readonly rows: number;
  readonly rollouts: number;
  readonly changed_rows: number;
  readonly mean_change: number;
  readonly largest_change: number;
  /** What is subtracted in the group of its first row; null: not one number for the group. */
  readonly baseline: { readonly before: number | null; readonly after: number | null };
}

export interface DiffReport {
  readonly compared: Counts;
  readonly changed: Counts;
  readonly not_compared: { readonly missing: number; readonly not_finite: number };
  /** Rows that differ by no more than rounding explains; of a recorded column only. */
  readonly rounding_rows: number;
  readonly signs: Readonly<Record<SignChange, Omit<Counts, 'groups'>>>;
  /** Absolute; mean and quantiles of the rows that change, the largest of all rows that are compared. */
  readonly difference: {
    readonly mean: number;
    readonly median: number;
    readonly p90: number;
    readonly largest: number;
  };
  readonly largest: readonly ReportedChange[];
  readonly by_group: readonly ReportedGroup[];
}

/** What a batch's report is made of. */
export interface ReportFacts {
  readonly name: string;
  readonly columns: SampleColumns;
  /** By which rollouts and groups are counted. */
  readonly plan: Plan;
  /** Row of the file for each row of the batch; null: the same. */
  readonly rows: Uint32Array | null;
  readonly comparison: Comparison;
  readonly before: Side;
  /** Null: the values are recorded ones. */
  readonly after: Side | null;
  readonly values: Float32Array;
  readonly reasonsOf: (row: number) => readonly Reason[];
}

export function reportOf(facts: ReportFacts): DiffReport {
  const { comparison } = facts;
  return {
    ...countsOf(comparison),
    difference: { ...distributionOf([comparison.differences]), largest: comparison.largest },
    largest: comparison.rollouts.map((change) => reportedChange(facts, change)),
    by_group: comparison.groups.map((change) => reportedGroup(facts, change)),
  };
}

/** Reports of several batches as one. */
export function totalOf(
  parts: readonly { readonly report: DiffReport; readonly differences: Float64Array }[],
  top: number,
): DiffReport {
  const reports = parts.map(({ report }) => report);
  const sum = (of: (report: DiffReport) => number) => reports.reduce((total, report) => total + of(report), 0);
  const counts = (of: (report: DiffReport) => Counts): Counts => ({
    rows: sum((report) => of(report).rows),
    rollouts: sum((report) => of(report).rollouts),
    groups: sum((report) => of(report).groups),
  });
  const signs = (sign: SignChange) => ({
    rows: sum((report) => report.signs[sign].rows),
    rollouts: sum((report) => report.signs[sign].rollouts),
  });
  const largest = reports.flatMap((report) => report.largest);
  const groups = reports.flatMap((report) => report.by_group);
  return {
    compared: counts(({ compared }) => compared),
    changed: counts(({ changed }) => changed),
    not_compared: {
      missing: sum(({ not_compared }) => not_compared.missing),
      not_finite: sum(({ not_compared }) => not_compared.not_finite),
    },
    rounding_rows: sum(({ rounding_rows }) => rounding_rows),
    signs: { flipped: signs('flipped'), from_zero: signs('from_zero'), to_zero: signs('to_zero') },
    difference: {
      ...distributionOf(parts.map(({ differences }) => differences)),
      largest: reports.reduce((most, { difference }) => Math.max(most, difference.largest), 0),
    },
    largest: largest.sort((a, b) => Math.abs(b.change) - Math.abs(a.change)).slice(0, top),
    by_group: groups.sort((a, b) => b.mean_change - a.mean_change).slice(0, top),
  };
}

function countsOf({ compared, changed, missing, notFinite, unchanged, signs }: Comparison) {
  return { compared, changed, not_compared: { missing, not_finite: notFinite }, rounding_rows: unchanged, signs };
}

function reportedChange(facts: ReportFacts, { row, rollout }: RolloutChange): ReportedChange {
  const { name, columns, plan, rows, before, values, reasonsOf } = facts;
  const code = columns.rolloutCodes?.[row] ?? NO_ID;
  return {
    batch: name,
    row: (rows ? rows[row] : row) + 1,
    place: columns.place(row),
    rollout: code === NO_ID ? null : columns.rolloutIds.describe(code),
    rollout_rows: plan.rowOffsets[rollout + 1] - plan.rowOffsets[rollout],
    group: nameOfGroup(plan, columns, groupOfRow(plan, row), row),
    before: before.advantages[row],
    after: values[row],
    change: values[row] - before.advantages[row],
    reasons: reasonsOf(row),
  };
}

function reportedGroup(facts: ReportFacts, change: GroupChange): ReportedGroup {
  const { name, columns, plan, before, after } = facts;
  const { group, rows, changedRows, mean, largest } = change;
  const firstRollout = plan.groupOffsets[group];
  const first = rowAt(plan, plan.rowOffsets[firstRollout]);
  return {
    batch: name,
    group: describeGroup(plan, columns, group),
    rows,
    rollouts: plan.groupOffsets[group + 1] - firstRollout,
    changed_rows: changedRows,
    mean_change: mean,
    largest_change: largest,
    baseline: { before: baselineAt(before, first), after: after && baselineAt(after, first) },
  };
}

/** The id as JSON where groups are ids, else the number from 1. */
function nameOfGroup(plan: Plan, columns: SampleColumns, group: number, row: number): string {
  return plan.tier === 2 ? columns.groupIds.describe(columns.groupCodes![row]) : `#${group + 1}`;
}

/** Null where it is not one number for the group. */
function baselineAt({ plan, details }: Side, row: number): number | null {
  if (details === null || details.groups.length > 1) return null;
  const baseline = details.groups[0].baselines[groupOfRow(plan, row)];
  return Number.isNaN(baseline) ? null : baseline;
}
