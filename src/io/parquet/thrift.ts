/** Thrift's compact protocol over bytes in memory, as far as Parquet's footers and page headers use it. */
import { InputError } from '../../errors.ts';

/** Types of struct fields; list elements use them too, with `true` for both booleans. */
export const ThriftType = {
  stop: 0,
  true: 1,
  false: 2,
  byte: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  set: 10,
  map: 11,
  struct: 12,
  uuid: 13,
} as const;

/** Bytes of the types that always have the same number; booleans lie in the header of their field. */
const FIXED_LENGTHS: Readonly<Record<number, number>> = {
  [ThriftType.true]: 0,
  [ThriftType.false]: 0,
  [ThriftType.byte]: 1,
  [ThriftType.double]: 8,
  [ThriftType.uuid]: 16,
};

/** Structs and lists inside one another; Parquet's own stay under ten. */
const DEEPEST = 32;

/** Thrown where the bytes end inside a value; a window that can grow tries again. */
export class ThriftCutOff extends InputError {}

/** Reads values one after the other; `place` names in messages what the bytes are. */
export class ThriftReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  position: number;
  readonly #place: string;
  #depth = 0;
  #lastBoolean = false;

  constructor(bytes: Uint8Array, position: number, end: number, place: string) {
    this.bytes = bytes;
    this.position = position;
    this.end = end;
    this.#place = place;
  }

  /** Reads a struct; `visit` gets each field and consumes its value, or returns false to have it skipped. */
  struct(visit: (id: number, type: number) => boolean): void {
    this.#enter();
    let id = 0;
    for (;;) {
      const header = this.#byte();
      const type = header & 0x0f;
      if (type === ThriftType.stop) break;
      const delta = header >>> 4;
      id = delta === 0 ? this.integer() : id + delta;
      if (!(id > 0 && id < 0x8000)) throw this.#broken(`a field is numbered ${id}`);
      this.#lastBoolean = type === ThriftType.true;
      if (!visit(id, type)) this.skip(type);
    }
    this.#depth--;
  }

  /** Reads a list's header and calls `visit` once for each of its elements, which it consumes. */
  list(visit: (index: number, elementType: number) => void): void {
    this.#enter();
    const header = this.#byte();
    const elementType = header & 0x0f;
    const count = header >>> 4 === 15 ? this.#unsigned() : header >>> 4;
    // Every element takes a byte at least, so that the count cannot outrun the bytes.
    if (count > this.end - this.position) throw this.#cutOff();
    for (let i = 0; i < count; i++) visit(i, elementType);
    this.#depth--;
  }

  /** A zigzag integer of any width up to 64 bits. */
  integer(): number {
    const value = this.#unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** The value of a boolean field that `struct` is visiting. */
  boolean(): boolean {
    return this.#lastBoolean;
  }

  binary(): Uint8Array {
    const length = this.#unsigned();
    if (length > this.end - this.position) throw this.#cutOff();
    const start = this.position;
    this.position += length;
    return this.bytes.subarray(start, this.position);
  }

  text(): string {
    return new TextDecoder().decode(this.binary());
  }

  /** Passes over a struct field's value. */
  skip(type: number): void {
    const length = FIXED_LENGTHS[type];
    if (length !== undefined) this.#advance(length);
    else if (type === ThriftType.i16 || type === ThriftType.i32 || type === ThriftType.i64) this.#skipVarint();
    else if (type === ThriftType.binary) this.#advance(this.#unsigned());
    else if (type === ThriftType.list || type === ThriftType.set) this.list((_, inner) => this.#skipElement(inner));
    else if (type === ThriftType.map) this.#skipMap();
    else if (type === ThriftType.struct) this.struct(() => false);
    else throw this.#broken(`a field has type ${type}`);
  }

  #skipVarint(): void {
    for (let length = 1; (this.#byte() & 0x80) !== 0; length++) {
      if (length === 10) throw this.#broken('an integer is longer than ten bytes');
    }
  }

  /** Passes over a list element; booleans have a byte of their own there. */
  #skipElement(type: number): void {
    if (type === ThriftType.true || type === ThriftType.false) this.#advance(1);
    else this.skip(type);
  }

  #skipMap(): void {
    this.#enter();
    const count = this.#unsigned();
    if (count > this.end - this.position) throw this.#cutOff();
    const types = count === 0 ? 0 : this.#byte();
    for (let i = 0; i < count; i++) {
      this.#skipElement(types >>> 4);
      this.#skipElement(types & 0x0f);
    }
    this.#depth--;
  }

  #enter(): void {
    if (++this.#depth > DEEPEST) throw this.#broken(`values are nested more than ${DEEPEST} deep`);
  }

  #advance(length: number): void {
    if (length > this.end - this.position) throw this.#cutOff();
    this.position += length;
  }

  #byte(): number {
    if (this.position >= this.end) throw this.#cutOff();
    return this.bytes[this.position++];
  }

  #unsigned(): number {
    let value = 0;
    let scale = 1;
    for (let length = 1; length <= 10; length++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER) throw this.#broken('an integer is past 2^53');
        return value;
      }
      scale *= 0x80;
    }
    throw this.#broken('an integer is longer than ten bytes');
  }

  #broken(what: string): InputError {
    return new InputError(`${this.#place} is corrupt: ${what}`);
  }

  #cutOff(): ThriftCutOff {
    return new ThriftCutOff(`${this.#place} is cut off: it ends inside a value`);
  }
}

/** A field that `struct` is visiting must have the type that the format gives it. */
export function checkType(found: number, expected: number, place: string): true {
  if (found !== expected) throw new InputError(`${place} is corrupt: a field has type ${found}, expected ${expected}`);
  return true;
}
