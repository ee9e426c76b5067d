/** DELTA_BINARY_PACKED: integers as differences in bit-packed blocks. */
import { InputError } from '../../errors.ts';
import { readBits } from './hybrid-runs.ts';

/** Blocks are of 128 values in practice. */
const LARGEST_BLOCK = 1 << 20;

/**
 * Decodes `count` integers into target[at..) as words: one word each, or two with the low word first. Differences wrap
 * around as the format has it. Returns where the bytes after them begin.
 */
export function decodeDelta(
  bytes: Uint8Array,
  start: number,
  count: number,
  wordsPerValue: 1 | 2,
  target: Int32Array,
  at: number,
  place: string,
): number {
  const reader = new DeltaReader(bytes, start, place);
  const blockSize = reader.unsigned();
  const miniblocks = reader.unsigned();
  const total = reader.unsigned();
  const valuesPerMiniblock = blockSize / miniblocks;
  if (blockSize > LARGEST_BLOCK || !(valuesPerMiniblock >= 8) || valuesPerMiniblock % 8 !== 0) {
    throw new InputError(`${place}: has delta blocks of ${blockSize} values in ${miniblocks} parts`);
  }
  if (total !== count) throw new InputError(`${place}: has ${total} delta-coded values, expected ${count}`);
  reader.zigzag64();
  const state = { low: reader.low, high: reader.high };
  if (count > 0) store(state.low, state.high, wordsPerValue, target, at);
  for (let done = 1; done < count; ) {
    reader.zigzag64();
    const { low: minLow, high: minHigh } = reader;
    const widths = reader.take(miniblocks);
    for (let m = 0; m < miniblocks && done < count; m++) {
      const width = bytes[widths + m];
      if (width > 64) throw new InputError(`${place}: has deltas of ${width} bits`);
      const part = Math.min(valuesPerMiniblock, count - done);
      const data = reader.takeUpTo((width * valuesPerMiniblock) / 8, Math.ceil((width * part) / 8));
      addDeltas(bytes, data, width, part, minLow, minHigh, state, wordsPerValue, target, at + done);
      done += part;
    }
  }
  return reader.position;
}

function store(low: number, high: number, wordsPerValue: 1 | 2, target: Int32Array, index: number): void {
  if (wordsPerValue === 1) {
    target[index] = low;
  } else {
    target[2 * index] = low;
    target[2 * index + 1] = high;
  }
}

function addDeltas(
  bytes: Uint8Array,
  data: number,
  width: number,
  count: number,
  minLow: number,
  minHigh: number,
  state: { low: number; high: number },
  wordsPerValue: 1 | 2,
  target: Int32Array,
  at: number,
): void {
  let { low, high } = state;
  const lowWidth = Math.min(width, 32);
  for (let i = 0; i < count; i++) {
    const bit = data * 8 + i * width;
    const deltaLow = width === 0 ? 0 : readBits(bytes, bit, bytes.length, lowWidth);
    const deltaHigh = width > 32 ? readBits(bytes, bit + 32, bytes.length, width - 32) : 0;
    for (let k = 0; k < 2; k++) {
      const addLow = k === 0 ? deltaLow : minLow;
      const sum = (low + addLow) | 0;
      const carry = sum >>> 0 < low >>> 0 ? 1 : 0;
      high = (high + (k === 0 ? deltaHigh : minHigh) + carry) | 0;
      low = sum;
    }
    store(low, high, wordsPerValue, target, at + i);
  }
  state.low = low;
  state.high = high;
}

/** Varints and stretches of bytes, never past the end. */
class DeltaReader {
  position: number;
  /** The words of the last 64-bit number. */
  low = 0;
  high = 0;
  readonly #bytes: Uint8Array;
  readonly #place: string;

  constructor(bytes: Uint8Array, position: number, place: string) {
    this.#bytes = bytes;
    this.position = position;
    this.#place = place;
  }

  unsigned(): number {
    this.#varint64();
    return (this.high >>> 0) * 2 ** 32 + (this.low >>> 0);
  }

  zigzag64(): void {
    this.#varint64();
    const sign = -(this.low & 1);
    this.low = ((this.low >>> 1) | (this.high << 31)) ^ sign;
    this.high = (this.high >>> 1) ^ sign;
  }

  take(byteLength: number): number {
    return this.takeUpTo(byteLength, byteLength);
  }

  /** Passes `byteLength` bytes, of which the last may lack the padding after the first `needed`. */
  takeUpTo(byteLength: number, needed: number): number {
    const start = this.position;
    if (needed > this.#bytes.length - start) throw this.#cutOff();
    this.position = Math.min(start + byteLength, this.#bytes.length);
    return start;
  }

  #varint64(): void {
    this.low = 0;
    this.high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.position >= this.#bytes.length) throw this.#cutOff();
      const byte = this.#bytes[this.position++];
      const bits = byte & 0x7f;
      if (shift < 32) this.low |= bits << shift;
      if (shift > 25) this.high |= shift < 32 ? bits >>> (32 - shift) : bits << (shift - 32);
      if (byte < 0x80) return;
    }
    throw new InputError(`${this.#place}: a delta-coded integer is longer than ten bytes`);
  }

  #cutOff(): InputError {
    return new InputError(`${this.#place}: its delta-coded values are cut off`);
  }
}
