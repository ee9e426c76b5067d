/** Writes Parquet files of flat columns. */
import { packageVersion } from '../../version.ts';
import type { ChunkJob } from './chunk-job.ts';
import { ByteSink, type ChunkRequest, type EncodedChunk, placeChunk } from './encode-chunk.ts';
import {
  type ColumnValues,
  type NewChunk,
  type NewColumn,
  writeColumnChunk,
  writeSchemaElement,
  writeSchemaRoot,
} from './new-columns.ts';
import { ThriftType } from './thrift.ts';
import { ThriftWriter } from './thrift-writer.ts';

const ROW_GROUP_ROWS = 1_000_000;
const MAGIC = new TextEncoder().encode('PAR1');

/** A column with the values of all rows. */
export interface FlatColumn extends NewColumn {
  readonly values: ColumnValues;
}

/** The columns in row groups of up to a million rows. */
export function flatJob(
  columns: readonly FlatColumn[],
  rowCount: number,
  write: (bytes: Uint8Array) => void,
): ChunkJob {
  return { requests: requestsOf(columns, rowCount), writer: place() };

  function* place(): ChunkJob['writer'] {
    const writer = new FlatParquetWriter(columns, write);
    for (const { from, to } of rowRanges(rowCount)) {
      for (const _ of columns) writer.place(yield);
      writer.endRowGroup(to - from);
    }
    writer.finish();
  }
}

function* requestsOf(columns: readonly FlatColumn[], rowCount: number): Generator<ChunkRequest> {
  for (const { from, to } of rowRanges(rowCount)) {
    for (const { name, kind, nullable, values } of columns)
      yield { column: { name, kind, nullable }, values: sliceValues(values, from, to), rowCount: to - from };
  }
}

function* rowRanges(rowCount: number): Generator<{ from: number; to: number }> {
  for (let from = 0; from < rowCount; from += ROW_GROUP_ROWS)
    yield { from, to: Math.min(rowCount, from + ROW_GROUP_ROWS) };
}

/** Writes a file chunk by chunk, row group by row group. */
class FlatParquetWriter {
  readonly #columns: readonly NewColumn[];
  readonly #sink: ByteSink;
  readonly #rowGroups: { readonly rowCount: number; readonly chunks: readonly NewChunk[] }[] = [];
  #chunks: NewChunk[] = [];

  constructor(columns: readonly NewColumn[], write: (bytes: Uint8Array) => void) {
    this.#columns = columns;
    this.#sink = new ByteSink(write);
    this.#sink.write(MAGIC);
  }

  /** The next column of the row group. */
  place(chunk: EncodedChunk): void {
    this.#chunks.push(placeChunk(this.#sink, chunk));
  }

  endRowGroup(rowCount: number): void {
    this.#rowGroups.push({ rowCount, chunks: this.#chunks });
    this.#chunks = [];
  }

  finish(): void {
    const writer = new ThriftWriter();
    writer.struct(() => {
      writer.int32(1, 2);
      writer.list(2, ThriftType.struct, this.#columns.length + 1);
      writeSchemaRoot(writer, this.#columns.length);
      for (const column of this.#columns) writeSchemaElement(writer, column);
      writer.int64(
        3,
        this.#rowGroups.reduce((sum, group) => sum + group.rowCount, 0),
      );
      writer.list(4, ThriftType.struct, this.#rowGroups.length);
      for (const { rowCount, chunks } of this.#rowGroups) writeRowGroup(writer, chunks, rowCount);
      writer.text(6, createdBy());
    });
    writeFooter(this.#sink, writer.bytes);
  }
}

function writeRowGroup(writer: ThriftWriter, chunks: readonly NewChunk[], rowCount: number): void {
  writer.struct(() => {
    writer.list(1, ThriftType.struct, chunks.length);
    for (const chunk of chunks) writeColumnChunk(writer, chunk);
    writer.int64(
      2,
      chunks.reduce((sum, chunk) => sum + chunk.plainLength, 0),
    );
    writer.int64(3, rowCount);
    writer.int64(
      6,
      chunks.reduce((sum, chunk) => sum + chunk.storedLength, 0),
    );
  });
}

/** What files that were written anew say of their writer. */
export function createdBy(): string {
  return `rollnorm version ${packageVersion()}`;
}

/** Writes a FileMetaData struct, its length and the magic that ends a file. */
export function writeFooter(sink: ByteSink, metadata: Uint8Array): void {
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, metadata.length, true);
  sink.write(metadata);
  sink.write(length);
  sink.write(MAGIC);
}

export function writeMagic(sink: ByteSink): void {
  sink.write(MAGIC);
}

/** The rows [from, to) of a column. */
export function sliceValues<V extends ColumnValues>(values: V, from: number, to: number): V;
export function sliceValues(values: ColumnValues, from: number, to: number): ColumnValues {
  const slice = (present: Uint8Array | null) => present?.subarray(from, to) ?? null;
  switch (values.kind) {
    case 'constant text':
      return values;
    case 'sequence':
      return { ...values, first: values.first + from };
    case 'text':
      return { ...values, codes: values.codes.subarray(from, to), present: slice(values.present) };
    case 'float':
      return {
        kind: 'float',
        values: values.values.subarray(from, to),
        present: values.present === 'not NaN' ? values.present : slice(values.present),
      };
    case 'double':
      return {
        kind: 'double',
        values: values.values.subarray(from, to),
        present: values.present === 'not NaN' ? values.present : slice(values.present),
      };
    case 'int64':
      return { kind: 'int64', values: values.values.subarray(from, to), present: slice(values.present) };
    case 'uint64':
      return { kind: 'uint64', values: values.values.subarray(from, to), present: slice(values.present) };
    case 'whole':
      return { kind: 'whole', values: values.values.subarray(from, to), present: slice(values.present) };
    case 'int32':
      return { kind: 'int32', values: values.values.subarray(from, to), present: slice(values.present) };
    case 'bool':
      return { kind: 'bool', values: values.values.subarray(from, to), present: slice(values.present) };
  }
}
