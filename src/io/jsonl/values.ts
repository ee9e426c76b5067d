/** Parses the values whose spans the scanner found: numbers, ids, text and masks. */
import { isUtf8 } from 'node:buffer';
import { excerpt, ScanError } from './scan.ts';

/** A JSON number, or NaN, Infinity, -Infinity, rounded once to binary64; 1e999 gives Infinity. */
export function parseNumber(bytes: Uint8Array, start: number, end: number): number {
  const usual = plainDecimal(bytes, start, end);
  if (!Number.isNaN(usual)) return usual;
  const last = bytes[end - 1];
  if (last === LETTER_N || last === LETTER_Y) {
    const special = SPECIAL_NUMBERS.get(latin1(bytes, start, Math.min(end, start + LONGEST_SPECIAL + 1)));
    if (special !== undefined) return special;
  }
  splitNumeral(bytes, start, end, 'a number');
  return Number(latin1(bytes, start, end));
}

/** A count: a whole number from 0 to `most`, however spelled. */
export function parseInteger(
  bytes: Uint8Array,
  start: number,
  end: number,
  most: number = Number.MAX_SAFE_INTEGER,
): number {
  const value = wholeNumber(bytes, start, end);
  if (typeof value === 'number' && value >= 0 && value <= most) return value;
  throw new ScanError(`expected a whole number from 0 to ${most}, found ${excerpt(bytes, start, end)}`, start);
}

/**
 * The exact value of a whole number of any size, however spelled: a number up to 2^53 - 1 in magnitude, else a bigint.
 * Values of more than 1,000 digits are refused, so that a short numeral cannot ask for much time or memory.
 */
export function wholeNumber(bytes: Uint8Array, start: number, end: number): number | bigint {
  const small = plainDigits(bytes, start, end);
  if (small >= 0) return small;
  const { negative, integerStart, integerEnd, fractionEnd } = splitNumeral(bytes, start, end, 'a whole number');
  let first = integerStart;
  while (first < fractionEnd && isZeroOrPoint(bytes[first])) first++;
  if (first === fractionEnd) return 0;
  let last = fractionEnd;
  while (isZeroOrPoint(bytes[last - 1])) last--;
  // The magnitude is the digits in [first..last) times ten to the power of `scale`.
  const pointShift = last <= integerEnd ? integerEnd - last : integerEnd + 1 - last;
  const scale = readExponent(bytes, fractionEnd, end) + pointShift;
  if (scale < 0) throw new ScanError(`expected a whole number, found ${excerpt(bytes, start, end)}`, start);
  const hasPoint = first < integerEnd && integerEnd < last;
  if (last - first - (hasPoint ? 1 : 0) + scale > MOST_DIGITS) {
    throw new ScanError(`whole number has more than 1,000 digits: ${excerpt(bytes, start, end)}`, start);
  }
  const magnitude = BigInt(latin1(bytes, first, last).replace('.', '') + '0'.repeat(scale));
  const value = negative ? -magnitude : magnitude;
  return magnitude <= MAX_SAFE ? Number(value) : value;
}

/** The text of a string, given with its quotes. Escaped lone surrogates stay; bytes that are not UTF-8 are refused. */
export function decodeString(bytes: Uint8Array, start: number, end: number): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString();
  // Decoding turns every bad byte into U+FFFD, which would make different strings equal.
  if (text.includes('\ufffd') && !isUtf8(bytes.subarray(start, end))) {
    throw new ScanError(`string is not valid UTF-8: ${excerpt(bytes, start, end)}`, start);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new ScanError(`string has a bad escape or a control character: ${excerpt(bytes, start, end)}`, start);
  }
}

/** Whether a string must be decoded to be compared: it has an escape, or bytes that decodeString() refuses. */
export function needsDecoding(bytes: Uint8Array, start: number, end: number): boolean {
  let seen = 0;
  for (let i = start; i < end; i++) {
    if (bytes[i] === BACKSLASH) return true;
    seen |= bytes[i];
  }
  return seen > ASCII_BITS && !isUtf8(bytes.subarray(start, end));
}

