/** A vector that entries are appended to: a dictionary to which every batch may add. */
import { InputError } from '../../errors.ts';
import type { Vector } from '../vectors.ts';

type Values = Uint8Array | Int32Array | Uint32Array | Float64Array | BigInt64Array | BigUint64Array;

export class GrowingVector {
  length = 0;
  #kind: Vector['kind'] = 'nulls';
  /** Numbers, or codes of texts. */
  #values: Values = new Uint8Array(0);
  #present: Uint8Array | null = null;
  #bytes: Uint8Array = new Uint8Array(0);
  #offsets: Float64Array = new Float64Array(1);
  #textCount = 0;

  /** @throws InputError where it is a vector of another kind than those before */
  append(added: Vector, count: number): void {
    const { length } = this;
    if (length > 0 && added.kind !== this.#kind)
      throw new InputError(`a dictionary of ${this.#kind} goes on with ${added.kind}`);
    this.#kind = added.kind;
    if (added.kind === 'masks') throw new InputError('a dictionary holds lists');
    if (added.kind !== 'nulls') {
      this.#appendPresence(added.present, count);
      if (added.kind === 'texts') this.#appendTexts(added.codes, added.bytes, added.offsets, count);
      else this.#values = appended(this.#values, length, added.values, count);
    }
    this.length += count;
  }

  /** What there is now; it stays as it is when more is appended. */
  vector(): Vector {
    const { length } = this;
    const present = this.#present?.subarray(0, length) ?? null;
    const values = this.#values.subarray(0, length);
    switch (this.#kind) {
      case 'integers':
        return { kind: 'integers', values: values as Int32Array, present };
      case 'numbers':
        return { kind: 'numbers', values: values as Float64Array, present };
      case 'booleans':
        return { kind: 'booleans', values: values as Uint8Array, present };
      case 'texts': {
        const offsets = this.#offsets.subarray(0, this.#textCount + 1);
        const bytes = this.#bytes.subarray(0, offsets[this.#textCount]);
        return { kind: 'texts', codes: values as Uint32Array, bytes, offsets, present };
      }
      default:
        return { kind: 'nulls' };
    }
  }

  #appendPresence(added: Uint8Array | null, count: number): void {
    if (added === null && this.#present === null) return;
    const before = this.#present ?? new Uint8Array(this.length).fill(1);
    this.#present = appended(before, this.length, added ?? new Uint8Array(count).fill(1), count);
  }

  #appendTexts(codes: Uint32Array, bytes: Uint8Array, offsets: Float64Array | Uint32Array, count: number): void {
    const shift = this.#textCount;
    this.#values = appended(
      this.#values,
      this.length,
      codes.map((code) => code + shift),
      count,
    );
    const textCount = offsets.length - 1;
    const byteLength = this.#offsets[this.#textCount];
    this.#bytes = appended(this.#bytes, byteLength, bytes, bytes.length);
    const moved = Float64Array.from(offsets, (offset) => offset + byteLength);
    // The last offset so far is the first of what is added.
    this.#offsets = appended(this.#offsets, this.#textCount, moved, moved.length);
    this.#textCount += textCount;
  }
}

/** The array with `count` values of another at `length`: in place if there is room, else in twice the memory. */
function appended<T extends Values>(array: T, length: number, added: T, count: number): T {
  let target = array;
  if (length === 0 || length + count > array.length) {
    target = new (added.constructor as new (length: number) => T)(
      Math.max(length + count, length === 0 ? 0 : 2 * length),
    );
    if (length > 0) (target as Uint8Array).set(array.subarray(0, length) as Uint8Array);
  }
  (target as Uint8Array).set(added.subarray(0, count) as Uint8Array, length);
  return target;
}
