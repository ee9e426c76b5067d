/** Writes a Parquet file again with columns added: its bytes as they are, the new chunks, and a new footer. */
import { InputError } from '../../errors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import type { AddedColumns } from '../vectors.ts';
import { type ChunkJob, runChunkJob } from './chunk-job.ts';
import { ByteSink, type ChunkRequest, placeChunk, type WriteCodec } from './encode-chunk.ts';
import { editFooter } from './footer-edit.ts';
import type { ParquetFile } from './metadata.ts';
import type { NewChunk, NewColumn } from './new-columns.ts';
import { writeFooter } from './write-flat.ts';

const COPIED_AT_ONCE = 1 << 22;

/** The columns to add, which are asked for row group by row group. */
export interface ColumnSource {
  readonly rawRewardName: string;
  readonly advantageName: string;
  /** The values of one row group; the names in them are not looked at. */
  valuesOf(rowGroupIndex: number): AddedColumns;
}

export interface WriteOptions {
  /** Whether top-level columns of these names are replaced; else they are bad input. */
  readonly replace: boolean;
  readonly codec: WriteCodec;
}

/** Every input column, its type and its metadata stay; the two columns come last. */
export function writeWithColumns(
  file: RandomAccessFile,
  parquet: ParquetFile,
  source: ColumnSource,
  { replace, codec }: WriteOptions,
  write: (bytes: Uint8Array) => void,
): void {
  runChunkJob(withColumnsJob(file, parquet, source, replace, write), codec);
}

/** The same, for whoever encodes the chunks. */
export function withColumnsJob(
  file: RandomAccessFile,
  parquet: ParquetFile,
  source: ColumnSource,
  replace: boolean,
  write: (bytes: Uint8Array) => void,
): ChunkJob {
  const added: NewColumn[] = [
    { name: source.rawRewardName, kind: 'double', nullable: true },
    { name: source.advantageName, kind: 'float', nullable: false },
  ];
  const names = added.map((column) => column.name);
  const removed = parquet.leaves.map((leaf) => leaf.storedPath[0]).filter((name) => names.includes(name));
  if (removed.length > 0 && !replace) throw new InputError(`there is already a column ${removed[0]}`);
  return { requests: requestsOf(parquet, source, added), writer: place() };

  function* place(): ChunkJob['writer'] {
    const sink = new ByteSink(write);
    copyBytes(file, 0, parquet.footerOffset, sink);
    const chunks: NewChunk[][] = [];
    for (const _ of parquet.rowGroups) {
      const rawReward = placeChunk(sink, yield);
      chunks.push([rawReward, placeChunk(sink, yield)]);
    }
    writeFooter(sink, editFooter(parquet, { removed, added, chunks }));
  }
}

function* requestsOf(parquet: ParquetFile, source: ColumnSource, added: readonly NewColumn[]): Generator<ChunkRequest> {
  for (const [index, { rowCount }] of parquet.rowGroups.entries()) {
    const { rawReward, advantage } = source.valuesOf(index);
    yield { column: added[0], values: { kind: 'double', values: rawReward.values, present: 'not NaN' }, rowCount };
    yield { column: added[1], values: { kind: 'float', values: advantage.values, present: null }, rowCount };
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
