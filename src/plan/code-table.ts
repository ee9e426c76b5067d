/** Maps u32 codes to small numbers: a plain array where the codes lie close together, open addressing where not. */

const UNSEEN = 0xffffffff;
/** A direct array may be this many times longer than the row count before hashing is the smaller memory. */
const DIRECT_SPAN_PER_ROW = 4;
const DIRECT_SPAN_FREE = 1 << 16;

export interface CodeTable {
  /** The number given to `code`, or -1. */
  get(code: number): number;
  set(code: number, value: number): void;
}

/** A table for the codes of one column (`skip` is never looked up). */
export function codeTableFor(codes: Uint32Array, skip: number): CodeTable {
  let low = UNSEEN;
  let high = 0;
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i];
    if (code === skip) continue;
    if (code < low) low = code;
    if (code > high) high = code;
  }
  const span = high >= low ? high - low + 1 : 0;
  const direct = span <= Math.max(DIRECT_SPAN_FREE, codes.length * DIRECT_SPAN_PER_ROW);
  return direct ? new DirectTable(low, span) : new HashedTable();
}

class DirectTable implements CodeTable {
  readonly #low: number;
  readonly #values: Int32Array;

  constructor(low: number, span: number) {
    this.#low = low;
    this.#values = new Int32Array(span).fill(-1);
  }

  get(code: number): number {
    return this.#values[code - this.#low];
  }

  set(code: number, value: number): void {
    this.#values[code - this.#low] = value;
  }
}

class HashedTable implements CodeTable {
  #keys = new Uint32Array(1024);
  #values = new Int32Array(1024).fill(-1);
  #count = 0;

  get(code: number): number {
    return this.#values[this.#slot(code)];
  }

  set(code: number, value: number): void {
    const slot = this.#slot(code);
    if (this.#values[slot] < 0) this.#count++;
    this.#keys[slot] = code;
    this.#values[slot] = value;
    if (this.#count * 2 > this.#keys.length) this.#grow();
  }

  #slot(code: number): number {
    const mask = this.#keys.length - 1;
    let slot = scatterBits(code) & mask;
    while (this.#values[slot] >= 0 && this.#keys[slot] !== code) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const keys = this.#keys;
    const values = this.#values;
    this.#keys = new Uint32Array(keys.length * 2);
    this.#values = new Int32Array(keys.length * 2).fill(-1);
    for (let i = 0; i < keys.length; i++) {
      if (values[i] < 0) continue;
      const slot = this.#slot(keys[i]);
      this.#keys[slot] = keys[i];
      this.#values[slot] = values[i];
    }
  }
}

// The code of an integer id is its distance from another, so whoever writes a file chooses codes. Without keys that the
// writer does not know, ids could be made that all fall into one slot.
const KEY = (Math.random() * 0x100000000) >>> 0;
const MULTIPLIER = (Math.random() * 0x100000000) | 1;

/** A slot for a code, spread over a table; other slots in every process. */
export function scatterBits(code: number): number {
  let mixed = Math.imul(code ^ KEY, MULTIPLIER);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed = Math.imul(mixed ^ (mixed >>> 12) ^ KEY, MULTIPLIER);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
