/** Reads JSON lines, or one JSON document, into chunks of rows. */
import { InputError } from '../../errors.ts';
import type { RowChunk } from '../../samples/row-chunk.ts';
import type { CompressedLinesPortion, DocumentPortion, LinesPortion } from '../portion.ts';
import { openRandomAccess } from '../random-access.ts';
import { newCoders } from '../tasks.ts';
import { openLines } from './compressed-lines.ts';
import { forEachLineInRange, RecordError } from './line-range.ts';
import { DEFAULT_MAX_LINE, forEachLine, type LineVisitor } from './lines.ts';
import { type ReadOptions, RecordReader } from './record-reader.ts';
import { ScanError } from './scan.ts';

/** A chunk is handed on when it has so many rows, so that its memory is not held twice for all of a file. */
const ROWS_OF_A_CHUNK = 1 << 17;

/** @throws RecordError naming field, what was expected and what was found */
export async function readLines(
  portion: LinesPortion | CompressedLinesPortion | DocumentPortion,
  options: ReadOptions,
  emit: (chunk: RowChunk) => void,
): Promise<void> {
  const chunks = new ChunkReader(options, emit);
  chunks.finish(await forEachRecord(portion, chunks.visit));
}

async function forEachRecord(
  portion: LinesPortion | CompressedLinesPortion | DocumentPortion,
  visit: LineVisitor,
): Promise<number> {
  const { maxLine } = portion;
  if (portion.format === 'compressed-lines')
    return forEachLine(openLines(portion), maxLine === undefined ? {} : { maxLine }, visit);
  const file = openRandomAccess(portion.path, portion.name);
  try {
    if (portion.format === 'lines') return forEachLineInRange(file, portion, maxLine, visit);
    const limit = maxLine ?? DEFAULT_MAX_LINE;
    if (file.byteLength > limit) throw new InputError(`is longer than ${limit} bytes (--max-line)`);
    const bytes = Buffer.allocUnsafe(file.byteLength);
    file.readInto(bytes, 0);
    visit(bytes, 0, bytes.length, 1);
    return 1;
  } finally {
    file.close();
  }
}

class ChunkReader {
  readonly #options: ReadOptions;
  readonly #emit: (chunk: RowChunk) => void;
  #reader: RecordReader;
  #recordsBefore = 0;

  constructor(options: ReadOptions, emit: (chunk: RowChunk) => void) {
    this.#options = options;
    this.#emit = emit;
    this.#reader = new RecordReader(options, newCoders(options));
  }

  readonly visit: LineVisitor = (bytes, start, end, line) => {
    const reader = this.#reader;
    try {
      reader.add(bytes, start, end, line - this.#recordsBefore, this.#recordsBefore);
    } catch (error) {
      if (error instanceof ScanError) throw new RecordError(line, `${reader.parsing}${error.message}`);
      if (error instanceof InputError) throw new RecordError(line, error.message);
      throw error;
    }
    if (reader.rowCount >= ROWS_OF_A_CHUNK) {
      this.#emit(reader.finish(line - this.#recordsBefore, false));
      this.#recordsBefore = line;
      this.#reader = new RecordReader(this.#options, newCoders(this.#options));
    }
  };

  finish(recordCount: number): void {
    this.#emit(this.#reader.finish(recordCount - this.#recordsBefore, false));
  }
}
