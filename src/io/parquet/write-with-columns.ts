/** Writes a Parquet file again with columns added: its bytes as they are, the new chunks, and a new footer. */
import { InputError } from '../../errors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import type { ChunkJob } from './chunk-job.ts';
import { ByteSink, type ChunkRequest, placeChunk } from './encode-chunk.ts';
import { editFooter } from './footer-edit.ts';
import type { ParquetFile } from './metadata.ts';
import type { ColumnValues, NewChunk, NewColumn } from './new-columns.ts';
import { writeFooter } from './write-flat.ts';

const COPIED_AT_ONCE = 1 << 22;

/** The columns to add, which are asked for row group by row group. */
export interface ColumnSource {
  readonly columns: readonly NewColumn[];
  /** The values of each of them in one row group. */
  valuesOf(rowGroupIndex: number): readonly ColumnValues[];
}

/**
 * Every input column, its type and its metadata stay; the new columns come last.
 * @param replace whether top-level columns of these names are replaced; else they are bad input
 */
export function withColumnsJob(
  file: RandomAccessFile,
  parquet: ParquetFile,
  source: ColumnSource,
  replace: boolean,
  write: (bytes: Uint8Array) => void,
): ChunkJob {
  // What is sent to a thread must not bring the values of all rows along.
  const added: NewColumn[] = source.columns.map(({ name, kind, nullable }) => ({ name, kind, nullable }));
  const names = added.map((column) => column.name);
  const removed = parquet.leaves.map((leaf) => leaf.storedPath[0]).filter((name) => names.includes(name));
  if (removed.length > 0 && !replace) throw new InputError(`there is already a column ${removed[0]}`);
  return { requests: requestsOf(parquet, source, added), writer: place() };

  function* place(): ChunkJob['writer'] {
    const sink = new ByteSink(write);
    copyBytes(file, 0, parquet.footerOffset, sink);
    const chunks: NewChunk[][] = [];
    for (const _ of parquet.rowGroups) {
      const own: NewChunk[] = [];
      for (const _ of added) own.push(placeChunk(sink, yield));
      chunks.push(own);
    }
    writeFooter(sink, editFooter(parquet, { removed, added, chunks }));
  }
}

function* requestsOf(parquet: ParquetFile, source: ColumnSource, added: readonly NewColumn[]): Generator<ChunkRequest> {
  for (const [index, { rowCount }] of parquet.rowGroups.entries()) {
    const values = source.valuesOf(index);
    for (const [i, column] of added.entries()) yield { column, values: values[i], rowCount };
  }
}

/** Copies bytes [start..end) of the file. */
export function copyBytes(file: RandomAccessFile, start: number, end: number, sink: ByteSink): void {
  for (let position = start; position < end; ) {
    // A new buffer for each piece: the receiver may keep it until it is written.
    const piece = new Uint8Array(Math.min(COPIED_AT_ONCE, end - position));
    file.readInto(piece, position);
    sink.write(piece);
    position += piece.length;
  }
}
