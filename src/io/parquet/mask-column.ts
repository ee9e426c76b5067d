/**
 * Counts the ones and the entries of each row's list without making the lists: row starts come from the repetition
 * levels, ones from a bitmap of the page's values, and runs stay runs where nothing is missing.
 */
import { InputError } from '../../errors.ts';
import type { MaskVector, Vector } from '../vectors.ts';
import type { Bitmap } from './bitmap.ts';
import type { ChunkPages, DataPage } from './chunk-pages.ts';
import { findMissing, type MissingRuns } from './levels.ts';
import { MaskValues } from './mask-values.ts';
import { RowStarts } from './row-starts.ts';
import type { SchemaLeaf } from './schema.ts';
import type { Scratch } from './scratch.ts';

export function readMaskColumn(
  pages: ChunkPages,
  leaf: SchemaLeaf,
  rowCount: number,
  name: string,
  scratch: Scratch,
): Vector {
  const counter = new MaskCounter(leaf, rowCount, name, scratch);
  const values = new MaskValues(leaf);
  for (let page = pages.next(); page !== null; page = pages.next()) {
    if (page.isDictionary) values.setDictionary(page);
    else counter.addPage(page, values);
  }
  return counter.finish();
}

class MaskCounter {
  readonly #leaf: SchemaLeaf;
  readonly #rowCount: number;
  readonly #name: string;
  readonly #ones: Uint32Array;
  readonly #lengths: Uint32Array;
  readonly #scratch: Scratch;
  readonly #starts: RowStarts;
  /** Of the page: the values. */
  readonly #bits: Bitmap;
  #present: Uint8Array | null = null;
  #invalid: MaskVector['invalid'] = null;
  /** The row that entries go to, which may go on in the next page; -1 before the first. */
  #row = -1;

  constructor(leaf: SchemaLeaf, rowCount: number, name: string, scratch: Scratch) {
    this.#leaf = leaf;
    this.#rowCount = rowCount;
    this.#name = name;
    this.#ones = new Uint32Array(scratch.take(rowCount, 4));
    this.#lengths = new Uint32Array(scratch.take(rowCount, 4));
    this.#scratch = scratch;
    this.#starts = new RowStarts(rowCount, scratch.positions);
    this.#bits = scratch.bits;
  }

