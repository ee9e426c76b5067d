/** The lines that begin inside a range of a file, so that several threads can share one file. */
import { InputError } from '../../errors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import { offerSpare, takeMemory } from '../spare-memory.ts';
import { DEFAULT_MAX_LINE, isBlank, type LineVisitor, skipByteOrderMark } from './lines.ts';

export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Thrown where a line breaks a rule; counted in the range, from 1. */
export class RecordError extends InputError {
  readonly record: number;

  constructor(record: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.record = record;
  }
}

const WINDOW_BYTES = 1 << 20;
const LINE_FEED = 0x0a;
/** Positions inside a line are kept as 32-bit integers. */
const LONGEST_LINE = 2 ** 31 - 1;

/**
 * Calls `visit` for every line that begins in the range and is not blank, numbered from 1, and returns how many lines
 * begin there. Only a line feed separates lines; a byte order mark at the start of the file is dropped.
 */
export function forEachLineInRange(
  file: RandomAccessFile,
  { start, end }: ByteRange,
  maxLine: number = DEFAULT_MAX_LINE,
  visit: LineVisitor,
): number {
  const window = new Window(file, Math.min(maxLine, LONGEST_LINE));
  let position = start === 0 ? 0 : window.afterFeed(start - 1, end);
  let line = 0;
  while (position < end) {
    line++;
    const lineEnd = window.lineAt(position, line);
    const bytes = window.bytes;
    const from = position === 0 ? skipByteOrderMark(bytes, window.offset, lineEnd) : window.offset;
    if (!isBlank(bytes, from, lineEnd)) visit(bytes, from, lineEnd, line);
    position += lineEnd - window.offset + 1;
  }
  window.release();
  return line;
}

/** A part of the file in memory, moved forward as lines are asked for. */
class Window {
  /** A new view whenever the content changes: scanners remember what they found in a view. */
  bytes: Buffer = Buffer.alloc(0);
  /** Where the line asked for begins in `bytes`. */
  offset = 0;
  readonly #file: RandomAccessFile;
  readonly #maxLine: number;
  #storage = takeMemory(WINDOW_BYTES);
  #position = 0;

  constructor(file: RandomAccessFile, maxLine: number) {
    this.#file = file;
    this.#maxLine = maxLine;
  }

  /** Leaves the memory to the next window of this thread. */
  release(): void {
    offerSpare(this.#storage.buffer as ArrayBuffer);
  }

  /** The position after the first line feed at or after `from`; `end` where there is none before it. */
  afterFeed(from: number, end: number): number {
    for (let position = from; position < end; position += this.bytes.length) {
      this.#load(position, 0, Math.min(WINDOW_BYTES, end - position));
      const feed = this.bytes.indexOf(LINE_FEED);
      if (feed >= 0) return position + feed + 1;
    }
    return end;
  }

  /** Loads the line at a position of the file and returns its end in `bytes`. */
  lineAt(position: number, line: number): number {
    const loaded = position - this.#position;
    this.offset =
      loaded >= 0 && loaded <= this.bytes.length ? loaded : this.#load(position, 0, this.#size(position, 0));
    let searched = this.offset;
    for (;;) {
      const feed = this.bytes.indexOf(LINE_FEED, searched);
      const lineEnd = feed >= 0 ? feed : this.bytes.length;
      if (lineEnd - this.offset > this.#maxLine)
        throw new RecordError(line, `is longer than ${this.#maxLine} bytes (--max-line)`);
      if (feed >= 0 || this.#position + this.bytes.length >= this.#file.byteLength) return lineEnd;
      const kept = this.bytes.length - this.offset;
      this.offset = this.#load(position, kept, this.#size(position, kept));
      searched = kept;
    }
  }

  /** Bytes to hold for a line of which `kept` are there: twice as many, so that a long line is moved seldom. */
  #size(position: number, kept: number): number {
    return Math.min(Math.max(WINDOW_BYTES, 2 * kept), this.#file.byteLength - position);
  }

  /** Makes the window begin at `position`, of whose bytes the last `kept` ones in memory are used again. */
  #load(position: number, kept: number, size: number): number {
    const old = this.bytes.subarray(this.bytes.length - kept);
    if (size > this.#storage.length) {
      const larger = Buffer.allocUnsafeSlow(size);
      old.copy(larger);
      this.#storage = larger;
    } else if (kept > 0) {
      this.#storage.copyWithin(
        0,
        old.byteOffset - this.#storage.byteOffset,
        old.byteOffset - this.#storage.byteOffset + kept,
      );
    }
    this.#file.readInto(this.#storage.subarray(kept, size), position + kept);
    this.bytes = this.#storage.subarray(0, size);
    this.#position = position;
    return 0;
  }
}
