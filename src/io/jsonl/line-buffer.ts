/** Output bytes collected until they are worth writing. */
import { offerSpare, takeMemory } from '../spare-memory.ts';

export class LineBuffer {
  length = 0;
  #storage: Buffer;
  #view: DataView;
  /** The bytes that were copied from last, and a view of them. */
  #source: Uint8Array = EMPTY;
  #sourceView = viewOf(EMPTY);

  constructor(capacity = 1 << 16) {
    this.#storage = takeMemory(capacity);
    this.#view = viewOf(this.#storage);
  }

  /** What was appended; valid until the next append or clear. */
  get bytes(): Uint8Array {
    return this.#storage.subarray(0, this.length);
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    const byteLength = end - start;
    if (byteLength <= 0) return;
    this.#reserve(byteLength);
    if (byteLength > LONG_COPY) this.#storage.set(bytes.subarray(start, end), this.length);
    else if (byteLength >= SHORT_COPY) this.#copyWords(this.#viewOf(bytes), start, end);
    else for (let i = start, to = this.length; i < end; i++, to++) this.#storage[to] = bytes[i];
    this.length += byteLength;
  }

  /** All of another one. */
  appendAll(other: LineBuffer): void {
    this.#reserve(other.length);
    if (other.length < 4) this.append(other.bytes, 0, other.length);
    else {
      this.#copyWords(other.#view, 0, other.length);
      this.length += other.length;
    }
  }

  appendText(text: string): void {
    this.#reserve(3 * text.length);
    if (text.length > LONG_TEXT || !this.#copyPlain(text)) this.length += this.#storage.write(text, this.length);
  }

  appendByte(byte: number): void {
    this.#reserve(1);
    this.#storage[this.length++] = byte;
  }

  clear(): void {
    this.length = 0;
  }

  /** What was appended, for good: the memory is the receiver's, who may give it to another thread. */
  take(): Uint8Array {
    const taken = this.bytes;
    this.#replace(this.#storage.length);
    this.length = 0;
    return taken;
  }

  #viewOf(bytes: Uint8Array): DataView {
    if (bytes !== this.#source) {
      this.#source = bytes;
      this.#sourceView = viewOf(bytes);
    }
    return this.#sourceView;
  }

  /** Leaves the memory to the next buffer of this thread. */
  release(): void {
    offerSpare(this.#storage.buffer as ArrayBuffer);
    this.#storage = EMPTY;
    this.length = 0;
  }

  /** Four bytes at a time, which for a line of some hundred bytes costs less than the view that set() would need. */
  #copyWords(from: DataView, start: number, end: number): void {
    const into = this.#view;
    const shift = this.length - start;
    const last = end - 4;
    for (let i = start; i < last; i += 4) into.setInt32(i + shift, from.getInt32(i, true), true);
    // The last word may overlap the one before, so that no length needs a remainder.
    into.setInt32(last + shift, from.getInt32(last, true), true);
  }

  /** False, and nothing counts as appended, where the text is not ASCII. */
  #copyPlain(text: string): boolean {
    const storage = this.#storage;
    let to = this.length;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0x7f) return false;
      storage[to++] = unit;
    }
    this.length = to;
    return true;
  }

  #reserve(byteLength: number): void {
    const needed = this.length + byteLength;
    if (needed <= this.#storage.length) return;
    const old = this.bytes;
    this.#replace(Math.max(2 * this.#storage.length, needed));
    this.#storage.set(old);
  }

  #replace(capacity: number): void {
    this.#storage = takeMemory(capacity);
    this.#view = viewOf(this.#storage);
  }
}

/** Below this a loop over bytes, above LONG_COPY a native copy is the fastest. */
const SHORT_COPY = 16;
const LONG_COPY = 768;
const LONG_TEXT = 256;
const EMPTY = Buffer.allocUnsafeSlow(0);

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
