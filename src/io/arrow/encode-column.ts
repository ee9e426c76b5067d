/** New columns as the buffers of a record batch. */
import { InputError } from '../../errors.ts';
import { type ColumnValues, widened } from '../parquet/new-columns.ts';
import type { Presence } from '../vectors.ts';

export interface EncodedColumn {
  readonly nullCount: number;
  /** A validity bitmap, empty where there are no nulls, and what the type needs. They may share memory with the values. */
  readonly buffers: readonly Uint8Array[];
}

const LARGEST_OFFSET = 2 ** 31 - 1;

/** Rows [from..to) of a column. */
export function encodeColumn(values: ColumnValues, from: number, to: number): EncodedColumn {
  switch (values.kind) {
    case 'text':
      return withValidity(values.present, from, to, encodeTexts(values, from, to));
    case 'constant text':
      return withValidity(null, from, to, encodeConstant(new TextEncoder().encode(values.text), to - from));
    case 'sequence':
      return withValidity(null, from, to, [encodeSequence(values.first + from, to - from)]);
    case 'bool':
      return withValidity(values.present, from, to, [packBits(values.values, from, to)]);
    case 'whole': {
      const words = widened(values.values.subarray(from, to));
      return withValidity(values.present, from, to, [bytesOf(words)]);
    }
    default: {
      const slice = values.values.subarray(from, to);
      const present = values.present === 'not NaN' ? notNaN(slice as Float64Array | Float32Array) : values.present;
      const bytes = [bytesOf(slice)];
      return values.present === 'not NaN'
        ? withValidity(present, 0, to - from, bytes)
        : withValidity(present, from, to, bytes);
    }
  }
}

/** The bytes that rows [from..to) of a text column take at most. */
export function textBytes(values: ColumnValues, from: number, to: number): number {
  if (values.kind === 'constant text') return new TextEncoder().encode(values.text).length * (to - from);
  if (values.kind !== 'text') return 0;
  let total = 0;
  for (let i = from; i < to; i++) total += values.offsets[values.codes[i] + 1] - values.offsets[values.codes[i]];
  return total;
}

function withValidity(present: Presence, from: number, to: number, buffers: readonly Uint8Array[]): EncodedColumn {
  let nullCount = 0;
  for (let i = from; present !== null && i < to; i++) nullCount += 1 - present[i];
  const validity = present === null || nullCount === 0 ? new Uint8Array(0) : packBits(present, from, to);
  return { nullCount, buffers: [validity, ...buffers] };
}

function notNaN(values: Float64Array | Float32Array): Uint8Array {
  const present = new Uint8Array(values.length);
  for (let i = 0; i < values.length; i++) present[i] = Number.isNaN(values[i]) ? 0 : 1;
  return present;
}

function packBits(flags: Uint8Array, from: number, to: number): Uint8Array {
  const bits = new Uint8Array(Math.ceil((to - from) / 8));
  for (let i = from; i < to; i++) bits[(i - from) >>> 3] |= flags[i] << ((i - from) & 7);
  return bits;
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function encodeTexts(
  { codes, bytes, offsets, present }: Extract<ColumnValues, { kind: 'text' }>,
  from: number,
  to: number,
): Uint8Array[] {
  const isPresent = (row: number) => present === null || present[row] === 1;
  const newOffsets = new Int32Array(to - from + 1);
  let end = 0;
  for (let row = from; row < to; row++) {
    if (isPresent(row)) end += offsets[codes[row] + 1] - offsets[codes[row]];
    if (end > LARGEST_OFFSET) throw new InputError(`row ${row + 1}: a text has more than ${LARGEST_OFFSET} bytes`);
    newOffsets[row - from + 1] = end;
  }
  const data = new Uint8Array(end);
  for (let row = from; row < to; row++) {
    if (isPresent(row)) data.set(bytes.subarray(offsets[codes[row]], offsets[codes[row] + 1]), newOffsets[row - from]);
  }
  return [bytesOf(newOffsets), data];
}

function encodeConstant(text: Uint8Array, count: number): Uint8Array[] {
  const offsets = Int32Array.from({ length: count + 1 }, (_, i) => i * text.length);
  const data = new Uint8Array(count * text.length);
  for (let i = 0; i < count; i++) data.set(text, i * text.length);
  return [bytesOf(offsets), data];
}

function encodeSequence(first: number, count: number): Uint8Array {
  const halves = new Uint32Array(2 * count);
  for (let i = 0; i < count; i++) {
    const value = first + i;
    halves[2 * i] = value;
    halves[2 * i + 1] = Math.floor(value / 2 ** 32);
  }
  return bytesOf(halves);
}
