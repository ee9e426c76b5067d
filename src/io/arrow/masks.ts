/** Loss masks: per row the ones of a list, counted where the entries lie. */
import { InputError } from '../../errors.ts';
import type { MaskVector, Presence } from '../vectors.ts';
import { BitCounter, type EntryCounter, entryCounter } from './mask-entries.ts';
import { readExtents } from './offsets.ts';
import { allocate, type RecordBatch } from './record-batch.ts';
import type { ArrowField } from './schema.ts';
import { TypeId } from './slots.ts';
import { typeName } from './types.ts';

const PIECE_BYTES = 1 << 20;
const LONGEST_MASK = 2 ** 32 - 1;

/** Rows [start..start + count) of a list field; rows that are absent are not looked at. */
export function readMasks(
  batch: RecordBatch,
  field: ArrowField,
  start: number,
  count: number,
  present: Presence,
  name: string,
): MaskVector {
  const { starts, ends } = readExtents(batch, field, start, count);
  const entries = new Entries(batch, field, count === 0 ? 0 : ends[count - 1], name);
  const ones = allocate(count, batch.place, (length) => new Uint32Array(length));
  const lengths = allocate(count, batch.place, (length) => new Uint32Array(length));
  let invalid: MaskVector['invalid'] = null;
  for (let row = 0; row < count; row++) {
    if (present !== null && present[row] === 0) continue;
    const length = ends[row] - starts[row];
    if (length > LONGEST_MASK)
      throw new InputError(
        `${batch.place}: list ${start + row} of ${name} has ${length} entries, expected ${LONGEST_MASK} or fewer`,
      );
    lengths[row] = length;
    const counted = entries.count(starts[row], ends[row]);
    if (counted >= 0) ones[row] = counted;
    else invalid ??= { row, found: entries.firstInvalid(starts[row], ends[row]) };
  }
  return { kind: 'masks', ones, lengths, present, invalid };
}

/** The entries of a list column, of which a piece is in memory. Ranges are asked for in order. */
class Entries {
  readonly #batch: RecordBatch;
  readonly #field: ArrowField;
  readonly #end: number;
  /** null: the entries have the null type. */
  readonly #counter: EntryCounter | null;
  readonly #validity: BitCounter | null;
  readonly #pieceLength: number;
  #pieceStart = 0;
  #pieceEnd = 0;

  constructor(batch: RecordBatch, list: ArrowField, end: number, name: string) {
    const [field] = list.children;
    const counter = entryCounter(field);
    if (counter === null && field.typeId !== TypeId.null)
      throw new InputError(`column ${name} is ${typeName(list)}, expected a list of 0 and 1`);
    this.#batch = batch;
    this.#field = field;
    this.#end = end;
    this.#counter = counter;
    this.#validity = counter !== null && batch.node(field.nodeIndex).nullCount > 0 ? new BitCounter() : null;
    this.#pieceLength = (8 * PIECE_BYTES) / (counter?.bitsPerEntry ?? 8);
  }

  /** The ones in [start..end), or -1 where an entry is null or neither 0 nor 1. */
  count(start: number, end: number): number {
    const counter = this.#counter;
    if (counter === null) return start < end ? -1 : 0;
    let ones = 0;
    for (let position = start; position < end; ) {
      if (position >= this.#pieceEnd || position < this.#pieceStart) this.#load(counter, position);
      const to = Math.min(end, this.#pieceEnd);
      const from = position - this.#pieceStart;
      const counted = counter.count(from, to - this.#pieceStart);
      if (counted < 0) return -1;
      if (this.#validity !== null && this.#validity.count(from, to - this.#pieceStart) < to - position) return -1;
      ones += counted;
      position = to;
    }
    return ones;
  }

  firstInvalid(start: number, end: number): string {
    const counter = this.#counter;
    if (counter === null) return 'null';
    for (let position = start; position < end; position++) {
      if (position >= this.#pieceEnd || position < this.#pieceStart) this.#load(counter, position);
      const entry = position - this.#pieceStart;
      if (this.#validity?.count(entry, entry + 1) === 0) return 'null';
      if (!counter.isValid(entry)) return counter.text(entry);
    }
    throw new Error('every entry is valid');
  }

  #load(counter: EntryCounter, position: number): void {
    // Bitmaps begin at a word.
    const start = position - (position % 64);
    const end = Math.min(start + this.#pieceLength, this.#end);
    const { bitsPerEntry } = counter;
    const what = `entries of ${this.#field.name}`;
    counter.load(this.#bytes(1, start, end, bitsPerEntry, what));
    this.#validity?.load(this.#bytes(0, start, end, 1, `validity of the ${what}`));
    this.#pieceStart = start;
    this.#pieceEnd = end;
  }

  #bytes(which: number, start: number, end: number, bits: number, what: string): Uint8Array {
    const index = this.#batch.bufferIndex(this.#field, which);
    return this.#batch.bytes(index, (start * bits) / 8, Math.ceil((end * bits) / 8), what);
  }
}