/** All bits that bytes of ASCII have. */
const ASCII_BITS = 0x7f;

/** Length and sum of a list of 0, 1, true and false, given with its brackets. */
export function countOnes(bytes: Uint8Array, start: number, end: number): { ones: number; length: number } {
  const stride = bytes[start + 3] === SPACE ? 3 : 2;
  // n entries of one digit take n * stride bytes with their separators, of which the last has none.
  const length = (end - start - 2 + stride - 1) / stride;
  if (length >= 1 && Number.isInteger(length)) {
    const ones = stride === 2 ? countCompact(bytes, start + 1, end - 2) : countSpaced(bytes, start + 1, end - 2);
    if (ones >= 0) return { ones, length };
  }
  return countEntries(bytes, start, end);
}

const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const COMMA = 0x2c;
const LETTER_N = 0x4e;
const LETTER_Y = 0x79;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const SPACE = 0x20;
const ZERO = 0x30;

/** Every integer of so many digits is a binary64 value. */
const EXACT_DIGITS = 15;
const MOST_DIGITS = 1000;
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);
const POWERS_OF_TEN = Float64Array.from({ length: EXACT_DIGITS + 1 }, (_, exponent) => 10 ** exponent);
/** Larger in magnitude than any shift that the digits of a line can make up for. */
const HUGE_EXPONENT = 1e12;
const SPECIAL_NUMBERS = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);
const LONGEST_SPECIAL = '-Infinity'.length;

function latin1(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}

function isZeroOrPoint(byte: number): boolean {
  return byte === ZERO || byte === POINT;
}

/** The value of at most 15 digits and nothing else, the usual id; -1 for every other spelling. */
export function plainDigits(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length === 0 || length > EXACT_DIGITS || (bytes[start] === ZERO && length > 1)) return -1;
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = bytes[i] - ZERO;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

/** The value of a sign, at most 15 digits and a point between them, the usual reward; NaN for every other spelling. */
function plainDecimal(bytes: Uint8Array, start: number, end: number): number {
  const negative = bytes[start] === MINUS;
  const first = negative ? start + 1 : start;
  if (end - first > EXACT_DIGITS || first >= end) return Number.NaN;
  let value = 0;
  let point = end;
  for (let i = first; i < end; i++) {
    const digit = bytes[i] - ZERO;
    if (digit >= 0 && digit <= 9) value = value * 10 + digit;
    else if (bytes[i] === POINT && point === end) point = i;
    else return Number.NaN;
  }
  const hasOtherZeros = bytes[first] === ZERO && point > first + 1;
  if (hasOtherZeros || point === first || point === end - 1) return Number.NaN;
  // The digits and the power of ten are both exact, so the one division rounds once.
  const magnitude = point === end ? value : value / POWERS_OF_TEN[end - point - 1];
  return negative ? -magnitude : magnitude;
}

interface Numeral {
  negative: boolean;
  integerStart: number;
  integerEnd: number;
  /** After the fraction, or integerEnd without one; the exponent follows up to the end of the span. */
  fractionEnd: number;
}

const split: Numeral = { negative: false, integerStart: 0, integerEnd: 0, fractionEnd: 0 };

/** Checks the JSON grammar of numbers and notes the parts. The result is valid until the next call. */
function splitNumeral(bytes: Uint8Array, start: number, end: number, what: string): Numeral {
  split.negative = start < end && bytes[start] === MINUS;
  split.integerStart = split.negative ? start + 1 : start;
  const integerEnd = skipDigits(bytes, split.integerStart, end);
  const digitCount = integerEnd - split.integerStart;
  let valid = digitCount === 1 || (digitCount > 1 && bytes[split.integerStart] !== ZERO);
  let position = integerEnd;
  if (position < end && bytes[position] === POINT) {
    position = skipDigits(bytes, integerEnd + 1, end);
    valid &&= position > integerEnd + 1;
  }
  split.integerEnd = integerEnd;
  split.fractionEnd = position;
  if (position < end && (bytes[position] | 0x20) === 0x65) {
    position++;
    if (position < end && (bytes[position] === PLUS || bytes[position] === MINUS)) position++;
    const exponentStart = position;
    position = skipDigits(bytes, exponentStart, end);
    valid &&= position > exponentStart;
  }
  if (!valid || position < end) throw new ScanError(`expected ${what}, found ${excerpt(bytes, start, end)}`, start);
  return split;
}

