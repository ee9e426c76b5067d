/** Copies of a footer with some of it changed; whatever is not named here stays byte for byte, unknown fields too. */
import { InputError } from '../../errors.ts';
import { extendSchemaMessage, type NewField } from '../arrow/schema-message.ts';
import type { ParquetFile } from './metadata.ts';
import { type NewChunk, type NewColumn, writeColumnChunk, writeSchemaElement } from './new-columns.ts';
import { ThriftReader, ThriftType } from './thrift.ts';
import { copyFields, elementSpans, ThriftWriter } from './thrift-writer.ts';

const PLACE = 'the footer';
const ARROW_SCHEMA = 'ARROW:schema';
/** The union ColumnOrder with its member TypeDefinedOrder, an empty struct. */
const TYPE_DEFINED_ORDER = Uint8Array.of(0x1c, 0x00, 0x00);

/** What becomes of the top-level columns of a file. */
export interface ColumnEdit {
  /** Names of top-level columns that go. */
  readonly removed: readonly string[];
  readonly added: readonly NewColumn[];
  /** The chunks of the added columns, for each row group. */
  readonly chunks: readonly (readonly NewChunk[])[];
}

/** The file's FileMetaData with columns removed and added. */
export function editFooter(parquet: ParquetFile, edit: ColumnEdit): Uint8Array {
  const kept = keptElements(parquet, edit.removed);
  const reader = new ThriftReader(parquet.footer, 0, parquet.footer.length, PLACE);
  const writer = new ThriftWriter();
  writer.struct(() => {
    copyFields(reader, writer, (id, type) => {
      if (id === 2) writeSchema(reader, writer, kept, edit);
      else if (id === 4) writeRowGroups(reader, writer, kept.leaves, edit);
      else if (id === 5) writeKeyValues(reader, writer, edit);
      else if (id === 7 && type === ThriftType.list) writeColumnOrders(reader, writer, kept.leaves, edit);
      else return false;
      return true;
    });
  });
  return writer.bytes;
}

interface Kept {
  /** By schema element, the root first. */
  readonly elements: readonly boolean[];
  readonly leaves: readonly boolean[];
  readonly topLevelCount: number;
}

function keptElements({ schema }: ParquetFile, removed: readonly string[]): Kept {
  const elements = [true];
  const leaves: boolean[] = [];
  let topLevelCount = 0;
  for (let next = 1; next < schema.length; ) {
    const isKept = !removed.includes(schema[next].name);
    if (isKept) topLevelCount++;
    for (let open = 1; open > 0; next++) {
      const { physicalType, childCount } = schema[next];
      elements.push(isKept);
      if (physicalType !== null) leaves.push(isKept);
      open += (physicalType === null ? childCount : 0) - 1;
    }
  }
  return { elements, leaves, topLevelCount };
}

function writeSchema(reader: ThriftReader, writer: ThriftWriter, kept: Kept, { added }: ColumnEdit): void {
  const spans = elementSpans(reader);
  const rest = spans.filter((_, i) => i > 0 && kept.elements[i]);
  writer.list(2, ThriftType.struct, 1 + rest.length + added.length);
  writer.struct(() => {
    const root = readerOf(spans[0]);
    copyFields(root, writer, dropField(root, 5));
    writer.int32(5, kept.topLevelCount + added.length);
  });
  for (const span of rest) writer.raw(span);
  for (const column of added) writeSchemaElement(writer, column);
}

function readerOf(span: Uint8Array): ThriftReader {
  return new ThriftReader(span, 0, span.length, PLACE);
}

function writeRowGroups(
  reader: ThriftReader,
  writer: ThriftWriter,
  keptLeaves: readonly boolean[],
  edit: ColumnEdit,
): void {
  const spans = elementSpans(reader);
  writer.list(4, ThriftType.struct, spans.length);
  for (const [index, span] of spans.entries()) writeRowGroup(span, writer, keptLeaves, edit.chunks[index]);
}

function writeRowGroup(
  span: Uint8Array,
  writer: ThriftWriter,
  keptLeaves: readonly boolean[],
  newChunks: readonly NewChunk[],
): void {
  const removed = removedSizes(span, keptLeaves);
  const reader = readerOf(span);
  const plainLength = newChunks.reduce((sum, chunk) => sum + chunk.plainLength, -removed.plain);
  const storedLength = newChunks.reduce((sum, chunk) => sum + chunk.storedLength, -removed.stored);
  writer.struct(() => {
    copyFields(reader, writer, (id, type) => {
      if (id === 1) {
        const rest = elementSpans(reader).filter((_, leaf) => keptLeaves[leaf]);
        writer.list(1, ThriftType.struct, rest.length + newChunks.length);
        for (const chunk of rest) writer.raw(chunk);
        for (const chunk of newChunks) writeColumnChunk(writer, chunk);
      } else if (id === 2 && type === ThriftType.i64) writer.int64(2, Math.max(0, reader.integer() + plainLength));
      else if (id === 6 && type === ThriftType.i64) writer.int64(6, Math.max(0, reader.integer() + storedLength));
      else if (id === 4 && type === ThriftType.list) writeSorting(elementSpans(reader), writer, keptLeaves);
      else return false;
      return true;
    });
  });
}

