/** The rollout keys of one prompt group at a time: emptied in constant time, and no larger than the group needs. */
import { scatterBits } from './code-table.ts';

const SMALLEST = 16;
/** A group begins with at most this many slots, which stay in cache; only keys that are really there make it wider. */
const LARGEST_AT_FIRST = 256;

export class KeyTable {
  #keys = new Uint32Array(LARGEST_AT_FIRST);
  #values = new Uint32Array(LARGEST_AT_FIRST);
  // An entry counts only if its stamp is the current epoch, so a new group costs no clearing.
  #stamps = new Uint32Array(LARGEST_AT_FIRST);
  #epoch = 1;
  #mask = SMALLEST - 1;
  #count = 0;

  /**
   * Forgets every key. The part of the arrays in use shrinks back, so that small groups stay in cache after a giant.
   * @param rowCount of the group: it cannot have more keys
   */
  begin(rowCount: number): void {
    this.#count = 0;
    this.#mask = SMALLEST - 1;
    while (this.#mask < rowCount * 2 && this.#mask + 1 < LARGEST_AT_FIRST) this.#mask = this.#mask * 2 + 1;
    this.#nextEpoch();
  }

  /** The value of `key`; where it is new, `value` is stored and returned. */
  findOrAdd(key: number, value: number): number {
    let slot = scatterBits(key) & this.#mask;
    for (; this.#stamps[slot] === this.#epoch; slot = (slot + 1) & this.#mask) {
      if (this.#keys[slot] === key) return this.#values[slot];
    }
    this.#keys[slot] = key;
    this.#values[slot] = value;
    this.#stamps[slot] = this.#epoch;
    if (++this.#count * 2 > this.#mask) this.#widen();
    return value;
  }

  #widen(): void {
    const keys: Uint32Array = this.#keys.slice(0, this.#mask + 1);
    const values: Uint32Array = this.#values.slice(0, this.#mask + 1);
    const used = this.#stamps.slice(0, this.#mask + 1);
    const epoch = this.#epoch;
    this.#mask = this.#mask * 2 + 1;
    if (this.#keys.length <= this.#mask) {
      this.#keys = new Uint32Array(this.#mask + 1);
      this.#values = new Uint32Array(this.#mask + 1);
      this.#stamps = new Uint32Array(this.#mask + 1);
    }
    this.#nextEpoch();
    for (let i = 0; i < keys.length; i++) {
      if (used[i] !== epoch) continue;
      let slot = scatterBits(keys[i]) & this.#mask;
      while (this.#stamps[slot] === this.#epoch) slot = (slot + 1) & this.#mask;
      this.#keys[slot] = keys[i];
      this.#values[slot] = values[i];
      this.#stamps[slot] = this.#epoch;
    }
  }

  #nextEpoch(): void {
    if (++this.#epoch > 0xffffffff) {
      this.#stamps.fill(0);
      this.#epoch = 1;
    }
  }
}
