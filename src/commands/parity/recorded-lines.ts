/** The lines of a recording that is compared: its files stay the same ones, streams are spooled once. */
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileError, InputError } from '../../errors.ts';
import { type ByteSource, openByteSource } from '../../io/byte-source.ts';
import { DEFAULT_MAX_LINE, forEachLine, isBlank, skipByteOrderMark } from '../../io/jsonl/lines.ts';
import { openRandomAccess, type RandomAccessFile } from '../../io/random-access.ts';
import { createTemporaryFile, fileError, removeTemporaryFile } from '../../io/temporary-files.ts';
import { growableF64 } from '../../samples/growable.ts';

/** A file that is read several times. */
export interface RecordedFile {
  /** The path as given, `stdin` for `-`. */
  readonly name: string;
  /** Where its bytes are. */
  readonly path: string;
  readonly source: ByteSource;
}

export async function openRecordedFile(path: string, maxLine: number | undefined): Promise<RecordedFile> {
  const source = await openByteSource(path, { maxLine });
  try {
    return { name: source.name, path: await source.localPath(), source };
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** An error that calls files by their names, not by where a stream was spooled. */
export function withNames(error: unknown, files: readonly RecordedFile[]): unknown {
  if (!(error instanceof InputError || error instanceof FileError)) return error;
  const message = files.reduce((text, { name, path }) => text.replaceAll(path, name), error.message);
  const Class = error instanceof InputError ? InputError : FileError;
  return message === error.message ? error : new Class(message, { cause: error });
}

/** Calls `visit` for the line of each row. @throws FileError where there are not as many lines as rows */
export async function forEachRowLine(
  { name, source }: RecordedFile,
  rowCount: number,
  maxLine: number | undefined,
  visit: (line: Buffer, row: number, lineNumber: number) => void,
): Promise<void> {
  let row = 0;
  await forEachLine(source.chunks(), { maxLine: maxLine ?? DEFAULT_MAX_LINE }, (bytes, start, end, lineNumber) => {
    if (row < rowCount) visit(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start), row, lineNumber);
    row++;
  });
  requireLines(name, row, rowCount);
}

function requireLines(name: string, lines: number, rows: number): void {
  if (lines !== rows) throw new FileError(`${name}: changed while it was in use: ${rows} rows before, ${lines} now`);
}

/** Lines by their row, in any order: their places are kept, not their bytes. */
export class LinesByRow {
  readonly #file: RandomAccessFile;
  /** Of row r: [places[2r], places[2r + 1]). */
  readonly #places: Float64Array;
  /** A copy of what was compressed. */
  readonly #copy: string | null;
  #window: Buffer = Buffer.alloc(0);
  #windowStart = 0;

  private constructor(file: RandomAccessFile, places: Float64Array, copy: string | null) {
    this.#file = file;
    this.#places = places;
    this.#copy = copy;
  }

  static async open({ name, path, source }: RecordedFile, rowCount: number): Promise<LinesByRow> {
    const copy = source.compression === 'none' ? null : await copyOf(source);
    let file: RandomAccessFile | undefined;
    try {
      file = openRandomAccess(copy ?? path, name);
      const places = placesOfLines(file);
      requireLines(name, places.length / 2, rowCount);
      return new LinesByRow(file, places, copy);
    } catch (error) {
      file?.close();
      if (copy) await removeTemporaryFile(copy);
      throw error;
    }
  }

  /** Valid until the next call. */
  line(row: number): Buffer {
    const [start, end] = this.#places.subarray(2 * row, 2 * row + 2);
    const windowEnd = this.#windowStart + this.#window.length;
    if (start < this.#windowStart || end > windowEnd) {
      const isNext = start >= this.#windowStart && start <= windowEnd + 1;
      const wanted = Math.max(isNext ? WINDOW_BYTES : PAGE_BYTES, end - start);
      this.#window = Buffer.allocUnsafe(Math.min(wanted, this.#file.byteLength - start));
      this.#file.readInto(this.#window, start);
      this.#windowStart = start;
    }
    return this.#window.subarray(start - this.#windowStart, end - this.#windowStart);
  }

  async close(): Promise<void> {
    this.#file.close();
    if (this.#copy) await removeTemporaryFile(this.#copy);
  }
}

/** What is read where lines follow each other, and where they do not. */
const WINDOW_BYTES = 1 << 18;
const PAGE_BYTES = 1 << 12;
const BLOCK_BYTES = 1 << 20;
const LINE_FEED = 0x0a;

/** Of the lines that are not blank. */
function placesOfLines(file: RandomAccessFile): Float64Array {
  const places = growableF64();
  const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, file.byteLength));
  let lineStart = 0;
  let blank = true;
  const endLine = (end: number) => {
    if (!blank) {
      places.push(lineStart);
      places.push(end);
    }
    lineStart = end + 1;
    blank = true;
  };
  for (let at = 0; at < file.byteLength; at += block.length) {
    const bytes = block.subarray(0, Math.min(block.length, file.byteLength - at));
    file.readInto(bytes, at);
    let start = at === 0 ? skipByteOrderMark(bytes, 0, bytes.length) : 0;
    if (at === 0) lineStart = start;
    for (let feed = bytes.indexOf(LINE_FEED, start); feed >= 0; feed = bytes.indexOf(LINE_FEED, start)) {
      blank &&= isBlank(bytes, start, feed);
      endLine(at + feed);
      start = feed + 1;
    }
    blank &&= isBlank(bytes, start, bytes.length);
  }
  endLine(file.byteLength);
  return places.view();
}

async function copyOf(source: ByteSource): Promise<string> {
  const path = join(tmpdir(), `rollnorm-${process.pid}-${randomUUID()}.lines`);
  try {
    const handle = await createTemporaryFile(path, 0o600);
    try {
      for await (const chunk of source.chunks()) await handle.writeFile(chunk);
    } finally {
      await handle.close();
    }
    return path;
  } catch (cause) {
    await removeTemporaryFile(path);
    throw cause instanceof InputError ? cause : fileError(path, `cannot decompress ${source.name} to`, cause);
  }
}
