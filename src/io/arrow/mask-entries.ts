/** Counts the ones in ranges of list entries of any type that can spell 0 and 1, a piece of the entries at a time. */

import type { ArrowField } from './schema.ts';
import { TypeId } from './slots.ts';
import { fromBinary16 } from './values.ts';

/** Entries that lie in memory, counted from the first of the piece. */
export interface EntryCounter {
  readonly bitsPerEntry: number;
  /** @param bytes the piece, aligned to 8 */
  load(bytes: Uint8Array): void;
  /** The ones among entries [from..to), or -1 where one of them is neither 0 nor 1. */
  count(from: number, to: number): number;
  isValid(entry: number): boolean;
  /** An entry as messages quote it. */
  text(entry: number): string;
}

/** null for a type whose values are no zeros and ones. */
export function entryCounter({ typeId, parameters, dictionary }: ArrowField): EntryCounter | null {
  const { bits, isSigned } = parameters;
  if (dictionary !== null) return null;
  if (typeId === TypeId.bool) return new BitCounter();
  if (typeId === TypeId.int && bits === 8) return new ByteCounter(isSigned);
  if (typeId === TypeId.int && bits === 64) return new Int64Counter(isSigned);
  if (typeId === TypeId.int) return new NumberCounter(bits, INTEGER_ARRAYS[bits][isSigned ? 1 : 0], (value) => value);
  if (typeId !== TypeId.float) return null;
  if (bits === 16) return new NumberCounter(bits, Uint16Array, fromBinary16);
  return new NumberCounter(bits, bits === 32 ? Float32Array : Float64Array, (value) => value);
}

type NumberArray = Uint16Array | Int16Array | Uint32Array | Int32Array | Float32Array | Float64Array;
type NumberArrayClass = new (buffer: ArrayBufferLike, byteOffset: number, length: number) => NumberArray;

const INTEGER_ARRAYS: Readonly<Record<number, readonly [NumberArrayClass, NumberArrayClass]>> = {
  16: [Uint16Array, Int16Array],
  32: [Uint32Array, Int32Array],
};

/** Bitmaps: masks of booleans, and the validity of entries. */
export class BitCounter implements EntryCounter {
  readonly bitsPerEntry = 1;
  #bytes: Uint8Array = new Uint8Array(0);
  #words: Int32Array = new Int32Array(0);
  /** The bytes behind the last whole word, with zeros. */
  #lastWord = 0;

  load(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2);
    this.#lastWord = lastWordOf(bytes);
  }

  count(from: number, to: number): number {
    const words = this.#words;
    let ones = 0;
    let bit = from;
    while (bit < to) {
      const word = bit >>> 5;
      const first = bit & 31;
      const bits = Math.min(32 - first, to - bit);
      let value = word < words.length ? words[word] : this.#lastWord;
      value = (value >>> first) & (bits === 32 ? -1 : (1 << bits) - 1);
      ones += onesIn(value);
      bit += bits;
    }
    return ones;
  }

  isValid(): boolean {
    return true;
  }

  text(entry: number): string {
    return `${(this.#bytes[entry >>> 3] >>> (entry & 7)) & 1}`;
  }
}

/** Bytes are added four at a time in the bytes of a word, which overflow after 255 words. */
const WORDS_WITHOUT_CARRY = 255;
const NEITHER_0_NOR_1 = 0xfefefefe | 0;

class ByteCounter implements EntryCounter {
  readonly bitsPerEntry = 8;
  readonly #isSigned: boolean;
  #bytes: Uint8Array = new Uint8Array(0);
  #words: Int32Array = new Int32Array(0);
  /** The bytes behind the last whole word, with zeros. */
  #lastWord = 0;

  constructor(isSigned: boolean) {
    this.#isSigned = isSigned;
  }

