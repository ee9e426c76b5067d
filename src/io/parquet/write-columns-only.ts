/** Writes a new file of some columns of a Parquet file, whose bytes are copied, and of new ones beside them. */
import { InputError } from '../../errors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import { ByteSink, type WriteCodec, writeChunk } from './encode-chunk.ts';
import { footerSpans, moveColumnChunk, renameElement } from './footer-parts.ts';
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
 * Writes the columns in the order given, in the row groups of the input.
 * @param valuesOf the values of the new columns in one row group, in their order
 */
export function writeColumnsOnly(
  file: RandomAccessFile,
  parquet: ParquetFile,
  columns: readonly OutputColumn[],
  valuesOf: (rowGroupIndex: number) => readonly ColumnValues[],
  codec: WriteCodec,
  write: (bytes: Uint8Array) => void,
): void {
  const spans = footerSpans(parquet);
  const plan = columns.map((column) => planColumn(parquet, column));
  const sink = new ByteSink(write);
  writeMagic(sink);
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
    parquet.rowGroups.forEach((_, index) => {
      writeRowGroup(file, parquet, index, plan, spans.chunks[index], valuesOf(index), codec, sink, writer);
    });
    writer.text(6, createdBy());
    if (spans.hasColumnOrders) {
      writer.list(7, ThriftType.struct, plan.length);
      for (const _ of plan) writer.struct(() => writer.structField(1, () => {}));
    }
  });
  writeFooter(sink, writer.bytes);
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

function writeRowGroup(
  file: RandomAccessFile,
  parquet: ParquetFile,
  index: number,
  plan: readonly Plan[],
  spans: readonly Uint8Array[],
  values: readonly ColumnValues[],
  codec: WriteCodec,
  sink: ByteSink,
  writer: ThriftWriter,
): void {
  const { rowCount, chunks } = parquet.rowGroups[index];
  const start = sink.position;
  let plainLength = 0;
  let nextValues = 0;
  writer.struct(() => {
    writer.list(1, ThriftType.struct, plan.length);
    for (const column of plan) {
      if ('column' in column) {
        const chunk: NewChunk = writeChunk(sink, column.column, values[nextValues++], rowCount, codec);
        writeColumnChunk(writer, chunk);
        plainLength += chunk.plainLength;
        continue;
      }
      const { byteOffset, byteLength, uncompressedByteLength } = chunks[column.leaf];
      const span = spans[column.leaf];
      moveColumnChunk(span, writer, column.name, sink.position - byteOffset, startsWithDictionary(span, byteOffset));
      copyBytes(file, byteOffset, byteOffset + byteLength, sink);
      plainLength += Math.max(0, uncompressedByteLength);
    }
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
