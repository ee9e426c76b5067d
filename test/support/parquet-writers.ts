/** Writes Parquet files in this thread, whatever the pool of the command line does. */
import type { ChunkJob } from '../../src/io/parquet/chunk-job.ts';
import { encodeChunk, type WriteCodec } from '../../src/io/parquet/encode-chunk.ts';
import type { ParquetFile } from '../../src/io/parquet/metadata.ts';
import type { ColumnValues } from '../../src/io/parquet/new-columns.ts';
import { columnsOnlyJob, type OutputColumn } from '../../src/io/parquet/write-columns-only.ts';
import { type FlatColumn, flatJob } from '../../src/io/parquet/write-flat.ts';
import { type ColumnSource, withColumnsJob } from '../../src/io/parquet/write-with-columns.ts';
import type { RandomAccessFile } from '../../src/io/random-access.ts';

type Write = (bytes: Uint8Array) => void;

function run({ requests, writer }: ChunkJob, codec: WriteCodec): void {
  writer.next();
  for (const request of requests) writer.next(encodeChunk(request, codec));
}

export function writeFlatParquet(
  columns: readonly FlatColumn[],
  rowCount: number,
  codec: WriteCodec,
  write: Write,
): void {
  run(flatJob(columns, rowCount, write), codec);
}

export function writeColumnsOnly(
  file: RandomAccessFile,
  parquet: ParquetFile,
  columns: readonly OutputColumn[],
  valuesOf: (rowGroupIndex: number) => readonly ColumnValues[],
  codec: WriteCodec,
  write: Write,
): void {
  run(columnsOnlyJob(file, parquet, columns, valuesOf, write), codec);
}

export function writeWithColumns(
  file: RandomAccessFile,
  parquet: ParquetFile,
  source: ColumnSource,
  { replace, codec }: { replace: boolean; codec: WriteCodec },
  write: Write,
): void {
  run(withColumnsJob(file, parquet, source, replace, write), codec);
}
