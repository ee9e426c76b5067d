/** Bits in 32-bit words, appended run by run and counted by rank. */
import { InputError } from '../../errors.ts';
import { HybridRuns } from './hybrid-runs.ts';

export class Bitmap {
  /** Bits past the length are zero in the word that holds the last bit. */
  words = new Int32Array(256);
  length = 0;
  /** Ones before each word, made by countOnes. */
  #before = new Uint32Array(0);

  /** Empties it and makes room for `bitCount` bits. */
  reset(bitCount: number): void {
    const wordCount = (bitCount >>> 5) + 2;
    if (wordCount > this.words.length) this.words = new Int32Array(wordCount);
    this.length = 0;
    this.words[0] = 0;
  }

  append(bit: number): void {
    const shift = this.length++ & 31;
    const word = (this.length - 1) >>> 5;
    this.words[word] |= bit << shift;
    if (shift === 31) this.words[word + 1] = 0;
  }

  appendRun(bit: number, count: number): void {
    let left = count;
    for (; left > 0 && (this.length & 31) !== 0; left--) this.append(bit);
    const first = this.length >>> 5;
    const whole = left >>> 5;
    if (whole > 0) {
      this.words.fill(-bit, first, first + whole);
      this.words[first + whole] = 0;
      this.length += whole * 32;
    }
    for (left &= 31; left > 0; left--) this.append(bit);
  }

  /** Replaces the bits by `count` packed ones, least significant first, from a byte on. */
  setPacked(bytes: Uint8Array, byteOffset: number, count: number): void {
    this.reset(count);
    const byteLength = (count + 7) >>> 3;
    this.words[count >>> 5] = 0;
    new Uint8Array(this.words.buffer).set(bytes.subarray(byteOffset, byteOffset + byteLength));
    this.words[count >>> 5] &= (1 << (count & 31)) - 1;
    this.length = count;
  }

  /**
   * Replaces the bits by `count` from the hybrid of run lengths and packing at a width of one bit. Masks are made of
   * millions of short runs of which nobody can guess the next: as much as can be is done without a branch.
   */
  setHybrid(bytes: Uint8Array, start: number, end: number, count: number, place: string): void {
    this.reset(count);
    const { words } = this;
    words.fill(0, 0, (count >>> 5) + 1);
    const runs = new HybridRuns(bytes, start, end, 1, count, place);
    for (let from = 0; from < count; ) {
      from = setShortRuns(bytes, runs, from, count, words);
      if (!runs.next()) break;
      if (runs.isPacked) setPackedRun(bytes, runs.byteOffset, runs.count, words, from);
      else if (runs.value === 1) setOnes(words, from, runs.count);
      else if (runs.value > 1) throw new InputError(`${place}: has ${runs.value}, expected 0 or 1`);
      from += runs.count;
    }
    this.length = count;
  }

  /** Makes every bit its opposite. */
  invert(): void {
    const last = this.length >>> 5;
    for (let i = 0; i <= last; i++) this.words[i] = ~this.words[i];
    this.words[last] &= (1 << (this.length & 31)) - 1;
  }

  /** Prepares rank; to be called when all bits are there. */
  countOnes(): void {
    const { words } = this;
    const last = this.length >>> 5;
    if (this.#before.length <= last) this.#before = new Uint32Array(words.length);
    const before = this.#before;
    let ones = 0;
    for (let i = 0; i <= last; i++) {
      before[i] = ones;
      ones += onesIn(words[i]);
    }
  }

  /** How many of the first `position` bits are ones. */
  rank(position: number): number {
    const word = position >>> 5;
    return this.#before[word] + onesIn(this.words[word] & ((1 << (position & 31)) - 1));
  }
}

/**
 * Takes runs whose header is one byte and which set at most 31 ones or hold a few packed groups, and stops at any
 * other. Returns how many entries there are then.
 */
function setShortRuns(bytes: Uint8Array, runs: HybridRuns, start: number, count: number, words: Int32Array): number {
  const last = runs.end - 2;
  let position = runs.position;
  let from = start;
  // The longest run that is taken has 63 entries, all of which must still be due.
  while (position <= last && from + 64 <= count) {
    const header = bytes[position];
    const value = bytes[position + 1];
    const length = header >>> 1;
    if ((header & 0x81) === 1 && length > 0 && length < 8) {
      if (position + length >= runs.end) break;
      for (const next = position + 1 + length; ++position < next; from += 8) orBits(words, from, bytes[position]);
      continue;
    }
    if ((header & 0x81) !== 0 || value > 1 || length === 0 || (value === 1 && length > 31)) break;
    orBits(words, from, value === 0 ? 0 : (1 << length) - 1);
    from += length;
    position += 2;
  }
  runs.jump(position, from - start);
  return from;
}

/** Sets up to 32 bits that may lie in two words. */
function orBits(words: Int32Array, at: number, bits: number): void {
  const shift = at & 31;
  const word = at >>> 5;
  words[word] |= bits << shift;
  words[word + 1] |= (bits >>> 1) >>> (31 - shift);
}

function setPackedRun(bytes: Uint8Array, byteOffset: number, count: number, words: Int32Array, from: number): void {
  const shift = from & 31;
  let word = from >>> 5;
  let at = byteOffset;
  let left = count;
  for (; left >= 32; left -= 32, at += 4) {
    const value = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    words[word++] |= value << shift;
    words[word] |= (value >>> 1) >>> (31 - shift);
  }
  for (let to = from + count - left; left > 0; left -= 8, to += 8) {
    const value = bytes[at++] & (left < 8 ? (1 << left) - 1 : 0xff);
    words[to >>> 5] |= value << (to & 31);
    words[(to >>> 5) + 1] |= (value >>> 1) >>> (31 - (to & 31));
  }
}

function setOnes(words: Int32Array, from: number, count: number): void {
  const first = from >>> 5;
  const last = (from + count - 1) >>> 5;
  const head = -1 << (from & 31);
  const tail = -1 >>> (31 - ((from + count - 1) & 31));
  if (first === last) {
    words[first] |= head & tail;
    return;
  }
  words[first] |= head;
  words.fill(-1, first + 1, last);
  words[last] |= tail;
}

/** Bits that are set. */
function onesIn(word: number): number {
  let x = word - ((word >>> 1) & 0x55555555);
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
  x = (x + (x >>> 4)) & 0x0f0f0f0f;
  return Math.imul(x, 0x01010101) >>> 24;
}
