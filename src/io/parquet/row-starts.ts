/** Where rows begin among the entries of a page: repetition level 0, in lists that are not nested. */
import { InputError } from '../../errors.ts';
import type { LevelSpan } from './chunk-pages.ts';
import { HybridRuns } from './hybrid-runs.ts';

/** Positions of one page's row starts; the array is kept for the next page. */
export class RowStarts {
  positions: Uint32Array;
  count = 0;
  readonly #limit: number;

  /**
   * @param limit rows that there are: more starts in one page are refused before they are stored
   * @param positions an array that may be used, until it is too small
   */
  constructor(limit: number, positions: Uint32Array = new Uint32Array(1024)) {
    this.#limit = limit;
    this.positions = positions;
  }

  /** Replaces the positions by those of a page with `entryCount` entries. */
  read(span: LevelSpan, entryCount: number, place: string): void {
    this.count = 0;
    if (span.isLegacyPacked) this.#readLegacy(span, entryCount, place);
    else this.#readHybrid(span, entryCount, place);
  }

  /** How many rows have begun at an entry, its own included. */
  countUpTo(entry: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.positions[middle] <= entry) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #readHybrid(span: LevelSpan, entryCount: number, place: string): void {
    const { bytes } = span;
    const runs = new HybridRuns(bytes, span.start, span.end, 1, entryCount, `${place}: levels`);
    for (let from = 0; from < entryCount; ) {
      from = this.#readShortRuns(bytes, runs, from, entryCount);
      if (!runs.next()) break;
      this.#reserve(runs.count, place);
      if (runs.isPacked) this.#addZeroBits(bytes, runs.byteOffset, runs.count, from);
      else if (runs.value === 0) for (let i = 0; i < runs.count; i++) this.positions[this.count++] = from + i;
      else if (runs.value > 1) throw new InputError(`${place}: has a level ${runs.value}, expected at most 1`);
      from += runs.count;
    }
    if (this.count > this.#limit) throw this.#tooMany(place);
  }

  /**
   * Lists of some dozens of entries alternate between runs of ones and single packed groups, so that there are as many
   * runs as rows: those are taken here, with everything in local variables. Stops at any other run.
   */
  #readShortRuns(bytes: Uint8Array, runs: HybridRuns, start: number, entryCount: number): number {
    let { positions, count } = this;
    const last = runs.end - 2;
    let position = runs.position;
    let from = start;
    // A packed group has eight entries and a short run up to 63, all of which must still be due.
    while (position <= last && from + 64 <= entryCount) {
      const header = bytes[position];
      const value = bytes[position + 1];
      if (header === 3) {
        if (count + 8 > positions.length) break;
        for (let zeros = value ^ 0xff; zeros !== 0; zeros &= zeros - 1) {
          positions[count++] = from + 31 - Math.clz32(zeros & -zeros);
        }
        from += 8;
      } else if (value === 1 && (header & 0x81) === 0 && header !== 0) {
        from += header >>> 1;
      } else break;
      position += 2;
    }
    this.count = count;
    runs.jump(position, from - start);
    return from;
  }

  #addZeroBits(bytes: Uint8Array, byteOffset: number, entryCount: number, from: number): void {
    const { positions } = this;
    let { count } = this;
    const whole = entryCount >>> 5;
    for (let i = 0, at = byteOffset; i < whole; i++, at += 4) {
      const levels = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
      for (let zeros = ~levels; zeros !== 0; zeros &= zeros - 1) {
        positions[count++] = from + i * 32 + 31 - Math.clz32(zeros & -zeros);
      }
    }
    for (let i = whole * 32; i < entryCount; i++) {
      if (((bytes[byteOffset + (i >>> 3)] >>> (i & 7)) & 1) === 0) positions[count++] = from + i;
    }
    this.count = count;
  }

  /** One bit each, most significant first. */
  #readLegacy(span: LevelSpan, entryCount: number, place: string): void {
    for (let i = 0; i < entryCount; i++) {
      if (((span.bytes[span.start + (i >>> 3)] >>> (7 - (i & 7))) & 1) === 1) continue;
      this.#reserve(1, place);
      this.positions[this.count++] = i;
    }
    if (this.count > this.#limit) throw this.#tooMany(place);
  }

  #reserve(more: number, place: string): void {
    if (this.count > this.#limit) throw this.#tooMany(place);
    // Entries that go on in a row take no place; the capacity is the most that a run can need.
    const needed = this.count + more;
    if (needed <= this.positions.length) return;
    const larger = new Uint32Array(Math.max(needed, Math.ceil(this.positions.length * 1.5)));
    larger.set(this.positions.subarray(0, this.count));
    this.positions = larger;
  }

  #tooMany(place: string): InputError {
    return new InputError(`${place}: has more rows than the ${this.#limit} of its row group`);
  }
}
