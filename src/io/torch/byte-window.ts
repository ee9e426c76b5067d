/** A window that slides over one span of a stored file; the bytes under it are read in place, others on request. */
import { InputError } from '../../errors.ts';
import type { RandomAccessFile } from '../random-access.ts';

const WINDOW_SIZE = 1 << 19;
/** Zeros after the last byte in the window, so that loops over short items need no check inside. */
export const WINDOW_SLACK = 16;

export class ByteWindow {
  readonly bytes = new Uint8Array(WINDOW_SIZE + WINDOW_SLACK);
  readonly view = new DataView(this.bytes.buffer);
  /** The next byte to read, as an index into `bytes`. */
  cursor = 0;
  /** Bytes in the window; zeros follow. */
  limit = 0;
  readonly byteLength: number;
  readonly #file: RandomAccessFile;
  readonly #start: number;
  readonly #label: string;
  /** Position in the span of the window's first byte. */
  #base = 0;

  /** @param label what messages call the span */
  constructor(file: RandomAccessFile, start: number, byteLength: number, label: string) {
    this.#file = file;
    this.#start = start;
    this.#label = label;
    this.byteLength = byteLength;
  }

  /** Position of the next byte in the span. */
  get position(): number {
    return this.#base + this.cursor;
  }

  get isAtEnd(): boolean {
    return this.#base + this.limit >= this.byteLength;
  }

  seek(position: number): void {
    if (position >= this.#base && position <= this.#base + this.limit) {
      this.cursor = position - this.#base;
    } else {
      this.#base = position;
      this.cursor = 0;
      this.limit = 0;
    }
  }

  /** Makes `count` bytes after the cursor readable, at most WINDOW_SIZE. @throws InputError where the span ends before */
  require(count: number): void {
    if (this.cursor + count <= this.limit) return;
    if (this.byteLength - this.position < count) throw this.error('is cut off: it ends inside a value');
    this.slide();
  }

  /** Moves on over bytes that nobody needs. */
  skip(count: number): void {
    if (this.byteLength - this.position < count)
      throw this.error(`is cut off: ${count} bytes of a value should follow`);
    this.seek(this.position + count);
  }

  /** Drops what is before the cursor and reads as much as fits. */
  slide(): void {
    const left = Math.max(0, this.limit - this.cursor);
    this.bytes.copyWithin(0, this.cursor, this.limit);
    this.#base += this.cursor;
    this.cursor = 0;
    const more = Math.min(WINDOW_SIZE - left, this.byteLength - this.#base - left);
    this.#file.readInto(this.bytes.subarray(left, left + more), this.#start + this.#base + left);
    this.limit = left + more;
    this.bytes.fill(0, this.limit, this.limit + WINDOW_SLACK);
  }

  /** Bytes anywhere in the span, as a view that lasts until the next call. */
  read(position: number, count: number): Uint8Array {
    if (position >= this.#base && position + count <= this.#base + this.limit) {
      return this.bytes.subarray(position - this.#base, position - this.#base + count);
    }
    const target = new Uint8Array(count);
    this.#file.readInto(target, this.#start + position);
    return target;
  }

  /** @param position where, if not at the cursor */
  error(message: string, position: number = this.position): InputError {
    return new InputError(`byte ${position} of ${this.#label}: ${message}`);
  }
}
