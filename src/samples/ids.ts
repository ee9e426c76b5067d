/** Turns ids of any kind (whole numbers of any size, strings) into u32 codes: equal codes exactly where the ids are equal. */
import { InputError } from '../errors.ts';

/** The code of an absent id. */
export const NO_ID = 0xffffffff;

/** Codes below this are offsets from the first integer met; codes from here on number the dictionary's entries. */
const FIRST_DICTIONARY_CODE = 0x80000000;
const OFFSET_HALF_RANGE = 0x40000000;
/** Integers past this, in either direction, could not be a base. */
const LARGEST_BASED = Number.MAX_SAFE_INTEGER - OFFSET_HALF_RANGE;
const TWO_32 = 2 ** 32;

const TEXT = 0;
const INTEGER = 1;
/** Ids of several columns: their parts, each framed by kind and length. */
const JOINED = 2;
const KIND_BITS = 2;

/** An id as a caller gives it: a whole number, or a string compared by its exact characters. */
export type Id = number | bigint | string;

/**
 * Codes one key space. Integers near the first one met need no table: their code is their distance. Everything else is
 * interned by its exact bytes, so no two ids ever share a code.
 */
export class IdCoder {
  #base: number | null = null;
  readonly #sharedBase: SharedBase | null;
  #entries = new EntryTable();

  /** @param sharedBase where coders, in whatever threads, agree on one base, so that their offsets are the same codes */
  constructor(sharedBase: SharedBase | null = null) {
    this.#sharedBase = sharedBase;
  }

  /** Value of offset code 0; null where no integer has been met. */
  get base(): number | null {
    return this.#base;
  }

  /** Code of an integer; `value` must be whole. */
  codeOfInteger(value: number | bigint): number {
    if (typeof value === 'bigint') {
      const small = Number(value);
      if (!Number.isSafeInteger(small)) return this.#intern(INTEGER, encodeText(value.toString()));
      value = small;
    }
    // An integer that could not be a base must never get an offset either, or it would have two codes.
    if (Math.abs(value) <= LARGEST_BASED) {
      this.#base ??= claimBase(this.#sharedBase, value - OFFSET_HALF_RANGE);
      const offset = value - this.#base;
      if (offset >= 0 && offset < FIRST_DICTIONARY_CODE) return offset;
    }
    return this.#intern(INTEGER, encodeText((value + 0).toString()));
  }

  /** Codes of integers; NO_ID where `present` is 0. 64-bit ones go by their halves: a bigint a row would be an allocation a row. */
  codesOfIntegers(
    column: Int32Array | Uint32Array | BigInt64Array | BigUint64Array,
    present: Uint8Array | null = null,
  ): Uint32Array {
    const codes = new Uint32Array(column.length);
    if (column instanceof Int32Array || column instanceof Uint32Array) this.#codeNarrow(column, present, codes);
    else this.#codeWide(column, present, codes);
    if (present !== null) for (let row = 0; row < codes.length; row++) if (present[row] === 0) codes[row] = NO_ID;
    return codes;
  }

