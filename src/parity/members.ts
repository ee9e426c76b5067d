/** The members of a JSON record, and whether two values are the same however they are written. */
import { isUtf8 } from 'node:buffer';
import { InputError } from '../errors.ts';
import { EntrySpans, excerpt, ScanError } from '../io/jsonl/scan.ts';
import { Tokens } from './tokens.ts';
import { exactText, sameText } from './unescaped.ts';

/** Each object in another that has its members in another order is searched again; this bounds how often. */
export const DEEPEST_REORDERED = 2_000;

/**
 * The values by name, of equal names the last. Names are as exactText() gives them.
 * @throws ScanError on what is no JSON object
 */
export function membersOf(record: Buffer): Map<string, Buffer> {
  const members = new Map<string, Buffer>();
  const spans = new EntrySpans();
  const first = record.indexOf(OPEN_OBJECT);
  spans.scan(record, first, record.lastIndexOf(CLOSE_OBJECT) + 1);
  let from = first + 1;
  for (let i = 0; i < spans.count; i++) {
    const [start, end] = [spans.start[i], spans.end[i]];
    const name = record.subarray(record.indexOf(QUOTE, from) + 1, record.lastIndexOf(QUOTE, start - 1));
    members.set(exactText(name), record.subarray(start, end));
    from = end;
  }
  return members;
}

/**
 * Strings by their characters, numbers by their bits (integers by their digits), objects by their members. What JSON does not
 * know is the same where it is spelled the same.
 * @throws InputError where objects with their members in another order are nested too deep
 */
export function sameValue(a: Buffer, b: Buffer): boolean {
  const pairs: Pair[] = [{ a, b, depth: 0 }];
  for (let pair = pairs.pop(); pair; pair = pairs.pop())
    if (!pair.a.equals(pair.b) && !agree(pair, pairs)) return false;
  return true;
}

/** A few characters of two values that differ, as they stand in the records: of long ones from where they differ. */
export function excerptsOf(a: Buffer, b: Buffer): [a: string, b: string] {
  const excerpts: [string, string] = [excerptOf(a), excerptOf(b)];
  if (excerpts[0] !== excerpts[1]) return excerpts;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const from = Math.max(0, at - SHOWN_BEFORE);
  return [a, b].map((value) => {
    const start = characterStart(value, from);
    return `from byte ${start + 1}: ${excerptOf(value.subarray(start), value.length)}`;
  }) as [string, string];
}

/** A few characters of a value as it stands in the record. @param byteLength of what it is the end of */
export function excerptOf(value: Buffer, byteLength = value.length): string {
  if (value.length <= LONGEST_SHOWN) return isUtf8(value) ? value.toString() : excerpt(value, 0, value.length);
  const head = value.subarray(0, characterStart(value, LONGEST_SHOWN));
  return `${isUtf8(head) ? head.toString() : excerpt(head, 0, head.length)}... (${byteLength} bytes)`;
}

function characterStart(value: Buffer, position: number): number {
  let start = position;
  while (start > 0 && (value[start] & 0xc0) === 0x80) start--;
  return start;
}

const SHOWN_BEFORE = 10;
const LONGEST_SHOWN = 60;
const QUOTE = 0x22;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

interface Pair {
  readonly a: Buffer;
  readonly b: Buffer;
  readonly depth: number;
}

/**
 * Token by token. The innermost objects in which tokens differ may have their members in another order: these become pairs.
 * All before was equal, so that a difference in them is one of the whole value.
 */
function agree({ a, b, depth }: Pair, pairs: Pair[]): boolean {
  const [ours, theirs] = [new Tokens(a), new Tokens(b)];
  const ourObjects: number[] = [];
  const theirObjects: number[] = [];
  for (;;) {
    const goesOn = ours.next();
    if (theirs.next() !== goesOn) return false;
    if (!goesOn) return true;
    if (sameToken(ours, theirs)) {
      if (ours.first === OPEN_OBJECT) {
        ourObjects.push(ours.start);
        theirObjects.push(theirs.start);
      } else if (ours.first === CLOSE_OBJECT) {
        ourObjects.pop();
        theirObjects.pop();
      }
      continue;
    }
    const [ourStart, theirStart] = [ourObjects.pop(), theirObjects.pop()];
    if (ourStart === undefined || theirStart === undefined) return false;
    ours.closeObject(ourStart);
    theirs.closeObject(theirStart);
    const objects = [a.subarray(ourStart, ours.end), b.subarray(theirStart, theirs.end)] as const;
    if (!pairMembers(...objects, depth + 1, pairs)) return false;
  }
}

/** False where they have not the same names, or are no objects by the grammar. */
function pairMembers(a: Buffer, b: Buffer, depth: number, pairs: Pair[]): boolean {
  if (depth > DEEPEST_REORDERED)
    throw new InputError(
      `objects that have their members in another order are nested deeper than ${DEEPEST_REORDERED}, which is not compared`,
    );
  const [ours, theirs] = [membersIfObject(a), membersIfObject(b)];
  if (!ours || !theirs || ours.size !== theirs.size) return false;
  for (const [name, value] of ours) {
    const other = theirs.get(name);
    if (!other) return false;
    pairs.push({ a: value, b: other, depth });
  }
  return true;
}

function membersIfObject(value: Buffer): Map<string, Buffer> | null {
  try {
    return membersOf(value);
  } catch (error) {
    if (error instanceof ScanError) return null;
    throw error;
  }
}

function sameToken(a: Tokens, b: Tokens): boolean {
  if (sameBytes(a, b)) return true;
  if (a.first !== b.first) return a.isScalar && b.isScalar && sameNumber(a, b);
  if (a.first === QUOTE)
    return sameText(a.bytes.subarray(a.start + 1, a.end - 1), b.bytes.subarray(b.start + 1, b.end - 1));
  return a.isScalar && b.isScalar && sameNumber(a, b);
}

/** Up to here a loop is faster than a call. */
const SHORT = 32;

function sameBytes(a: Tokens, b: Tokens): boolean {
  const length = a.end - a.start;
  if (length !== b.end - b.start) return false;
  if (length > SHORT) return a.bytes.compare(b.bytes, b.start, b.end, a.start, a.end) === 0;
  for (let i = 0; i < length; i++) if (a.bytes[a.start + i] !== b.bytes[b.start + i]) return false;
  return true;
}

const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const INTEGER = /^-?\d+$/;
/** Longer numerals are the same only where they are spelled the same. */
const LONGEST_NUMERAL = 4096;

/** Of two spellings. What binary64 has no number for is what it is spelled. */
function sameNumber(a: Tokens, b: Tokens): boolean {
  if (a.end - a.start > LONGEST_NUMERAL || b.end - b.start > LONGEST_NUMERAL) return false;
  const [one, other] = [a.text(), b.text()];
  if (!NUMBER.test(one) || !NUMBER.test(other)) return false;
  if (INTEGER.test(one) && INTEGER.test(other)) return false; // of other digits
  const value = Number(one);
  return Number.isFinite(value) && Object.is(value, Number(other));
}