function skipDigits(bytes: Uint8Array, position: number, end: number): number {
  while (position < end && bytes[position] >= ZERO && bytes[position] <= ZERO + 9) position++;
  return position;
}

/** The exponent part in [start..end), "e" included; 0 without one. */
function readExponent(bytes: Uint8Array, start: number, end: number): number {
  const negative = start + 1 < end && bytes[start + 1] === MINUS;
  let exponent = 0;
  for (let i = start + 1; i < end; i++) {
    const digit = bytes[i] - ZERO;
    if (digit >= 0) exponent = Math.min(exponent * 10 + digit, HUGE_EXPONENT);
  }
  return negative ? -exponent : exponent;
}

/** Ones in "1,0,1" between the first and the last digit; -1 when anything else is there. */
function countCompact(bytes: Uint8Array, first: number, last: number): number {
  let ones = bytes[last] & 1;
  let wrong = (bytes[last] & 0xfe) ^ ZERO;
  for (let i = first; i < last; i += 2) {
    const byte = bytes[i];
    wrong |= ((byte & 0xfe) ^ ZERO) | (bytes[i + 1] ^ COMMA);
    ones += byte & 1;
  }
  return wrong === 0 ? ones : -1;
}

/** The same for "1, 0, 1". */
function countSpaced(bytes: Uint8Array, first: number, last: number): number {
  let ones = bytes[last] & 1;
  let wrong = (bytes[last] & 0xfe) ^ ZERO;
  for (let i = first; i < last; i += 3) {
    const byte = bytes[i];
    wrong |= ((byte & 0xfe) ^ ZERO) | (bytes[i + 1] ^ COMMA) | (bytes[i + 2] ^ SPACE);
    ones += byte & 1;
  }
  return wrong === 0 ? ones : -1;
}

/** Counts entry by entry, whatever the spacing and spelling, and reports what is no entry. */
function countEntries(bytes: Uint8Array, start: number, end: number): { ones: number; length: number } {
  let ones = 0;
  let position = skipSpace(bytes, start + 1, end);
  if (position === end - 1) return { ones: 0, length: 0 };
  for (let length = 1; ; length++) {
    const entryStart = position;
    while (position < end && !endsEntry(bytes[position])) position++;
    ones += zeroOrOne(bytes, entryStart, position, end, length - 1);
    position = skipSpace(bytes, position, end);
    if (position === end - 1 && bytes[position] === CLOSE_LIST) return { ones, length };
    if (position >= end || bytes[position] !== COMMA) throw badEntry(bytes, entryStart, end, length - 1);
    position = skipSpace(bytes, position + 1, end);
  }
}

function zeroOrOne(bytes: Uint8Array, start: number, entryEnd: number, end: number, index: number): number {
  const text = entryEnd - start <= 5 ? latin1(bytes, start, entryEnd) : '';
  if (text === '1' || text === 'true') return 1;
  if (text === '0' || text === 'false') return 0;
  let value: number | bigint = -1;
  try {
    value = wholeNumber(bytes, start, entryEnd);
  } catch {
    // Reported below, with the entry's place.
  }
  if (value !== 0 && value !== 1) throw badEntry(bytes, start, entryEnd > start ? entryEnd : end, index);
  return value;
}

function badEntry(bytes: Uint8Array, start: number, end: number, index: number): ScanError {
  return new ScanError(`entry ${index + 1}: expected 0, 1, true or false, found ${excerpt(bytes, start, end)}`, start);
}

function endsEntry(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_LIST || isSpace(byte);
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

function skipSpace(bytes: Uint8Array, position: number, end: number): number {
  while (position < end && isSpace(bytes[position])) position++;
  return position;
}
