/** FlatBuffers tables read from untrusted bytes: every offset and length is checked before it is followed. */
import { InputError } from '../../errors.ts';

/** A vector inside a FlatBuffer: where its first entry is, and how many there are. All of its bytes exist. */
export interface FlatVector {
  readonly start: number;
  readonly length: number;
}

/** One FlatBuffer and what messages call it. */
export class FlatBuffer {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly #place: string;

  /** @param place begins the messages: `the schema message at byte 8` */
  constructor(bytes: Uint8Array, place: string) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#place = place;
  }

  malformed(what: string): InputError {
    return new InputError(`${this.#place} is malformed: ${what}`);
  }

  root(): FlatTable {
    return new FlatTable(this, this.target(0));
  }

  /** Follows the offset that is stored at `position`. */
  target(position: number): number {
    this.require(position, 4, 'an offset');
    const offset = this.view.getUint32(position, true);
    const target = position + offset;
    if (offset === 0 || target > this.bytes.length - 4)
      throw this.malformed(`the offset at ${position} leads to ${target}, past its ${this.bytes.length} bytes`);
    return target;
  }

  require(position: number, byteLength: number, what: string): void {
    if (position < 0 || position + byteLength > this.bytes.length)
      throw this.malformed(`${what} at ${position} ends past its ${this.bytes.length} bytes`);
  }

  vectorAt(position: number, entryByteLength: number): FlatVector {
    this.require(position, 4, 'a vector');
    const length = this.view.getUint32(position, true);
    this.require(position + 4, length * entryByteLength, `a vector of ${length} entries`);
    return { start: position + 4, length };
  }

  /** A 64-bit count or position. */
  safeInteger(position: number, what: string): number {
    const value = this.view.getBigInt64(position, true);
    if (value < 0n || value > Number.MAX_SAFE_INTEGER) throw this.malformed(`${what} is ${value}`);
    return Number(value);
  }
}

export class FlatTable {
  readonly buffer: FlatBuffer;
  readonly position: number;
  /** Slots that the writer's schema knew, whether filled or not. */
  readonly slotCount: number;
  readonly #vtable: number;
  readonly #byteLength: number;

  constructor(buffer: FlatBuffer, position: number) {
    buffer.require(position, 4, 'a table');
    const vtable = position - buffer.view.getInt32(position, true);
    buffer.require(vtable, 4, 'a vtable');
    const vtableByteLength = buffer.view.getUint16(vtable, true);
    if (vtableByteLength < 4 || vtableByteLength % 2 !== 0)
      throw buffer.malformed(`the vtable at ${vtable} has ${vtableByteLength} bytes`);
    buffer.require(vtable, vtableByteLength, 'a vtable');
    this.buffer = buffer;
    this.position = position;
    this.slotCount = (vtableByteLength - 4) / 2;
    this.#vtable = vtable;
    this.#byteLength = buffer.view.getUint16(vtable + 2, true);
    buffer.require(position, this.#byteLength, 'a table');
  }

  has(slot: number): boolean {
    return this.#find(slot, 1) >= 0;
  }

  uint8(slot: number): number {
    const position = this.#find(slot, 1);
    return position < 0 ? 0 : this.buffer.view.getUint8(position);
  }

  int16(slot: number, absent = 0): number {
    const position = this.#find(slot, 2);
    return position < 0 ? absent : this.buffer.view.getInt16(position, true);
  }

  int32(slot: number, absent = 0): number {
    const position = this.#find(slot, 4);
    return position < 0 ? absent : this.buffer.view.getInt32(position, true);
  }

  bigInt64(slot: number): bigint {
    const position = this.#find(slot, 8);
    return position < 0 ? 0n : this.buffer.view.getBigInt64(position, true);
  }

  /** A 64-bit count or position. */
  safeInteger(slot: number, what: string): number {
    const position = this.#find(slot, 8);
    return position < 0 ? 0 : this.buffer.safeInteger(position, what);
  }

  /** Where the object of an offset slot is, or -1. */
  target(slot: number): number {
    const position = this.#find(slot, 4);
    return position < 0 ? -1 : this.buffer.target(position);
  }

  table(slot: number): FlatTable | null {
    const target = this.target(slot);
    return target < 0 ? null : this.at(target);
  }

  /** Another table of the same FlatBuffer. */
  at(position: number): FlatTable {
    return new FlatTable(this.buffer, position);
  }

  vector(slot: number, entryByteLength: number): FlatVector | null {
    const target = this.target(slot);
    return target < 0 ? null : this.buffer.vectorAt(target, entryByteLength);
  }

  /** Positions of the tables of a vector of tables. */
  tablePositions(slot: number): number[] {
    const vector = this.vector(slot, 4);
    const positions: number[] = [];
    for (let i = 0; vector !== null && i < vector.length; i++) {
      positions.push(this.buffer.target(vector.start + 4 * i));
    }
    return positions;
  }

  text(slot: number): string | null {
    const vector = this.vector(slot, 1);
    if (vector === null) return null;
    return new TextDecoder().decode(this.buffer.bytes.subarray(vector.start, vector.start + vector.length));
  }

  #find(slot: number, byteLength: number): number {
    if (slot >= this.slotCount) return -1;
    const offset = this.buffer.view.getUint16(this.#vtable + 4 + 2 * slot, true);
    if (offset === 0) return -1;
    if (offset < 4 || offset + byteLength > this.#byteLength)
      throw this.buffer.malformed(`slot ${slot} of the table at ${this.position} lies outside it`);
    return this.position + offset;
  }
}
