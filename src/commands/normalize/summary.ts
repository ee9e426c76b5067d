/** What a run says of itself: of one file, of each of several, and of all together. */
import type { Report } from '../../report.ts';
import { packageVersion } from '../../version.ts';
import type { WarningCode } from '../../warnings.ts';
import { printable } from '../printable.ts';
import type { MergedIds } from './merged-ids.ts';
import { addPlaces, describePlace, type Placed } from './places.ts';
import type { RecordedComparison } from './recorded.ts';
import type { Dropped } from './row-facts.ts';

export interface Seconds {
  readonly read: number;
  readonly plan: number;
  readonly compute: number;
  readonly write: number;
}

/** What batches have in common, and their counts together. */
export type TotalReport = Omit<Report, keyof Placed> & Placed;

export type FileSummary = Omit<TotalReport, 'seconds'> & {
  readonly file: string;
  readonly output: string | null;
  readonly batches: number;
  readonly preset: string;
  readonly recorded?: RecordedComparison;
  /** Rows that were left out, where any were to be. */
  readonly dropped?: Dropped;
  /** The conditions that failed, as they were given, where there are any. */
  readonly failed_on?: readonly string[];
  /** Of files that are one batch. */
  readonly merged_ids?: MergedIds;
  readonly seconds: Seconds;
};

/** Counts of several reports added up; the rule is that of all. */
export function addReports(reports: readonly (Report | TotalReport)[]): TotalReport {
  const [first] = reports;
  if (reports.length === 1) return { ...first, ...addPlaces(reports) };
  const sum = (of: (report: Report | TotalReport) => number) =>
    reports.reduce((total, report) => total + of(report), 0);
  const excluded: Record<string, number> = {};
  for (const report of reports)
    for (const [reason, count] of Object.entries(report.excluded)) excluded[reason] = (excluded[reason] ?? 0) + count;
  const weakest = reports.reduce((a, b) => (b.grouping > a.grouping ? b : a));
  return {
    ...first,
    rows: sum(({ rows }) => rows),
    rollouts: sum(({ rollouts }) => rollouts),
    groups: sum(({ groups }) => groups),
    grouping: weakest.grouping,
    grouping_rule: weakest.grouping_rule,
    siblings: {
      ...first.siblings,
      multi_row: sum(({ siblings }) => siblings.multi_row),
      disagreeing: sum(({ siblings }) => siblings.disagreeing),
      examples: reports.flatMap(({ siblings }) => siblings.examples).slice(0, EXAMPLES),
    },
    flat_groups: sum(({ flat_groups }) => flat_groups),
    singleton_groups: sum(({ singleton_groups }) => singleton_groups),
    empty_groups: sum(({ empty_groups }) => empty_groups),
    unscaled_groups: sum(({ unscaled_groups }) => unscaled_groups),
    not_positive_groups: sum(({ not_positive_groups }) => not_positive_groups),
    counted_rollouts: sum(({ counted_rollouts }) => counted_rollouts),
    doubtful_representatives: sum(({ doubtful_representatives }) => doubtful_representatives),
    excluded,
    ...warningsOfAll(reports),
    ...addPlaces(reports),
    seconds: { plan: sum(({ seconds }) => seconds.plan), compute: sum(({ seconds }) => seconds.compute) },
  };
}

const EXAMPLES = 5;

/** A report with what was noticed before its batch was computed. */
export function withWarnings(report: TotalReport, texts: readonly string[]): TotalReport {
  const warning_codes = [...texts.map(() => 'input' as const), ...report.warning_codes];
  return { ...report, warnings: [...texts, ...report.warnings], warning_codes };
}

/** Each text once. */
function warningsOfAll(
  reports: readonly Pick<Report, 'warnings' | 'warning_codes'>[],
): Pick<Report, 'warnings' | 'warning_codes'> {
  const codes = new Map<string, WarningCode>();
  for (const { warnings, warning_codes } of reports)
    for (const [i, text] of warnings.entries()) codes.set(text, warning_codes[i]);
  return { warnings: [...codes.keys()], warning_codes: [...codes.values()] };
}

export interface Failure {
  readonly file: string;
  readonly error: string;
}

