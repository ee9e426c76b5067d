/** Writes a row's own bytes back with fields added before its last brace, and old members of the same names removed. */

import type { LineBuffer } from './line-buffer.ts';
import type { Occurrences } from './scan.ts';

/**
 * Appends the row in bytes[start..end) with `suffix` before its closing brace, and a line feed. The row must have passed
 * scanObject: then the brace is the last byte that is not white space, and no scan is needed to find it.
 */
export function augmentLine(
  bytes: Uint8Array,
  start: number,
  end: number,
  suffix: LineBuffer,
  out: LineBuffer,
  removed: Occurrences | null,
): void {
  const brace = lastNonSpace(bytes, end - 1);
  // The byte before the brace of an object with members is never an opening brace.
  let isEmpty = bytes[lastNonSpace(bytes, brace - 1)] === OPEN_OBJECT;
  if (removed === null || removed.count === 0) {
    out.append(bytes, start, brace);
  } else {
    isEmpty = appendWithoutMembers(bytes, start, brace, out, removed);
  }
  if (!isEmpty) {
    out.appendByte(COMMA);
    out.appendByte(SPACE);
  }
  out.appendAll(suffix);
  out.append(bytes, brace, end);
  out.appendByte(LINE_FEED);
}

const LINE_FEED = 0x0a;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const SPACE = 0x20;
/** Copies [start..brace) less the removed members and their commas; returns whether no member is left. */
function appendWithoutMembers(
  bytes: Uint8Array,
  start: number,
  brace: number,
  out: LineBuffer,
  removed: Occurrences,
): boolean {
  let copied = start;
  let isEmpty = false;
  for (let i = 0; i < removed.count; i++) {
    const runStart = removed.start[i];
    let next = firstNonSpace(bytes, removed.end[i]);
    // Neighbours go as one run, so that the comma before a run at the end is found in the text that stays.
    while (bytes[next] === COMMA && i + 1 < removed.count && firstNonSpace(bytes, next + 1) === removed.start[i + 1]) {
      i++;
      next = firstNonSpace(bytes, removed.end[i]);
    }
    if (bytes[next] === COMMA) {
      out.append(bytes, copied, runStart);
      copied = firstNonSpace(bytes, next + 1);
    } else {
      const before = lastNonSpace(bytes, runStart - 1);
      isEmpty = bytes[before] === OPEN_OBJECT;
      out.append(bytes, copied, isEmpty ? runStart : before);
      copied = removed.end[i];
    }
  }
  out.append(bytes, copied, brace);
  return isEmpty;
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

function firstNonSpace(bytes: Uint8Array, position: number): number {
  while (isSpace(bytes[position])) position++;
  return position;
}

function lastNonSpace(bytes: Uint8Array, position: number): number {
  while (isSpace(bytes[position])) position--;
  return position;
}
