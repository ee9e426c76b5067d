/** Writes a new file of some columns of a Parquet file, whose bytes are copied, and of new ones beside them. */
import { InputError } from '../../errors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import type { ChunkJob } from './chunk-job.ts';
import { ByteSink, type ChunkRequest, placeChunk } from './encode-chunk.ts';
import { type FooterSpans, footerSpans, moveColumnChunk, renameElement } from './footer-parts.ts';
import type { ParquetFile } from './metadata.ts';
import {
  type ColumnValues,
  type NewChunk,
  type NewColumn,
  writeColumnChunk,
  writeSchemaElement,
  writeSchemaRoot,
} from './new-columns.ts';
import { findLeaf } from './read-vectors.ts';
import { ThriftReader, ThriftType } from './thrift.ts';
import { ThriftWriter } from './thrift-writer.ts';
import { createdBy, writeFooter, writeMagic } from './write-flat.ts';
import { copyBytes } from './write-with-columns.ts';

export type OutputColumn =
  | { readonly source: 'copied'; readonly path: readonly string[]; readonly name: string }
  | { readonly source: 'new'; readonly column: NewColumn };

/** Whether a column can be copied: one at top level with a value or none in each row. */
export function canCopy(parquet: ParquetFile, path: readonly string[]): boolean {
  return path.length === 1 && isFlat(parquet, findLeaf(parquet, path));
}

function isFlat(parquet: ParquetFile, leaf: number): boolean {
  const { storedPath, maxRepetition } = parquet.leaves[leaf];
  return storedPath.length === 1 && maxRepetition === 0;
}

/** A column of the output with where it comes from. */
type Plan = { readonly leaf: number; readonly name: string } | { readonly column: NewColumn };

/**
 * The columns in the order given, in the row groups of the input.
 * @param valuesOf the values of the new columns in one row group, in their order
 */
export function columnsOnlyJob(
  file: RandomAccessFile,
  parquet: ParquetFile,
  columns: readonly OutputColumn[],
  valuesOf: (rowGroupIndex: number) => readonly ColumnValues[],
  write: (bytes: Uint8Array) => void,
): ChunkJob {
  const plan = columns.map((column) => planColumn(parquet, column));
  const news = columns.flatMap((column) => (column.source === 'new' ? [column.column] : []));
  return { requests: requestsOf(parquet, news, valuesOf), writer: place() };

  function* place(): ChunkJob['writer'] {
    const spans = footerSpans(parquet);
    const sink = new ByteSink(write);
    writeMagic(sink);
    const rowGroups = new ThriftWriter();
    for (const index of parquet.rowGroups.keys())
      yield* placeRowGroup(file, parquet, index, plan, spans.chunks[index], sink, rowGroups);
    writeFooter(sink, footerOf(parquet, plan, spans, rowGroups.bytes));
  }
}

function* requestsOf(
  parquet: ParquetFile,
  columns: readonly NewColumn[],
  valuesOf: (rowGroupIndex: number) => readonly ColumnValues[],
): Generator<ChunkRequest> {
  for (const [index, { rowCount }] of parquet.rowGroups.entries()) {
    const values = valuesOf(index);
    for (const [i, column] of columns.entries()) yield { column, values: values[i], rowCount };
  }
}

function footerOf(parquet: ParquetFile, plan: readonly Plan[], spans: FooterSpans, rowGroups: Uint8Array): Uint8Array {
  const writer = new ThriftWriter();
  writer.struct(() => {
    writer.int32(1, 2);
    writer.list(2, ThriftType.struct, plan.length + 1);
    writeSchemaRoot(writer, plan.length);
    for (const column of plan) {
      if ('leaf' in column) renameElement(spans.schema[elementOf(parquet, column.leaf)], writer, column.name);
      else writeSchemaElement(writer, column.column);
    }
    writer.int64(3, parquet.rowCount);
    writer.list(4, ThriftType.struct, parquet.rowGroups.length);
    writer.raw(rowGroups);
    writer.text(6, createdBy());
    if (spans.hasColumnOrders) {
      writer.list(7, ThriftType.struct, plan.length);
      for (const _ of plan) writer.struct(() => writer.structField(1, () => {}));
    }
  });
  return writer.bytes;
}

function planColumn(parquet: ParquetFile, column: OutputColumn): Plan {
  if (column.source === 'new') return { column: column.column };
  const leaf = findLeaf(parquet, column.path);
  if (column.path.length > 1 || !isFlat(parquet, leaf)) {
    throw new InputError(
      `column ${column.path.join('.')} has type ${parquet.leaves[leaf].type} and cannot be copied alone`,
    );
  }
  return { leaf, name: column.name };
}

/** The schema element of a leaf: leaves come in the order of the elements that have a physical type. */
function elementOf(parquet: ParquetFile, leaf: number): number {
  let left = leaf;
  return parquet.schema.findIndex((element) => element.physicalType !== null && left-- === 0);
}

/** Places the chunks of a row group and writes what the footer says of it. */
function* placeRowGroup(
  file: RandomAccessFile,
  parquet: ParquetFile,
  index: number,
  plan: readonly Plan[],
  spans: readonly Uint8Array[],
  sink: ByteSink,
  writer: ThriftWriter,
): ChunkJob['writer'] {
  const { rowCount, chunks } = parquet.rowGroups[index];
  const start = sink.position;
  const chunkWriter = new ThriftWriter();
  let plainLength = 0;
  for (const column of plan) {
    if ('column' in column) {
      const chunk: NewChunk = placeChunk(sink, yield);
      writeColumnChunk(chunkWriter, chunk);
      plainLength += chunk.plainLength;
      continue;
    }
    const { byteOffset, byteLength, uncompressedByteLength } = chunks[column.leaf];
    const span = spans[column.leaf];
    moveColumnChunk(span, chunkWriter, column.name, sink.position - byteOffset, startsWithDictionary(span, byteOffset));
    copyBytes(file, byteOffset, byteOffset + byteLength, sink);
    plainLength += Math.max(0, uncompressedByteLength);
  }
  writer.struct(() => {
    writer.list(1, ThriftType.struct, plan.length);
    writer.raw(chunkWriter.bytes);
    writer.int64(2, plainLength);
    writer.int64(3, rowCount);
    writer.int64(6, sink.position - start);
  });
}

/** Whether a ColumnChunk names a dictionary page at its start; some writers give an offset that means nothing. */
function startsWithDictionary(span: Uint8Array, byteOffset: number): boolean {
  const reader = new ThriftReader(span, 0, span.length, 'the footer');
  let dictionaryOffset = -1;
  reader.struct((id, type) => {
    if (id !== 3 || type !== ThriftType.struct) return false;
    reader.struct((inner, innerType) => {
      if (inner !== 11 || innerType !== ThriftType.i64) return false;
      dictionaryOffset = reader.integer();
      return true;
    });
    return true;
  });
  return dictionaryOffset === byteOffset;
}
