/** Integers, floats and booleans of a record batch. */
import type { BooleanVector, IntegerVector, NumberVector, Presence } from '../vectors.ts';
import { clearAbsent, readBits } from './presence.ts';
import { allocate, type RecordBatch } from './record-batch.ts';
import type { ArrowField } from './schema.ts';

/** Rows [start..start + count) of an integer field. */
export function readIntegers(
  batch: RecordBatch,
  field: ArrowField,
  start: number,
  count: number,
  present: Presence,
): IntegerVector {
  const { bits, isSigned } = field.parameters;
  const values = integersOf(readValueBytes(batch, field, start, count, bits / 8), bits, isSigned, batch.place);
  clearAbsent(values, present);
  return { kind: 'integers', values, present };
}

/** Integers as wide as they are kept: 32 or 64 bits. Where that is how they are stored, the memory is shared. */
export function integersOf(
  { buffer, byteOffset, byteLength }: Uint8Array,
  bits: number,
  isSigned: boolean,
  place: string,
): IntegerVector['values'] {
  const count = (8 * byteLength) / bits;
  if (bits === 64)
    return isSigned ? new BigInt64Array(buffer, byteOffset, count) : new BigUint64Array(buffer, byteOffset, count);
  if (bits === 32)
    return isSigned ? new Int32Array(buffer, byteOffset, count) : new Uint32Array(buffer, byteOffset, count);
  return allocate(count, place, () => {
    if (isSigned && bits === 16) return new Int32Array(new Int16Array(buffer, byteOffset, count));
    if (isSigned) return new Int32Array(new Int8Array(buffer, byteOffset, count));
    if (bits === 16) return new Uint32Array(new Uint16Array(buffer, byteOffset, count));
    return new Uint32Array(new Uint8Array(buffer, byteOffset, count));
  });
}

/** Rows [start..start + count) of a float field. */
export function readNumbers(
  batch: RecordBatch,
  field: ArrowField,
  start: number,
  count: number,
  present: Presence,
): NumberVector {
  const { bits } = field.parameters;
  const { buffer, byteOffset } = readValueBytes(batch, field, start, count, bits / 8);
  let values: Float64Array;
  if (bits === 64) values = new Float64Array(buffer, byteOffset, count);
  else {
    values = allocate(count, batch.place, (length) => new Float64Array(length));
    if (bits === 32) values.set(new Float32Array(buffer, byteOffset, count));
    else {
      const halves = new Uint16Array(buffer, byteOffset, count);
      for (let i = 0; i < count; i++) values[i] = fromBinary16(halves[i]);
    }
  }
  clearAbsent(values, present);
  return { kind: 'numbers', values, present };
}

/** Rows [start..start + count) of a boolean field. */
export function readBooleans(
  batch: RecordBatch,
  field: ArrowField,
  start: number,
  count: number,
  present: Presence,
): BooleanVector {
  const values = readBits(batch, batch.bufferIndex(field, 1), start, count, `values of ${field.name}`);
  clearAbsent(values, present);
  return { kind: 'booleans', values, present };
}

export function fromBinary16(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (fraction + 0x400) * 2 ** (exponent - 25);
}

function readValueBytes(
  batch: RecordBatch,
  field: ArrowField,
  start: number,
  count: number,
  width: number,
): Uint8Array {
  const buffer = batch.bufferIndex(field, 1);
  const bytes = batch.bytes(buffer, start * width, (start + count) * width, `values of ${field.name}`);
  // What was decompressed is shared by reads; rows that are absent get zeros in it.
  return batch.codec === null ? bytes : bytes.slice();
}
