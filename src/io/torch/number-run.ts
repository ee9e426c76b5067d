/** Counts plain numbers that follow one another in a pickle, in tight loops over their bytes. */
import { decodeLong } from './arguments.ts';
import type { ByteWindow } from './byte-window.ts';
import { Op } from './opcodes.ts';

/** The longest of the opcodes looked at here but LONG1 takes 9 bytes with its argument. */
const LONGEST = 9;
/** Bytes that an opcode takes with its argument, 0: it ends the run. FRAME stands between values, LONG1 varies. */
const SIZES = new Uint8Array(256);
SIZES[Op.BININT1] = 2;
SIZES[Op.BININT2] = 3;
SIZES[Op.BININT] = 5;
SIZES[Op.BINFLOAT] = 9;
SIZES[Op.NONE] = 1;
SIZES[Op.NEWTRUE] = 1;
SIZES[Op.NEWFALSE] = 1;

/** What a scan found; reused from run to run. */
export class NumberRun {
  count = 0;
  ones = 0;
  /** As ListValue has them. */
  invalidEntry = -1;
  invalidFound = '';

  /**
   * Counts the numbers from the cursor on, which is left on the opcode that ends them; that opcode is returned, 0 at the
   * end of the pickle.
   */
  scan(window: ByteWindow): number {
    this.count = 0;
    this.ones = 0;
    this.invalidEntry = -1;
    for (;;) {
      if (window.limit - window.cursor < LONGEST && !window.isAtEnd) window.slide();
      const last = window.isAtEnd ? window.limit : window.limit - LONGEST;
      const opcode = this.invalidEntry < 0 ? this.#countOnes(window, last) : this.#countAll(window, last);
      if (window.cursor > window.limit) throw window.error('is cut off inside a number', window.byteLength);
      if (opcode === Op.FRAME) {
        window.require(9);
        window.cursor += 9;
      } else if (opcode === Op.LONG1) this.#countLong(window);
      else if (opcode >= 0) return opcode;
    }
  }

  /** Stops at the first number that is no entry of a mask, too, which is then the invalid one. Returns -1 to go on. */
  #countOnes(window: ByteWindow, last: number): number {
    const { bytes } = window;
    let position = window.cursor;
    let { count, ones } = this;
    let opcode = -1;
    while (position <= last) {
      opcode = bytes[position];
      if (opcode === Op.BININT1) {
        const value = bytes[position + 1];
        if (value > 1) break;
        ones += value;
        position += 2;
      } else if (opcode === Op.NEWTRUE || opcode === Op.NEWFALSE) {
        ones += opcode === Op.NEWTRUE ? 1 : 0;
        position++;
      } else break;
      count++;
      opcode = -1;
    }
    window.cursor = position;
    this.count = count;
    this.ones = ones;
    return opcode >= 0 && SIZES[opcode] > 0 ? this.#countOddOne(window, opcode) : opcode;
  }

  /** A number of an unusual kind, which may be invalid. */
  #countOddOne(window: ByteWindow, opcode: number): number {
    const { view, cursor } = window;
    let value: number | null = null;
    if (opcode === Op.BININT1) value = view.getUint8(cursor + 1);
    else if (opcode === Op.BININT2) value = view.getUint16(cursor + 1, true);
    else if (opcode === Op.BININT) value = view.getInt32(cursor + 1, true);
    else if (opcode === Op.BINFLOAT) value = view.getFloat64(cursor + 1, false);
    this.#add(value, value === null ? 'None' : String(value));
    window.cursor += SIZES[opcode];
    return -1;
  }

  #countLong(window: ByteWindow): void {
    window.require(2);
    const length = window.bytes[window.cursor + 1];
    window.require(2 + length);
    if (this.invalidEntry < 0) {
      const value = decodeLong(window.bytes, window.cursor + 2, length);
      this.#add(value, value.toString().slice(0, 40));
    } else this.count++;
    window.cursor += 2 + length;
  }

  #add(value: number | bigint | null, text: string): void {
    if (value === 1) this.ones++;
    else if (value !== 0) {
      this.invalidEntry = this.count;
      this.invalidFound = text;
    }
    this.count++;
  }

  #countAll(window: ByteWindow, last: number): number {
    const { bytes } = window;
    const lastOfFour = last - 3 * LONGEST;
    let position = window.cursor;
    let { count } = this;
    while (position <= last) {
      if (bytes[position] === Op.BINFLOAT) {
        // Log probabilities are floats throughout.
        do {
          position += LONGEST;
          count++;
        } while (position <= last && bytes[position] === Op.BINFLOAT);
        continue;
      }
      // Token ids take 3 or 5 bytes in no order that a processor could guess, so that a table is faster than branches.
      while (position <= lastOfFour) {
        const start = position;
        position += SIZES[bytes[position]];
        position += SIZES[bytes[position]];
        position += SIZES[bytes[position]];
        const size = SIZES[bytes[position]];
        if (size === 0) {
          position = start;
          break;
        }
        position += size;
        count += 4;
      }
      if (position > last) break;
      const size = SIZES[bytes[position]];
      if (size === 0) {
        window.cursor = position;
        this.count = count;
        return bytes[position];
      }
      position += size;
      count++;
    }
    window.cursor = position;
    this.count = count;
    return -1;
  }
}
