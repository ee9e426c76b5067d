/** The names at the top level of a record, for a message about a layout that does not fit. */
import { EntrySpans } from './scan.ts';

const MOST_NAMES = 40;

/** In the order of the record; names whose escapes are broken are left out. */
export function memberNames(bytes: Uint8Array, start: number, end: number): string[] {
  let first = start;
  while (bytes[first] !== OPEN_OBJECT) first++;
  let last = end;
  while (bytes[last - 1] !== CLOSE_OBJECT) last--;
  const members = new EntrySpans();
  members.scan(bytes, first, last);
  const names: string[] = [];
  let from = first + 1;
  for (let i = 0; i < Math.min(members.count, MOST_NAMES); i++) {
    const before = Buffer.from(bytes.buffer, bytes.byteOffset + from, members.start[i] - from).toString();
    const name = /"(?:[^"\\]|\\.)*"/.exec(before)?.[0];
    if (name !== undefined) names.push(parsed(name));
    from = members.end[i];
  }
  return names;
}

const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function parsed(name: string): string {
  try {
    return JSON.parse(name);
  } catch {
    return name;
  }
}
