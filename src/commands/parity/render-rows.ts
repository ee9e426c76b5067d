/** What `rollnorm parity --rows` prints. */
import type { RecordingComparison } from '../../parity/recordings.ts';
import { printableLine } from '../printable.ts';

export interface RowsComparison extends RecordingComparison {
  /** Whether the fields that are no columns of rollnorm were compared. */
  readonly other_fields: 'compared' | 'not compared';
  /** Why they were not. */
  readonly other_fields_reason: string | null;
}

export function describeRecordings(comparison: RowsComparison): string {
  const { rows, compared, differing, examples, other_fields_reason: reason } = comparison;
  const counts = Object.entries(differing);
  const lines = [`${rows[0]} and ${rows[1]} rows, ${compared} compared`];
  for (const [field, count] of counts) {
    lines.push(`${field}: ${count} ${count === 1 ? 'row differs' : 'rows differ'}`);
    for (const { rowA, rowB, a, b } of examples.filter((example) => example.field === field))
      lines.push(`  row ${rowA ?? '-'} and row ${rowB ?? '-'}: ${a} against ${b}`);
  }
  if (reason !== null) lines.push(`other fields were not compared: ${reason}`);
  const isEqual = counts.length === 0;
  lines.push(isEqual ? `equal${reason === null ? '' : ' in what was compared'}` : 'NOT EQUAL');
  return `${lines.map(printableLine).join('\n')}\n`;
}