  #codeNarrow(column: Int32Array | Uint32Array, present: Uint8Array | null, codes: Uint32Array): void {
    let base = this.#base ?? Number.NaN;
    let lastRow = -1;
    for (let row = 0; row < codes.length; row++) {
      const offset = column[row] - base;
      if (offset >= 0 && offset < FIRST_DICTIONARY_CODE) {
        codes[row] = offset;
        continue;
      }
      if (present !== null && present[row] === 0) continue;
      const isRepeated = lastRow >= 0 && column[row] === column[lastRow];
      codes[row] = isRepeated ? codes[lastRow] : this.codeOfInteger(column[row]);
      base = this.#base ?? Number.NaN;
      lastRow = row;
    }
  }

  #codeWide(column: BigInt64Array | BigUint64Array, present: Uint8Array | null, codes: Uint32Array): void {
    const halves = new Int32Array(column.buffer, column.byteOffset, column.length * 2);
    const isSigned = column instanceof BigInt64Array;
    let lastRow = -1;
    for (let row = 0; row < codes.length; row++) {
      row = codeOffsets(halves, this.#offsetRange(isSigned), codes, row);
      if (row === codes.length || (present !== null && present[row] === 0)) continue;
      const low = halves[2 * row];
      const high = halves[2 * row + 1];
      if (lastRow < 0 || low !== halves[2 * lastRow] || high !== halves[2 * lastRow + 1]) {
        const value = (isSigned ? high : high >>> 0) * TWO_32 + (low >>> 0);
        codes[row] = this.codeOfInteger(Number.isSafeInteger(value) ? value : column[row]);
      } else codes[row] = codes[lastRow];
      lastRow = row;
    }
  }

  /** Halves of the base, and the offsets from it that are codes; none while there is no base. */
  #offsetRange(isSigned: boolean): OffsetRange {
    const base = this.#base;
    if (base === null) return { low: 0, high: 0, from: 0, to: 0 };
    // Of unsigned integers none is below zero: what would be has a high half that means another.
    const from = Math.max(0, (isSigned ? -LARGEST_BASED : 0) - base);
    const to = Math.min(FIRST_DICTIONARY_CODE, LARGEST_BASED - base + 1);
    return { low: base | 0, high: Math.floor(base / TWO_32) | 0, from, to };
  }

  /** Code of a string given as the bytes [start, end) of its UTF-8 form. */
  codeOfBytes(bytes: Uint8Array, start = 0, end = bytes.length): number {
    return this.#entries.intern(TEXT, bytes, start, end) + FIRST_DICTIONARY_CODE;
  }

  /** Code of an id that JavaScript holds as a value. */
  codeOf(id: Id): number {
    return typeof id === 'string' ? this.codeOfBytes(encodeText(id)) : this.codeOfInteger(id);
  }

  /** Code of an id that several columns make together; equal exactly where all parts are. */
  codeOfParts(parts: readonly Id[]): number {
    return this.#intern(JOINED, joinParts(parts));
  }

  /** The id as JSON: digits, a quoted string, or a list of such; a message shows it so too. `none` where absent. */
  describe(code: number): string {
    if (code === NO_ID) return 'none';
    if (code < FIRST_DICTIONARY_CODE) return String((this.#base ?? 0) + code);
    const { kind, bytes } = this.#entries.read(code - FIRST_DICTIONARY_CODE);
    return spell(kind, bytes);
  }

  /** The integer of a code where it is one within 64 bits; undefined for anything else. */
  integerOf(code: number): number | bigint | undefined {
    if (code < FIRST_DICTIONARY_CODE) return (this.#base ?? 0) + code;
    if (code === NO_ID) return undefined;
    const { kind, bytes } = this.#entries.read(code - FIRST_DICTIONARY_CODE);
    return kind === INTEGER ? BigInt(decodeText(bytes)) : undefined;
  }

  /** The integers of codes that are offsets, 0 for NO_ID; null where any is not. */
  integersOf(codes: Uint32Array): BigInt64Array | null {
    const values = new BigInt64Array(codes.length);
    const halves = new Uint32Array(values.buffer);
    const base = this.#base ?? 0;
    for (let row = 0; row < codes.length; row++) {
      const code = codes[row];
      if (code === NO_ID) continue;
      if (code >= FIRST_DICTIONARY_CODE) return null;
      const value = base + code;
      halves[2 * row] = value;
      halves[2 * row + 1] = Math.floor(value / TWO_32);
    }
    return values;
  }

  /** The id as plain text: digits, the string itself, or the JSON of a list. */
  text(code: number): string {
    if (code < FIRST_DICTIONARY_CODE || code === NO_ID) return this.describe(code);
    const { kind, bytes } = this.#entries.read(code - FIRST_DICTIONARY_CODE);
    return kind === TEXT ? decodeText(bytes) : spell(kind, bytes);
  }

  /** What codes mean, as data that another thread's coder can take in. */
  snapshot(): IdDictionary {
    return { base: this.#base, ...this.#entries.flatten() };
  }

  /** Turns codes of another coder into codes of this one, in place. */
  translate(codes: Uint32Array, dictionary: IdDictionary): void {
    const { base, kinds } = dictionary;
    const translated = new Uint32Array(kinds.length);
    for (let entry = 0; entry < kinds.length; entry++) translated[entry] = this.#codeOfEntry(dictionary, entry);
    if (base !== null && this.#base === null) this.#base = base;
    if (kinds.length === 0 && (base === null || base === this.#base)) return;
    const shift = (base ?? 0) - (this.#base ?? 0);
    for (let row = 0; row < codes.length; row++) {
      const code = codes[row];
      if (code === NO_ID) continue;
      if (code >= FIRST_DICTIONARY_CODE) codes[row] = translated[code - FIRST_DICTIONARY_CODE];
      else if (shift !== 0) {
        const moved = code + shift;
        const near = moved >= 0 && moved < FIRST_DICTIONARY_CODE;
        codes[row] = near ? moved : this.codeOfInteger(base! + code);
      }
    }
  }

  #codeOfEntry({ kinds, bytes, offsets }: IdDictionary, entry: number): number {
    const text = bytes.subarray(offsets[entry], offsets[entry + 1]);
    if (kinds[entry] === INTEGER) return this.codeOfInteger(BigInt(decodeText(text)));
    return this.#intern(kinds[entry], text);
  }

  #intern(kind: number, bytes: Uint8Array): number {
    return this.#entries.intern(kind, bytes, 0, bytes.length) + FIRST_DICTIONARY_CODE;
  }
}

/** Halves of a base, and the offsets from it that are codes. */
interface OffsetRange {
  readonly low: number;
  readonly high: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Codes of 64-bit integers, given as halves, up to the first whose code is no offset; returns its row. Offsets are taken
 * modulo 2^32: of the integers with the same low half, the one in the range of offsets is the one whose high half is the
 * base's, or the next where the low half has passed the base's.
 */
function codeOffsets(
  halves: Int32Array,
  { low, high, from, to }: OffsetRange,
  codes: Uint32Array,
  row: number,
): number {
  for (; row < codes.length; row++) {
    const offset = (halves[2 * row] - low) >>> 0;
    const carry = halves[2 * row] >>> 0 < low >>> 0 ? 1 : 0;
    if (halves[2 * row + 1] !== ((high + carry) | 0) || offset < from || offset >= to) return row;
    codes[row] = offset;
  }
  return row;
}

/** A number that threads share: the base of the coders that have it, once one of them has met an integer. */
export type SharedBase = BigInt64Array<SharedArrayBuffer>;

const UNCLAIMED = -(2n ** 63n);

/** @param base that is known already; null: the first coder to need one chooses it */
export function newSharedBase(base: number | null): SharedBase {
  return new BigInt64Array(new SharedArrayBuffer(8)).fill(base === null ? UNCLAIMED : BigInt(base));
}

function claimBase(shared: SharedBase | null, wanted: number): number {
  if (shared === null) return wanted;
  const before = Atomics.compareExchange(shared, 0, UNCLAIMED, BigInt(wanted));
  return before === UNCLAIMED ? wanted : Number(before);
}

/** The entries of a coder in the order of their codes, flat. */
export interface IdDictionary {
  /** Value of offset code 0; null where no integer has been met. */
  readonly base: number | null;
  readonly kinds: Uint8Array;
  /** Entry i is bytes[offsets[i] .. offsets[i + 1]). */
  readonly bytes: Uint8Array;
  readonly offsets: Float64Array;
}

const utf8 = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const strictDecoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

/** What encodeText() has encoded, exactly; of other bytes that are not UTF-8 each is U+FFFD, as decoders do. */
function decodeText(bytes: Uint8Array): string {
  const text = decoder.decode(bytes);
  return text.includes('\ufffd') && !isUtf8(bytes) ? decodeSurrogates(bytes) : text;
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    strictDecoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Lone surrogates have three bytes of their own, which no decoder takes. */
function decodeSurrogates(bytes: Uint8Array): string {
  let text = '';
  let from = 0;
  for (let at = 0; at + 2 < bytes.length; at++) {
    if (bytes[at] !== 0xed || bytes[at + 1] < 0xa0) continue;
    text += decoder.decode(bytes.subarray(from, at));
    text += String.fromCharCode(0xd000 | ((bytes[at + 1] & 63) << 6) | (bytes[at + 2] & 63));
    at += 2;
    from = at + 1;
  }
  return text + decoder.decode(bytes.subarray(from));
}

const PART_HEADER_BYTES = 5;

function joinParts(parts: readonly Id[]): Uint8Array {
  const encoded = parts.map((part) => encodeText(String(part)));
  const joined = new Uint8Array(encoded.reduce((sum, { length }) => sum + PART_HEADER_BYTES + length, 0));
  const view = new DataView(joined.buffer);
  let at = 0;
  for (let i = 0; i < parts.length; i++) {
    joined[at] = typeof parts[i] === 'string' ? TEXT : INTEGER;
    view.setUint32(at + 1, encoded[i].length);
    joined.set(encoded[i], at + PART_HEADER_BYTES);
    at += PART_HEADER_BYTES + encoded[i].length;
  }
  return joined;
}

function spell(kind: number, bytes: Uint8Array): string {
  if (kind !== JOINED) return kind === INTEGER ? decodeText(bytes) : JSON.stringify(decodeText(bytes));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + PART_HEADER_BYTES + view.getUint32(at + 1);
    parts.push(spell(bytes[at], bytes.subarray(at + PART_HEADER_BYTES, end)));
    at = end;
  }
  return `[${parts.join(', ')}]`;
}

/** UTF-8 of a string; lone surrogates keep their own three bytes, so that different strings never get equal bytes. */
export function encodeText(text: string): Uint8Array {
  if (text.isWellFormed()) return utf8.encode(text);
  const bytes: number[] = [];
  for (const character of text) {
    const point = character.codePointAt(0)!;
    if (point >= 0xd800 && point <= 0xdfff)
      bytes.push(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63));
    else bytes.push(...utf8.encode(character));
  }
  return Uint8Array.from(bytes);
}

const SEGMENT_BYTES = 1 << 20;
const HEADER_BYTES = 4;
const OUTLIER_BYTES = 1 << 16;
/** The next code would be NO_ID. */
const MOST_ENTRIES = 2 ** 31 - 1;

/** Byte strings interned in first-seen order; an open-addressing table over an arena of 1 MiB segments. */
class EntryTable {
  // A file must not be able to choose ids that all fall into one slot.
  readonly #seed = (Math.random() * 0x100000000) >>> 0;
  #slots = new Uint32Array(64);
  #places = new Float64Array(32);
  #count = 0;
  #segments: Uint8Array[] = [];
  #used = SEGMENT_BYTES;
  #outliers = new Map<number, { kind: number; bytes: Uint8Array }>();

  intern(kind: number, bytes: Uint8Array, start: number, end: number): number {
    const mask = this.#slots.length - 1;
    let slot = this.#hash(kind, bytes, start, end) & mask;
    for (; this.#slots[slot] !== 0; slot = (slot + 1) & mask) {
      const entry = this.#slots[slot] - 1;
      if (this.#equals(entry, kind, bytes, start, end)) return entry;
    }
    const entry = this.#append(kind, bytes.subarray(start, end));
    this.#slots[slot] = entry + 1;
    if (this.#count * 2 > this.#slots.length) this.#rehash();
    return entry;
  }

  read(entry: number): { kind: number; bytes: Uint8Array } {
    const { kind, bytes, start, end } = this.#locate(entry);
    return { kind, bytes: bytes.subarray(start, end) };
  }

  flatten(): Omit<IdDictionary, 'base'> {
    const kinds = new Uint8Array(this.#count);
    const offsets = new Float64Array(this.#count + 1);
    for (let entry = 0; entry < this.#count; entry++) {
      const { kind, start, end } = this.#locate(entry);
      kinds[entry] = kind;
      offsets[entry + 1] = offsets[entry] + end - start;
    }
    const flat = new Uint8Array(offsets[this.#count]);
    for (let entry = 0; entry < this.#count; entry++) {
      const { bytes, start, end } = this.#locate(entry);
      flat.set(bytes.subarray(start, end), offsets[entry]);
    }
    return { kinds, bytes: flat, offsets };
  }

  #append(kind: number, bytes: Uint8Array): number {
    if (this.#count === this.#places.length) {
      const places = new Float64Array(this.#count * 2);
      places.set(this.#places);
      this.#places = places;
    }
    if (this.#count === MOST_ENTRIES) throw new InputError(`more than ${MOST_ENTRIES} different ids in one batch`);
    const entry = this.#count++;
    if (bytes.length > OUTLIER_BYTES) {
      this.#outliers.set(entry, { kind, bytes: bytes.slice() });
      return entry;
    }
    if (this.#used + HEADER_BYTES + bytes.length > SEGMENT_BYTES) {
      this.#segments.push(new Uint8Array(SEGMENT_BYTES));
      this.#used = 0;
    }
    const segment = this.#segments[this.#segments.length - 1];
    const header = (bytes.length << KIND_BITS) | kind;
    for (let i = 0; i < HEADER_BYTES; i++) segment[this.#used + i] = header >>> (8 * i);
    segment.set(bytes, this.#used + HEADER_BYTES);
    this.#places[entry] = (this.#segments.length - 1) * SEGMENT_BYTES + this.#used;
    this.#used += HEADER_BYTES + bytes.length;
    return entry;
  }

  #locate(entry: number): { kind: number; bytes: Uint8Array; start: number; end: number } {
    const outlier = this.#outliers.get(entry);
    if (outlier) return { ...outlier, start: 0, end: outlier.bytes.length };
    const place = this.#places[entry];
    const bytes = this.#segments[Math.floor(place / SEGMENT_BYTES)];
    const at = place % SEGMENT_BYTES;
    const header = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    const start = at + HEADER_BYTES;
    return { kind: header & ((1 << KIND_BITS) - 1), bytes, start, end: start + (header >>> KIND_BITS) };
  }

  #equals(entry: number, kind: number, bytes: Uint8Array, start: number, end: number): boolean {
    const held = this.#locate(entry);
    if (held.kind !== kind || held.end - held.start !== end - start) return false;
    for (let i = start, j = held.start; i < end; i++, j++) if (bytes[i] !== held.bytes[j]) return false;
    return true;
  }

  #hash(kind: number, bytes: Uint8Array, start: number, end: number): number {
    let hash = this.#seed ^ kind;
    for (let i = start; i < end; i++) {
      hash = Math.imul(hash ^ bytes[i], 0x5bd1e995);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash ^ (hash >>> 13), 0x2c1b3c6d);
    return hash ^ (hash >>> 16);
  }

  #rehash(): void {
    const slots = new Uint32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let entry = 0; entry < this.#count; entry++) {
      const { kind, bytes, start, end } = this.#locate(entry);
      let slot = this.#hash(kind, bytes, start, end) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = entry + 1;
    }
    this.#slots = slots;
  }
}
