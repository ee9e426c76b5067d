/** Memory that is used again from row group to row group: what is freed and taken anew by the megabyte is seldom given back. */
import { InputError } from '../../errors.ts';
import { Bitmap } from './bitmap.ts';

export class Scratch {
  /** Of one page of a mask. */
  readonly bits = new Bitmap();
  positions: Uint32Array = new Uint32Array(1024);
  #free: ArrayBuffer[] = [];
  #used: ArrayBuffer[] = [];

  /**
   * Zeros, in a buffer of exactly that length.
   * @throws InputError where there is not that much memory
   */
  take(length: number, bytesPerElement: 1 | 4 | 8): ArrayBuffer {
    const byteLength = length * bytesPerElement;
    const found = this.#free.findIndex((buffer) => buffer.byteLength === byteLength);
    const [buffer] = found < 0 ? [allocate(length, byteLength)] : this.#free.splice(found, 1);
    if (found >= 0) new Uint8Array(buffer).fill(0);
    this.#used.push(buffer);
    return buffer;
  }

  /** What was taken before this may be overwritten; what nobody has taken since the last time is let go. */
  recycle(): void {
    this.#free = this.#used;
    this.#used = [];
  }
}

function allocate(length: number, byteLength: number): ArrayBuffer {
  try {
    return new ArrayBuffer(byteLength);
  } catch (cause) {
    if (cause instanceof RangeError)
      throw new InputError(`a row group of ${length} rows does not fit into memory`, { cause });
    throw cause;
  }
}
