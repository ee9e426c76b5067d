/** Validity bitmaps as one byte a row, and vectors whose rows are rearranged. */
import type { Presence, Vector } from '../vectors.ts';
import { allocate, type RecordBatch } from './record-batch.ts';
import type { ArrowField } from './schema.ts';

/** Which of the rows [start..start + count) of a field are not null; its first buffer must be a validity bitmap. */
export function readPresence(batch: RecordBatch, field: ArrowField, start: number, count: number): Presence {
  if (count === 0 || batch.node(field.nodeIndex).nullCount === 0) return null;
  const present = readBits(batch, batch.bufferIndex(field, 0), start, count, `validity bitmap of ${field.name}`);
  return present.includes(0) ? present : null;
}

/** Bits of a buffer, one byte each. */
export function readBits(batch: RecordBatch, buffer: number, start: number, count: number, what: string): Uint8Array {
  const firstByte = Math.floor(start / 8);
  const packed = batch.bytes(buffer, firstByte, Math.ceil((start + count) / 8), what);
  const bits = allocate(count, batch.place, (length) => new Uint8Array(length));
  let bit = start - 8 * firstByte;
  for (let i = 0; i < count; i++, bit++) bits[i] = (packed[bit >>> 3] >>> (bit & 7)) & 1;
  return bits;
}

/** Present where both are; the memory of `own` is used for the result. */
export function bothPresent(outer: Presence, own: Presence): Presence {
  if (outer === null || own === null) return outer ?? own;
  for (let i = 0; i < own.length; i++) own[i] &= outer[i];
  return own;
}

/** Zeros where rows are absent: what the bytes hold there means nothing. */
export function clearAbsent(
  values: Int32Array | Uint32Array | Float64Array | Uint8Array | BigInt64Array | BigUint64Array,
  present: Presence,
): void {
  if (present === null) return;
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    // A loop over numbers is faster than one over BigInts.
    const halves = new Uint32Array(values.buffer, values.byteOffset, 2 * values.length);
    for (let i = 0; i < present.length; i++) if (present[i] === 0) halves[2 * i] = halves[2 * i + 1] = 0;
  } else for (let i = 0; i < present.length; i++) if (present[i] === 0) values[i] = 0;
}

type Rows = Int32Array | Uint32Array | Float64Array;

/** Row i of the result is row rows[i] of the vector where `present` says so, and absent elsewhere. */
export function gather(vector: Vector, rows: Rows, present: Presence): Vector {
  if (vector.kind === 'nulls') return vector;
  const count = rows.length;
  const taken = takePresence(vector.present, rows, present);
  const each = (copy: (to: number, from: number) => void) => {
    for (let i = 0; i < count; i++) if (taken === null || taken[i] === 1) copy(i, rows[i]);
  };
  switch (vector.kind) {
    case 'integers': {
      const { values: from } = vector;
      const to = new (from.constructor as new (length: number) => typeof from)(count);
      each((i, row) => (to[i] = from[row]));
      return { kind: 'integers', values: to, present: taken };
    }
    case 'numbers': {
      const to = new Float64Array(count);
      each((i, row) => (to[i] = vector.values[row]));
      return { kind: 'numbers', values: to, present: taken };
    }
    case 'booleans': {
      const to = new Uint8Array(count);
      each((i, row) => (to[i] = vector.values[row]));
      return { kind: 'booleans', values: to, present: taken };
    }
    case 'texts': {
      const to = new Uint32Array(count);
      each((i, row) => (to[i] = vector.codes[row]));
      return { ...vector, codes: to, present: taken };
    }
    case 'masks': {
      const ones = new Uint32Array(count);
      const lengths = new Uint32Array(count);
      let invalid: { row: number; found: string } | null = null;
      each((i, row) => {
        ones[i] = vector.ones[row];
        lengths[i] = vector.lengths[row];
        if (vector.invalid?.row === row) invalid ??= { row: i, found: vector.invalid.found };
      });
      return { kind: 'masks', ones, lengths, present: taken, invalid };
    }
  }
}

function takePresence(inner: Presence, rows: Rows, outer: Presence): Presence {
  if (inner === null) return outer;
  const taken = new Uint8Array(rows.length);
  for (let i = 0; i < taken.length; i++) taken[i] = outer === null || outer[i] === 1 ? inner[rows[i]] : 0;
  return taken.includes(0) ? taken : null;
}