  addPage(page: DataPage, values: MaskValues): void {
    const { definition, entryCount, place } = page;
    if (entryCount === 0) return;
    this.#readRows(page);
    const missing = findMissing(definition, this.#leaf.maxDefinition, entryCount, place);
    values.read(page, entryCount - missing.total, this.#bits);
    this.#bits.countOnes();
    this.#noteInvalid(values, missing);
    if (missing.total === 0) this.#countWhole(entryCount);
    else this.#countAround(missing, entryCount, place);
  }

  /** Reads the repetition levels and checks that the page's rows are rows of the row group. */
  #readRows(page: DataPage): void {
    const { repetition, entryCount, place } = page;
    if (repetition === null) throw new InputError(`${place}: has no levels`);
    const starts = this.#starts;
    starts.read(repetition, entryCount, place);
    if (page.rowCount >= 0 && page.rowCount !== starts.count) {
      throw new InputError(`${place}: is said to have ${page.rowCount} rows, but has ${starts.count}`);
    }
    if (this.#row < 0 && (starts.count === 0 || starts.positions[0] > 0)) {
      throw new InputError(`${place}: begins inside a row`);
    }
    if (this.#row + starts.count >= this.#rowCount) {
      throw new InputError(`${place}: has more rows than the ${this.#rowCount} of its row group`);
    }
  }

  finish(): MaskVector {
    this.#scratch.positions = this.#starts.positions;
    if (this.#row + 1 !== this.#rowCount) {
      throw new InputError(`${this.#name}: has ${this.#row + 1} rows, but its row group has ${this.#rowCount}`);
    }
    return { kind: 'masks', ones: this.#ones, lengths: this.#lengths, present: this.#present, invalid: this.#invalid };
  }

  /** Every entry is an element that has a value, so that values have the positions of entries. */
  #countWhole(entryCount: number): void {
    const { positions, count } = this.#starts;
    const ones = this.#ones;
    const lengths = this.#lengths;
    const bits = this.#bits;
    let row = this.#row;
    let from = 0;
    let counted = 0;
    for (let i = 0; i <= count; i++) {
      const to = i === count ? entryCount : positions[i];
      if (to > from) {
        const rank = bits.rank(to);
        ones[row] += rank - counted;
        lengths[row] += to - from;
        counted = rank;
        from = to;
      }
      row++;
    }
    this.#row = row - 1;
  }

  /** Some entries stand for null lists, empty lists or null elements, and have no place among the values. */
  #countAround(missing: MissingRuns, entryCount: number, place: string): void {
    const { positions, count } = this.#starts;
    const cursor = new MissingCursor(missing, this.#leaf.elementDefinition);
    let from = 0;
    let counted = 0;
    let placeholders = 0;
    for (let i = 0; i <= count; i++) {
      const to = i === count ? entryCount : positions[i];
      if (to > from) {
        cursor.advance(to);
        const rank = this.#bits.rank(to - cursor.missing);
        const empty = cursor.placeholders - placeholders;
        if (empty > 0) this.#addEmpty(to - from, cursor.level, place, i === 0);
        this.#ones[this.#row] += rank - counted;
        this.#lengths[this.#row] += to - from - empty;
        counted = rank;
        placeholders = cursor.placeholders;
        from = to;
      }
      if (i < count) this.#row++;
    }
  }

  /** An entry that stands for a list without elements is the only one of its row. */
  #addEmpty(entryCount: number, level: number, place: string, isContinued: boolean): void {
    if (entryCount > 1 || isContinued || this.#lengths[this.#row] > 0) {
      throw new InputError(`${place}: a list has elements and none at once`);
    }
    if (level === this.#leaf.elementDefinition - 1) return;
    this.#present ??= new Uint8Array(this.#rowCount).fill(1);
    this.#present[this.#row] = 0;
  }

  #noteInvalid(values: MaskValues, missing: MissingRuns): void {
    if (this.#invalid !== null) return;
    const { elementDefinition } = this.#leaf;
    const run = missing.levels.findIndex((level) => level >= elementDefinition);
    const nullAt = run < 0 ? Infinity : missing.starts[run];
    const otherAt = values.invalid === null ? Infinity : entryOfValue(values.invalid.index, missing);
    const entry = Math.min(nullAt, otherAt);
    if (entry === Infinity) return;
    const found = otherAt < nullAt && values.invalid !== null ? values.invalid.found : 'null';
    this.#invalid = { row: this.#row + this.#starts.countUpTo(entry), found };
  }
}

/** The position among all entries of the value with that index. */
function entryOfValue(index: number, missing: MissingRuns): number {
  let entry = index;
  for (let i = 0; i < missing.starts.length && missing.starts[i] <= entry; i++) entry += missing.counts[i];
  return entry;
}

/** Counts missing entries up to a position that only grows. */
class MissingCursor {
  /** Missing entries before the position. */
  missing = 0;
  /** Those of them that stand for null and empty lists. */
  placeholders = 0;
  /** Level of the last run that was reached. */
  level = 0;
  readonly #runs: MissingRuns;
  readonly #elementDefinition: number;
  #index = 0;
  /** Entries of the current run that were counted. */
  #taken = 0;

  constructor(runs: MissingRuns, elementDefinition: number) {
    this.#runs = runs;
    this.#elementDefinition = elementDefinition;
  }

  advance(position: number): void {
    const { starts, counts, levels } = this.#runs;
    while (this.#index < starts.length && starts[this.#index] + this.#taken < position) {
      const start = starts[this.#index];
      const count = counts[this.#index];
      const passed = Math.min(count, position - start) - this.#taken;
      this.level = levels[this.#index];
      this.missing += passed;
      if (this.level < this.#elementDefinition) this.placeholders += passed;
      this.#taken += passed;
      if (this.#taken < count) return;
      this.#index++;
      this.#taken = 0;
    }
  }
}