/** The sizes of the chunks that go. */
function removedSizes(rowGroup: Uint8Array, keptLeaves: readonly boolean[]): { plain: number; stored: number } {
  const sizes = { plain: 0, stored: 0 };
  if (!keptLeaves.includes(false)) return sizes;
  const reader = readerOf(rowGroup);
  reader.struct((id, type) => {
    if (id !== 1 || type !== ThriftType.list) return false;
    const spans = elementSpans(reader);
    spans.forEach((span, leaf) => {
      if (!keptLeaves[leaf]) addSizes(readerOf(span), sizes);
    });
    return true;
  });
  return sizes;
}

function addSizes(reader: ThriftReader, sizes: { plain: number; stored: number }): void {
  reader.struct((id, type) => {
    if (id !== 3 || type !== ThriftType.struct) return false;
    reader.struct((inner, innerType) => {
      if (innerType !== ThriftType.i64 || (inner !== 6 && inner !== 7)) return false;
      if (inner === 6) sizes.plain += reader.integer();
      else sizes.stored += reader.integer();
      return true;
    });
    return true;
  });
}

/** Rows stay sorted by the columns up to the first that goes; those are counted anew. */
function writeSorting(spans: readonly Uint8Array[], writer: ThriftWriter, keptLeaves: readonly boolean[]): void {
  const columns = spans.map(sortingColumn);
  const goes = columns.findIndex((column) => !keptLeaves[column]);
  const staying = goes < 0 ? columns : columns.slice(0, goes);
  if (staying.length === 0) return;
  writer.list(4, ThriftType.struct, staying.length);
  staying.forEach((column, i) => {
    const reader = readerOf(spans[i]);
    writer.struct(() => {
      copyFields(reader, writer, (id, type) => {
        if (id !== 1 || type !== ThriftType.i32) return false;
        reader.integer();
        writer.int32(1, keptLeaves.slice(0, column).filter(Boolean).length);
        return true;
      });
    });
  });
}

function sortingColumn(span: Uint8Array): number {
  const reader = readerOf(span);
  let column = -1;
  reader.struct((id, type) => {
    if (id !== 1 || type !== ThriftType.i32) return false;
    column = reader.integer();
    return true;
  });
  return column;
}

function writeColumnOrders(
  reader: ThriftReader,
  writer: ThriftWriter,
  keptLeaves: readonly boolean[],
  edit: ColumnEdit,
): void {
  const rest = elementSpans(reader).filter((_, leaf) => keptLeaves[leaf]);
  writer.list(7, ThriftType.struct, rest.length + edit.added.length);
  for (const span of rest) writer.raw(span);
  for (const _ of edit.added) writer.raw(TYPE_DEFINED_ORDER);
}

function writeKeyValues(reader: ThriftReader, writer: ThriftWriter, edit: ColumnEdit): void {
  const entries = elementSpans(reader).map((span) => editKeyValue(span, edit));
  const rest = entries.filter((entry) => entry !== null);
  writer.list(5, ThriftType.struct, rest.length);
  for (const entry of rest) writer.raw(entry);
}

/** An entry as it was, or with the columns in it where it is Arrow's copy of the schema; null where it has to go. */
function editKeyValue(span: Uint8Array, edit: ColumnEdit): Uint8Array | null {
  const reader = readerOf(span);
  let key = '';
  let value = '';
  reader.struct((id, type) => {
    if (type !== ThriftType.binary || id > 2) return false;
    if (id === 1) key = reader.text();
    else value = reader.text();
    return true;
  });
  if (key !== ARROW_SCHEMA) return span;
  const extended = extendArrowSchema(value, edit);
  if (extended === null) return null;
  const writer = new ThriftWriter();
  writer.struct(() => {
    writer.text(1, key);
    writer.text(2, extended);
  });
  return writer.bytes;
}

/**
 * Without its own copy of the schema pyarrow still reads all values, only less closely typed; with one that lacks the
 * new columns it would not. A copy that cannot be extended therefore goes.
 */
function extendArrowSchema(base64: string, { added, removed }: ColumnEdit): string | null {
  try {
    const message = new Uint8Array(Buffer.from(base64, 'base64'));
    return Buffer.from(extendSchemaMessage(message, added.map(arrowField), [...removed])).toString('base64');
  } catch (error) {
    if (error instanceof InputError) return null;
    throw error;
  }
}

function arrowField({ name, kind, nullable }: NewColumn): NewField {
  if (kind === 'uint64') throw new InputError('uint64 columns are not added to files with an Arrow schema');
  return { name, type: kind === 'text' ? 'utf8' : kind, nullable };
}

function dropField(reader: ThriftReader, dropped: number): (id: number, type: number) => boolean {
  return (id, type) => {
    if (id !== dropped) return false;
    reader.skip(type);
    return true;
  };
}
