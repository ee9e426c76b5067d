/** A comparison as text for people. */

import { short } from '../../diff/numbers.ts';
import type { DiffReport, ReportedChange, ReportedGroup } from '../../diff/report.ts';
import { describeSettings, type SettingDifference, type SettingsInWords } from '../../diff/settings.ts';
import { printable } from '../printable.ts';
import type { BatchDiff } from './pair.ts';

export interface Compared {
  readonly before: SettingsInWords;
  /** Null: a recorded column. */
  readonly after: SettingsInWords | null;
  /** How the other was asked for. */
  readonly against: string;
  readonly differing: readonly SettingDifference[];
}

export function renderDiff(compared: Compared, batches: readonly BatchDiff[], total: DiffReport): string {
  const lines = [...renderSettings(compared), ''];
  const [first] = batches;
  const title = batches.length === 1 ? `${first.name}, ${tiersOf(first)}` : `total of ${batches.length} batches`;
  if (batches.length > 1) lines.push(...renderBatches(batches), '');
  lines.push(title, ...indented(renderCounts(total, compared.after === null)));
  if (batches.length === 1) lines.push(...indented(renderRecorded(first)));
  const several = batches.length > 1;
  if (total.largest.length > 0) lines.push('', 'largest changes', ...indented(renderChanges(total.largest, several)));
  if (total.by_group.length > 0)
    lines.push('', 'groups that change most', ...indented(renderGroups(total.by_group, several)));
  return `${lines.map(printable).join('\n')}\n`;
}

function renderSettings({ before, after, against, differing }: Compared): string[] {
  const lines = [`before   ${describeSettings(before)}`];
  lines.push(`after    ${after === null ? against : `${describeSettings(after)}  (${against})`}`);
  if (after === null) return lines;
  if (differing.length === 0) return [...lines, 'differ   in nothing'];
  const names = differing.map(({ setting }) => setting.length);
  for (const [i, { setting, before: from, after: to }] of differing.entries())
    lines.push(`${i === 0 ? 'differ ' : '       '}  ${setting.padEnd(Math.max(...names))}  ${from} -> ${to}`);
  return lines;
}

function renderBatches(batches: readonly BatchDiff[]): string[] {
  const head = ['batch', 'rows', 'changed', 'rollouts', 'changed', 'sign', 'mean', 'largest'];
  const rows = batches.map(({ name, report: { compared, changed, signs, difference } }) => [
    name,
    ...[compared.rows, changed.rows, compared.rollouts, changed.rollouts, signs.flipped.rows].map(String),
    ...[difference.mean, difference.largest].map(short),
  ]);
  return columns(head, rows, [0]);
}

const tiersOf = ({ grouping: { before, after } }: BatchDiff) =>
  after === null || after === before ? `groups by ${before}` : `groups by ${before} before, by ${after} after`;

function renderCounts(report: DiffReport, isRecorded: boolean): string[] {
  const { compared, changed, not_compared, rounding_rows, signs, difference } = report;
  const { missing, not_finite: notFinite } = not_compared;
  const lines = [`compared    ${compared.rows} rows, ${compared.rollouts} rollouts, ${compared.groups} groups`];
  if (isRecorded && missing > 0) lines.push(`left out    ${missing} rows without a recorded number`);
  if (notFinite > 0) lines.push(`not finite  ${notFinite} rows, compared to nothing and past every limit`);
  const share = compared.rows === 0 ? '' : ` (${short((100 * changed.rows) / compared.rows)} %)`;
  lines.push(`changed     ${changed.rows} rows${share}, ${changed.rollouts} rollouts, ${changed.groups} groups`);
  if (isRecorded) lines.push(`rounding    ${rounding_rows} rows differ by no more than binary32 arithmetic explains`);
  const sign = ({ rows, rollouts }: { rows: number; rollouts: number }) => `${rows} rows (${rollouts} rollouts)`;
  lines.push(
    `sign        changes in ${sign(signs.flipped)}; 0 becomes another in ${sign(signs.from_zero)}, another 0 in ${sign(signs.to_zero)}`,
  );
  const { mean, median, p90, largest } = difference;
  lines.push(
    `difference  mean ${short(mean)}, median ${short(median)}, 90 % ${short(p90)}, largest ${short(largest)} (absolute, of changed rows)`,
  );
  return lines;
}

function renderRecorded({ recorded }: BatchDiff): string[] {
  if (recorded === null) return [];
  const { rule } = recorded;
  return [`known rule  ${rule === null ? 'none gives what the file carries' : rule}`];
}

function renderChanges(changes: readonly ReportedChange[], several: boolean): string[] {
  const head = ['row', 'rollout', 'rows', 'group', 'before', 'after', 'change'];
  const rows = changes.map(({ row, rollout, rollout_rows, group, before, after, change }) => [
    String(row),
    cut(rollout ?? '-'),
    String(rollout_rows),
    cut(group),
    signed(before),
    signed(after),
    signed(change),
  ]);
  const [title, ...lines] = columns(head, rows, [1, 3]);
  const why = changes.map(({ reasons, batch }) => {
    const text = reasons.map((reason) => reason.text).join('; ');
    return several ? `${batch}: ${text}` : text;
  });
  return [title, ...lines.flatMap((line, i) => (why[i] === why[i - 1] ? [line] : [line, `    ${why[i]}`]))];
}

function renderGroups(groups: readonly ReportedGroup[], several: boolean): string[] {
  const head = ['rows', 'changed', 'rollouts', 'mean', 'largest', 'baseline', 'then', 'group'];
  const rows = groups.map((entry) => [
    ...[entry.rows, entry.changed_rows, entry.rollouts].map(String),
    ...[entry.mean_change, entry.largest_change].map(short),
    ...[entry.baseline.before, entry.baseline.after].map((value) => (value === null ? '-' : short(value))),
    several ? `${entry.batch}: ${entry.group}` : entry.group,
  ]);
  return columns(head, rows, [7]);
}

/** Padded to the widest cell. @param left columns that are aligned to the left */
function columns(head: readonly string[], rows: readonly (readonly string[])[], left: readonly number[]): string[] {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i].length)));
  const pad = (cell: string, i: number) => (left.includes(i) ? cell.padEnd(widths[i]) : cell.padStart(widths[i]));
  return [head, ...rows].map((row) => row.map(pad).join('  ').trimEnd());
}

const indented = (lines: readonly string[]) => lines.map((line) => `  ${line}`);
const signed = (value: number) => `${value > 0 ? '+' : ''}${Number(value.toPrecision(6))}`;

const WIDEST = 40;
const cut = (text: string) => (text.length > WIDEST ? `${text.slice(0, WIDEST - 3)}...` : text);
