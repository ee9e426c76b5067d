/** Text columns: offsets into bytes, or views of which many may share the same bytes. */
import { InputError } from '../../errors.ts';
import type { Presence, TextVector } from '../vectors.ts';
import { readOffsets } from './offsets.ts';
import { clearAbsent } from './presence.ts';
import { allocate, type RecordBatch } from './record-batch.ts';
import type { ArrowField } from './schema.ts';

/** Rows [start..start + count) of a utf8 or binary field. */
export function readTexts(
  batch: RecordBatch,
  field: ArrowField,
  start: number,
  count: number,
  present: Presence,
): TextVector {
  const offsets = readOffsets(batch, field, start, count);
  const first = offsets[0];
  const bytes = batch.bytes(batch.bufferIndex(field, 2), first, offsets[count], `text of ${field.name}`);
  const rebased = allocate(count + 1, batch.place, (length) => new Float64Array(length));
  for (let i = 0; i <= count; i++) rebased[i] = offsets[i] - first;
  const codes = allocate(count, batch.place, (length) => new Uint32Array(length));
  for (let i = 0; i < count; i++) codes[i] = i;
  clearAbsent(codes, present);
  return { kind: 'texts', codes, bytes, offsets: rebased, present };
}

const VIEW_BYTES = 16;
const LONGEST_INLINE = 12;
/** Distinct views hardly overlap in data that anyone wrote; past this they were made to fill the memory. */
const MOST_OVERLAP = 4;

/** Rows [start..start + count) of a utf8_view or binary_view field. Views of the same bytes become one text. */
export function readTextViews(
  batch: RecordBatch,
  field: ArrowField,
  start: number,
  count: number,
  present: Presence,
): TextVector {
  const views = batch.bytes(
    batch.bufferIndex(field, 1),
    start * VIEW_BYTES,
    (start + count) * VIEW_BYTES,
    `views of ${field.name}`,
  );
  const collector = new ViewCollector(batch, field, views, count);
  const codes = allocate(count, batch.place, (length) => new Uint32Array(length));
  for (let i = 0; i < count; i++) if (present === null || present[i] === 1) codes[i] = collector.add(i);
  const { bytes, offsets } = collector.finish();
  return { kind: 'texts', codes, bytes, offsets, present };
}

class ViewCollector {
  readonly #batch: RecordBatch;
  readonly #field: ArrowField;
  readonly #views: Uint8Array;
  readonly #view: DataView;
  /** Where the bytes of each distinct text come from: a data buffer, or -1 for the views themselves. */
  readonly #buffers: Int32Array;
  readonly #starts: Float64Array;
  readonly #offsets: Float64Array;
  /** Codes of texts in data buffers, by the position of the buffers' bytes laid end to end. */
  readonly #codes = new Map<number, number>();
  /** Where each data buffer begins if they are laid end to end. */
  readonly #bases: number[] = [0];
  #count = 0;

  constructor(batch: RecordBatch, field: ArrowField, views: Uint8Array, count: number) {
    this.#batch = batch;
    this.#field = field;
    this.#views = views;
    this.#view = new DataView(views.buffer, views.byteOffset, views.byteLength);
    this.#buffers = allocate(count, batch.place, (length) => new Int32Array(length));
    this.#starts = allocate(count, batch.place, (length) => new Float64Array(length));
    this.#offsets = allocate(count + 1, batch.place, (length) => new Float64Array(length));
    for (let i = 0; i < batch.viewBufferCount(field.viewIndex); i++) {
      this.#bases.push(this.#bases[i] + batch.byteLength(batch.bufferIndex(field, 2 + i)));
    }
  }

  /** The code of a row's text. */
  add(row: number): number {
    const at = row * VIEW_BYTES;
    const length = this.#view.getInt32(at, true);
    if (length < 0) throw this.#malformed(row, `its length is ${length}`);
    if (length <= LONGEST_INLINE) return this.#append(-1, at + 4, length);
    const buffer = this.#view.getInt32(at + 8, true);
    const start = this.#view.getInt32(at + 12, true);
    if (buffer < 0 || buffer >= this.#bases.length - 1)
      throw this.#malformed(row, `it lies in buffer ${buffer} of ${this.#bases.length - 1}`);
    const byteLength = this.#bases[buffer + 1] - this.#bases[buffer];
    if (start < 0 || start + length > byteLength)
      throw this.#malformed(row, `bytes ${start} to ${start + length} of a buffer of ${byteLength}`);
    const key = this.#bases[buffer] + start;
    const known = this.#codes.get(key);
    if (known !== undefined && this.#offsets[known + 1] - this.#offsets[known] === length) return known;
    const code = this.#append(buffer, start, length);
    this.#codes.set(key, code);
    return code;
  }

  finish(): { bytes: Uint8Array; offsets: Float64Array } {
    const count = this.#count;
    const total = this.#offsets[count];
    const shared = this.#bases[this.#bases.length - 1];
    if (total > MOST_OVERLAP * shared + LONGEST_INLINE * count)
      throw new InputError(
        `${this.#batch.place}: the views of ${this.#field.name} overlap: ${count} texts of ${total} bytes in ${shared} bytes of data`,
      );
    const bytes = allocate(total, this.#batch.place, (length) => new Uint8Array(length));
    this.#copyInto(bytes);
    return { bytes, offsets: this.#offsets.subarray(0, count + 1) };
  }

  #append(buffer: number, start: number, length: number): number {
    const code = this.#count++;
    this.#buffers[code] = buffer;
    this.#starts[code] = start;
    this.#offsets[code + 1] = this.#offsets[code] + length;
    return code;
  }

  /** Copies buffer by buffer, so that one is held at a time. */
  #copyInto(target: Uint8Array): void {
    const firstOf = new Int32Array(this.#bases.length).fill(-1);
    const nextOf = new Int32Array(this.#count);
    for (let i = this.#count - 1; i >= 0; i--) {
      const buffer = this.#buffers[i] + 1;
      nextOf[i] = firstOf[buffer];
      firstOf[buffer] = i;
    }
    for (const [buffer, first] of firstOf.entries()) {
      if (first < 0) continue;
      const source = buffer === 0 ? this.#views : this.#dataBuffer(buffer - 1);
      for (let i = first; i >= 0; i = nextOf[i]) {
        const start = this.#starts[i];
        target.set(source.subarray(start, start + this.#offsets[i + 1] - this.#offsets[i]), this.#offsets[i]);
      }
    }
  }

  #dataBuffer(buffer: number): Uint8Array {
    const index = this.#batch.bufferIndex(this.#field, 2 + buffer);
    const byteLength = this.#bases[buffer + 1] - this.#bases[buffer];
    return this.#batch.bytes(index, 0, byteLength, `text of ${this.#field.name}`);
  }

  #malformed(row: number, what: string): InputError {
    return new InputError(
      `${this.#batch.place}: the view of row ${row + 1} of ${this.#field.name} is malformed: ${what}`,
    );
  }
}
