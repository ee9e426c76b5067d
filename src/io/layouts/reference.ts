/** How a layout names a value inside a record: `reward`, `data.reward`, `rewards.0`, `traces[].reward`, `nodes.*.mask`. */
import { UsageError } from '../../errors.ts';

/** A step from a value into it: a member's name, an entry's number, each entry as a row, or all entries in one. */
export type Step = string | number | typeof EACH_ROW | typeof ALL;

/** `[]`: every entry of the list is a row of its own. */
export const EACH_ROW = '[]';
/** `.*`: the entries of the list, or the members of the object, taken together. */
export const ALL = '.*';

/** The place of a record among all, and of an entry in the list whose entries are rows. */
export const RECORD_NUMBER = '#record';
export const ENTRY_NUMBER = '#entry';

export interface Reference {
  /** As it was written. */
  readonly text: string;
  readonly steps: readonly Step[];
}

/** `a\\.b` is one name with a point in it; digits after a point are the number of an entry, from 0. */
export function parseReference(text: string): Reference {
  const steps: Step[] = [];
  for (const part of splitUnescaped(text, '.')) {
    const each = part.endsWith(EACH_ROW);
    const name = each ? part.slice(0, -EACH_ROW.length) : part;
    if (name === '') throw new UsageError(`'${text}' names no column: a part of it is empty`);
    if (name === '*' && steps.length > 0) steps.push(ALL);
    else if (/^\d+$/.test(name) && steps.length > 0) steps.push(Number(name));
    else steps.push(name.replaceAll('\\', ''));
    if (each) steps.push(EACH_ROW);
  }
  const rows = steps.indexOf(EACH_ROW);
  if (rows >= 0 && steps.indexOf(EACH_ROW, rows + 1) >= 0)
    throw new UsageError(`'${text}' makes rows of lists in lists; one [] at most`);
  const all = steps.indexOf(ALL);
  if (all >= 0 && (steps.indexOf(ALL, all + 1) >= 0 || rows > all))
    throw new UsageError(`'${text}' takes entries of entries together; one .* at most, and no [] after it`);
  return { text, steps };
}

/** Columns joined by `+`, with `\\+` for a plus that is part of a name. */
export function splitJoined(text: string): string[] {
  return splitUnescaped(text, '+');
}

/** Whether every entry of a list becomes a row. */
export function makesRows(reference: Reference): boolean {
  return reference.steps.includes(EACH_ROW);
}

function splitUnescaped(text: string, separator: string): string[] {
  const parts = [''];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\' && i + 1 < text.length) parts[parts.length - 1] += `\\${text[++i]}`;
    else if (text[i] === separator) parts.push('');
    else parts[parts.length - 1] += text[i];
  }
  return parts;
}