/** The summary file: of one file its own; of several their sum, each one's, and what failed. */
export function summarize(
  files: readonly FileSummary[],
  failures: readonly Failure[],
  skipped: readonly string[],
  isOne: boolean,
): unknown {
  const version = packageVersion();
  if (isOne && files.length === 1) {
    const { file: _file, output: _output, ...rest } = files[0];
    return { ...rest, version };
  }
  const total = files.length > 0 ? addReports(files.length > 1 ? files.map(withFile) : files) : null;
  const seconds = total && {
    read: files.reduce((sum, file) => sum + file.seconds.read, 0),
    ...total.seconds,
    write: files.reduce((sum, file) => sum + file.seconds.write, 0),
  };
  const ofFiles = {
    batches: files.reduce((sum, { batches }) => sum + batches, 0),
    dropped: addDropped(files),
    failed_on: allFailedOn(files),
  };
  const totals = total && { ...total, file: undefined, output: undefined, recorded: undefined, ...ofFiles, seconds };
  return { ...totals, files, failures, skipped, version };
}

/** Examples of several files say which is theirs. */
function withFile(summary: FileSummary): FileSummary {
  const { file, siblings } = summary;
  return {
    ...summary,
    siblings: { ...siblings, examples: siblings.examples.map((example) => ({ file, ...example })) },
  };
}

function addDropped(files: readonly FileSummary[]): Dropped | undefined {
  const own = files.flatMap(({ dropped }) => (dropped ? [dropped] : []));
  if (own.length === 0) return undefined;
  return own.reduce((a, b) => ({ flat: a.flat + b.flat, excluded: a.excluded + b.excluded }));
}

/** Each condition once. */
function allFailedOn(files: readonly FileSummary[]): string[] | undefined {
  return files[0]?.failed_on && [...new Set(files.flatMap(({ failed_on }) => failed_on ?? []))];
}

export function describeWarnings(warnings: readonly string[], file?: string): string {
  const name = file === undefined ? '' : `${file}: `;
  const shown = warnings.slice(0, WARNINGS_SHOWN).map((text) => `rollnorm: warning: ${name}${printable(text)}\n`);
  const more = warnings.length - shown.length;
  if (more > 0) shown.push(`rollnorm: warning: ${name}and ${more} more of other batches (--summary has them all)\n`);
  return shown.join('');
}

/** A file that is split into batches may have one of a kind for each. */
const WARNINGS_SHOWN = 20;

/** One line that says what was done and where. */
export function describeRun(summary: FileSummary, file?: string): string {
  const { rows, rollouts, groups, grouping, grouping_rule, estimator, seconds, backends, backend_reason } = summary;
  const place = backends.map(describePlace).join(' and ');
  const time = seconds.read + seconds.plan + seconds.compute + seconds.write;
  const counts = `${rows} rows, ${rollouts} rollouts, ${groups} prompt groups`;
  const name = file === undefined ? '' : `${file}: `;
  return `rollnorm: ${name}${counts} by ${grouping_rule} (tier ${grouping}); ${estimator} on ${place} (${backend_reason}); ${time.toFixed(2)} s\n`;
}

/** Empty where no id is shared. */
export function describeMerged({ group_index: groups, rollout_id: rollouts }: MergedIds): string {
  if (groups === 0 && rollouts === 0) return '';
  return `rollnorm: ${groups} group ids and ${rollouts} rollout ids occur in more than one file and are each one group or rollout\n`;
}

export function describeRecorded(comparison: RecordedComparison): string {
  const { column, not_finite: notFinite } = comparison;
  const apart = notFinite > 0 ? `; ${notFinite} of them are not finite and were not compared` : '';
  return `rollnorm: the advantages that the file carries (${column}) ${describeDifference(comparison)}${apart}\n`;
}

function describeDifference({ rows, largest_difference, differing, rule }: RecordedComparison): string {
  if (rows === 0) return 'say nothing';
  if (differing === 0) return 'agree with ours';
  const explained = rule === null ? 'no known rule gives them' : `they are ${rule}`;
  return `differ from ours in ${differing} of ${rows} rows, by ${largest_difference.toPrecision(3)} at most; ${explained}`;
}

export function describeDropped({ flat, excluded }: Dropped, file?: string): string {
  const name = file === undefined ? '' : `${file}: `;
  return `rollnorm: ${name}left out ${flat} rows of flat groups and ${excluded} of excluded rollouts\n`;
}
