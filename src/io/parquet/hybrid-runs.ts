/** The hybrid of run lengths and bit packing that codes levels, dictionary indices and booleans. */
import { InputError } from '../../errors.ts';

/** Goes from run to run: after next() there are `count` entries of `value`, or of packed bits from `byteOffset` on. */
export class HybridRuns {
  readonly bytes: Uint8Array;
  readonly end: number;
  readonly width: number;
  /** Entries of the current run; the last packed run is cut to what was asked for. */
  count = 0;
  isPacked = false;
  /** Of a run that is not packed. */
  value = 0;
  /** Where a packed run's bits start. */
  byteOffset = 0;
  #position: number;
  #left: number;
  readonly #place: string;

  /** @param entryCount how many entries there must be; what follows them is not read */
  constructor(bytes: Uint8Array, start: number, end: number, width: number, entryCount: number, place: string) {
    this.bytes = bytes;
    this.end = end;
    this.width = width;
    this.#position = start;
    this.#left = entryCount;
    this.#place = place;
  }

  /** Steps to the next run; false when all entries have been passed. */
  next(): boolean {
    if (this.#left === 0) return false;
    const header = this.#varint();
    const runs = header >>> 1;
    if (runs === 0) throw new InputError(`${this.#place}: a run is empty`);
    this.isPacked = (header & 1) === 1;
    if (this.isPacked) this.#takePacked(runs);
    else this.#takeRepeated(runs);
    this.#left -= this.count;
    return true;
  }

  /** Where the bytes after the last run that was read are. */
  get position(): number {
    return this.#position;
  }

  /** Goes on elsewhere, after entries that the caller has read itself. */
  jump(position: number, entryCount: number): void {
    this.#position = position;
    this.#left -= entryCount;
  }

  #takePacked(groups: number): void {
    // Some writers cut off the padding of the last group: only the bytes of entries that count must be there.
    this.count = Math.min(groups * 8, this.#left);
    this.byteOffset = this.#position;
    const byteLength = Math.ceil((this.count * this.width) / 8);
    if (byteLength > this.end - this.#position) throw this.#cutOff();
    this.#position = Math.min(this.#position + groups * this.width, this.end);
  }

  #takeRepeated(count: number): void {
    this.count = Math.min(count, this.#left);
    let value = 0;
    for (let shift = 0; shift < this.width; shift += 8) value |= this.#byte() << shift;
    this.value = value >>> 0;
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new InputError(`${this.#place}: a run length is longer than five bytes`);
  }

  #byte(): number {
    if (this.#position >= this.end) throw this.#cutOff();
    return this.bytes[this.#position++];
  }

  #cutOff(): InputError {
    return new InputError(`${this.#place}: ends ${this.#left} entries too early`);
  }
}

/** Unpacks `count` entries of at most 8 bits, least significant bit first, from a byte boundary on. */
export function unpackBytes(
  bytes: Uint8Array,
  byteOffset: number,
  end: number,
  width: number,
  target: Uint8Array,
  at: number,
  count: number,
): void {
  const mask = (1 << width) - 1;
  let bit = 0;
  for (let i = 0; i < count; i++, bit += width) {
    const position = byteOffset + (bit >>> 3);
    const pair = position + 1 < end ? bytes[position] | (bytes[position + 1] << 8) : bytes[position];
    target[at + i] = (pair >>> (bit & 7)) & mask;
  }
}

/** Unpacks `count` entries of at most 32 bits into the start of `target` and returns the largest. */
export function unpackWords(
  bytes: Uint8Array,
  byteOffset: number,
  end: number,
  width: number,
  target: Int32Array,
  count: number,
): number {
  const mask = width === 32 ? -1 : (1 << width) - 1;
  // Entries of up to 25 bits lie inside one unaligned word of four bytes; at the end of the bytes there may be fewer.
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const inWord = width > 25 || width === 0 ? 0 : Math.floor(((end - 4 - byteOffset) * 8) / width);
  const fast = Math.max(0, Math.min(count, inWord));
  let largest = 0;
  let bit = 0;
  for (let i = 0; i < fast; i++, bit += width) {
    const entry = (view.getInt32(byteOffset + (bit >>> 3), true) >>> (bit & 7)) & mask;
    target[i] = entry;
    if (entry > largest) largest = entry;
  }
  for (let i = fast; i < count; i++) {
    const entry = readBits(bytes, byteOffset * 8 + i * width, end, width);
    target[i] = entry;
    if (entry >>> 0 > largest) largest = entry >>> 0;
  }
  return largest;
}

/** Up to 32 bits from any bit position; bits past `end` are zero. */
export function readBits(bytes: Uint8Array, bit: number, end: number, width: number): number {
  let value = 0;
  let position = Math.floor(bit / 8);
  for (let filled = -(bit % 8); filled < width && position < end; filled += 8, position++) {
    value |= filled < 0 ? bytes[position] >>> -filled : bytes[position] << filled;
  }
  return width === 32 ? value : value & ((1 << width) - 1);
}
