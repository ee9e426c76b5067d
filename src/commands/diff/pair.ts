/** Computes a batch under two settings, or beside a recorded column, and compares. */
import type { Side } from '../../diff/account.ts';
import { compare } from '../../diff/compare.ts';
import { reasonsFor } from '../../diff/reasons.ts';
import { recordedReasons } from '../../diff/recorded-reasons.ts';
import { referencePlan } from '../../diff/reference.ts';
import { type DiffReport, reportOf } from '../../diff/report.ts';
import { isBeyondRounding } from '../../diff/rounding.ts';
import type { Engine, NormalizeResult } from '../../engine.ts';
import { InputError, UsageError } from '../../errors.ts';
import { named } from '../../io/read-input.ts';
import { checkOptions, type NormalizeOptions } from '../../options.ts';
import { type PreparedBatch, planKey, prepareBatch } from '../../prepare.ts';
import type { Report } from '../../report.ts';
import type { NamedBatch } from '../batches.ts';
import { compareRecorded, type RecordedComparison } from '../normalize/recorded.ts';

/** What is compared with the settings of the flags. */
export type Against =
  | { readonly kind: 'settings'; readonly text: string; readonly options: NormalizeOptions }
  | { readonly kind: 'column'; readonly column: string };

export interface BatchDiff {
  readonly name: string;
  /** Tiers that formed the groups. */
  readonly grouping: { readonly before: string; readonly after: string | null };
  readonly report: DiffReport;
  readonly differences: Float64Array;
  readonly recorded: RecordedComparison | null;
  /** What the engine said of both. */
  readonly before: Report;
  readonly after: Report | null;
}

/** @throws UsageError, InputError that name the batch and, where they are of the other settings, these */
export async function diffSettings(
  batch: NamedBatch,
  options: NormalizeOptions,
  against: Extract<Against, { kind: 'settings' }>,
  engine: Engine,
  top: number,
): Promise<BatchDiff> {
  const { name, columns, rows } = batch;
  const first = await inBatch(name, () => prepareBatch(columns, options));
  const before = await inBatch(name, () => engine.normalizePlanned(first, options, true));
  const after = await inBatch(name, () =>
    inSettings(against.text, async () => {
      const shares = planKey(options) === planKey(against.options);
      const prepared = shares ? first : prepareBatch(columns, against.options);
      const result = await engine.normalizePlanned(prepared, against.options, true);
      return { prepared, result };
    }),
  );
  const from = sideOf(first, options, before);
  const to = sideOf(after.prepared, against.options, after.result);
  const plan = referencePlan(from, to);
  const comparison = compare(plan, from.advantages, to.advantages, { top });
  const facts = { name, columns, plan, rows, comparison, before: from, after: to, values: to.advantages };
  const report = reportOf({ ...facts, reasonsOf: (row) => reasonsFor(from, to, row) });
  return {
    name,
    grouping: { before: before.report.grouping_rule, after: after.result.report.grouping_rule },
    report,
    differences: comparison.differences,
    recorded: null,
    before: before.report,
    after: after.result.report,
  };
}

/** @throws UsageError, InputError that name the batch */
export async function diffColumn(
  batch: NamedBatch,
  options: NormalizeOptions,
  column: string,
  engine: Engine,
  top: number,
): Promise<BatchDiff> {
  const { name, columns, rows } = batch;
  const recorded = columns.rowCount === 0 ? new Float64Array(0) : batch.recorded;
  if (recorded === null)
    throw new InputError(
      `${name}: ${column} must hold a recorded advantage, found no number in any row (--against-column)`,
    );
  const prepared = await inBatch(name, () => prepareBatch(columns, options));
  const before = await inBatch(name, () => engine.normalizePlanned(prepared, options, true));
  const own = sideOf(prepared, options, before);
  const { plan } = prepared;
  const values = new Float32Array(recorded);
  const isChange = (mine: number, theirs: number) => isBeyondRounding(theirs, mine);
  const comparison = compare(plan, own.advantages, values, { top, isChange });
  const known = await compareRecorded(column, recorded, own.advantages, columns, options, engine);
  const facts = { name, columns, plan, rows, comparison, before: own, after: null, values };
  const report = reportOf({ ...facts, reasonsOf: (row) => recordedReasons(own, values, row, known.rule) });
  const grouping = { before: before.report.grouping_rule, after: null };
  const differences = comparison.differences;
  return { name, grouping, report, differences, recorded: known, before: before.report, after: null };
}

/** Says in which settings a mistake is. */
export async function inSettings<T>(text: string, run: () => Promise<T> | T): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof InputError)) throw error;
    const Kind = error instanceof UsageError ? UsageError : InputError;
    throw new Kind(`in the settings '${text}': ${error.message}`, { cause: error });
  }
}

async function inBatch<T>(name: string, run: () => Promise<T> | T): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw named(name, error);
  }
}

function sideOf(
  { columns, plan }: PreparedBatch,
  options: NormalizeOptions,
  { advantages, details }: NormalizeResult,
): Side {
  return { columns, plan, settings: checkOptions(options), advantages, details };
}
