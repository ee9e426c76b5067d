/** Lines out of chunks of bytes, without copying the lines that lie inside one chunk. */
import { InputError } from '../../errors.ts';

export interface LineOptions {
  /** The most bytes a line may have, its line feed not counted. */
  readonly maxLine?: number;
}

/**
 * A line is bytes[start..end): without its line feed, with a carriage return that comes before it. The bytes are only
 * valid during the call.
 */
export type LineVisitor = (bytes: Uint8Array, start: number, end: number, lineNumber: number) => void;

export const DEFAULT_MAX_LINE = 256 * 2 ** 20;

/**
 * Calls `visit` for every line that is not blank and returns the number of physical lines. Only a line feed separates
 * lines; a byte order mark at the very start is dropped.
 */
export async function forEachLine(
  chunks: AsyncIterable<Uint8Array>,
  { maxLine = DEFAULT_MAX_LINE }: LineOptions,
  visit: LineVisitor,
): Promise<number> {
  // Positions inside a line are kept as 32-bit integers.
  const limit = Math.min(maxLine, 2 ** 31 - 1);
  const carry = new Carry();
  let lineNumber = 0;

  const deliver = (bytes: Uint8Array, start: number, end: number) => {
    lineNumber++;
    if (lineNumber === 1) start = skipByteOrderMark(bytes, start, end);
    if (!isBlank(bytes, start, end)) visit(bytes, start, end, lineNumber);
  };
  const requireWithinLimit = (byteLength: number) => {
    if (byteLength > limit) throw new InputError(`line ${lineNumber + 1}: is longer than ${limit} bytes (--max-line)`);
  };

  for await (const chunk of chunks) {
    const bytes = asBuffer(chunk);
    let start = 0;
    for (let feed = bytes.indexOf(LINE_FEED); feed >= 0; feed = bytes.indexOf(LINE_FEED, start)) {
      requireWithinLimit(carry.length + feed - start);
      if (carry.length > 0) {
        carry.append(bytes, start, feed, limit);
        deliver(carry.bytes, 0, carry.length);
        carry.clear();
      } else {
        deliver(bytes, start, feed);
      }
      start = feed + 1;
    }
    requireWithinLimit(carry.length + bytes.length - start);
    carry.append(bytes, start, bytes.length, limit);
  }
  if (carry.length > 0) deliver(carry.bytes, 0, carry.length);
  return lineNumber;
}

const LINE_FEED = 0x0a;

/** The beginning of a line that goes on in the next chunk. */
class Carry {
  length = 0;
  #storage = Buffer.allocUnsafe(0);

  /** Exactly the carried bytes, so that a search in them cannot run into what older lines left behind. */
  get bytes(): Uint8Array {
    return this.#storage.subarray(0, this.length);
  }

  append(bytes: Uint8Array, start: number, end: number, limit: number): void {
    const length = this.length + end - start;
    if (length > this.#storage.length) {
      const larger = Buffer.allocUnsafe(
        Math.min(Math.max(2 * this.#storage.length, length, 1024), Math.max(limit, length)),
      );
      larger.set(this.#storage.subarray(0, this.length));
      this.#storage = larger;
    }
    this.#storage.set(bytes.subarray(start, end), this.length);
    this.length = length;
  }

  clear(): void {
    this.length = 0;
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function skipByteOrderMark(bytes: Uint8Array, start: number, end: number): number {
  const marked = end - start >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf;
  return marked ? start + 3 : start;
}

export function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const byte = bytes[i];
    if (byte !== 0x20 && byte !== 0x0d && byte !== 0x09) return false;
  }
  return true;
}