  load(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2);
    this.#lastWord = lastWordOf(bytes);
  }

  count(from: number, to: number): number {
    if (from >= to) return 0;
    const words = this.#words;
    const first = from >>> 2;
    const last = (to - 1) >>> 2;
    const inFirst = -1 << (8 * (from & 3));
    const inLast = -1 >>> (8 * (3 - ((to - 1) & 3)));
    const lastWord = (last < words.length ? words[last] : this.#lastWord) & inLast;
    if (first === last) {
      const word = lastWord & inFirst;
      return (word & NEITHER_0_NOR_1) === 0 ? onesInBytes(word) : -1;
    }
    let sums = words[first] & inFirst;
    let seen = sums | lastWord;
    let word = first + 1;
    let ones = 0;
    for (let end = first + WORDS_WITHOUT_CARRY; end < last; end += WORDS_WITHOUT_CARRY) {
      for (; word < end; word++) {
        sums = (sums + words[word]) | 0;
        seen |= words[word];
      }
      ones += onesInBytes(sums);
      sums = 0;
    }
    for (; word < last; word++) {
      sums = (sums + words[word]) | 0;
      seen |= words[word];
    }
    if ((seen & NEITHER_0_NOR_1) !== 0) return -1;
    return ones + onesInBytes(sums) + onesInBytes(lastWord);
  }

  isValid(entry: number): boolean {
    return this.#bytes[entry] <= 1;
  }

  text(entry: number): string {
    const value = this.#bytes[entry];
    return `${this.#isSigned ? (value << 24) >> 24 : value}`;
  }
}

/** The sum of a word's bytes. */
function onesInBytes(word: number): number {
  const pairs = (word & 0x00ff00ff) + ((word >>> 8) & 0x00ff00ff);
  return (pairs & 0xffff) + (pairs >>> 16);
}

/** The bytes behind the last whole word, as a word. */
function lastWordOf(bytes: Uint8Array): number {
  let word = 0;
  for (let i = bytes.length & ~3; i < bytes.length; i++) word |= bytes[i] << (8 * (i & 3));
  return word;
}

class Int64Counter implements EntryCounter {
  readonly bitsPerEntry = 64;
  readonly #isSigned: boolean;
  #halves: Int32Array = new Int32Array(0);

  constructor(isSigned: boolean) {
    this.#isSigned = isSigned;
  }

  load(bytes: Uint8Array): void {
    this.#halves = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2);
  }

  count(from: number, to: number): number {
    const halves = this.#halves;
    let ones = 0;
    let seen = 0;
    for (let i = 2 * from; i < 2 * to; i += 2) {
      ones += halves[i] & 1;
      seen |= (halves[i] & ~1) | halves[i + 1];
    }
    return seen === 0 ? ones : -1;
  }

  isValid(entry: number): boolean {
    return this.count(entry, entry + 1) >= 0;
  }

  text(entry: number): string {
    const value = (BigInt(this.#halves[2 * entry + 1]) << 32n) | BigInt(this.#halves[2 * entry] >>> 0);
    return `${this.#isSigned ? value : BigInt.asUintN(64, value)}`;
  }
}

class NumberCounter implements EntryCounter {
  readonly bitsPerEntry: number;
  readonly #arrayClass: NumberArrayClass;
  readonly #decode: (stored: number) => number;
  #values: NumberArray = new Int32Array(0);

  constructor(bits: number, arrayClass: NumberArrayClass, decode: (stored: number) => number) {
    this.bitsPerEntry = bits;
    this.#arrayClass = arrayClass;
    this.#decode = decode;
  }

  load(bytes: Uint8Array): void {
    this.#values = new this.#arrayClass(bytes.buffer, bytes.byteOffset, (8 * bytes.byteLength) / this.bitsPerEntry);
  }

  count(from: number, to: number): number {
    const values = this.#values;
    const decode = this.#decode;
    let ones = 0;
    for (let i = from; i < to; i++) {
      const value = decode(values[i]);
      if (value === 1) ones++;
      else if (value !== 0) return -1;
    }
    return ones;
  }

  isValid(entry: number): boolean {
    return this.count(entry, entry + 1) >= 0;
  }

  text(entry: number): string {
    return `${this.#decode(this.#values[entry])}`;
  }
}

function onesIn(word: number): number {
  let x = word - ((word >>> 1) & 0x55555555);
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
  x = (x + (x >>> 4)) & 0x0f0f0f0f;
  return Math.imul(x, 0x01010101) >>> 24;
}
