/** Parts of a footer for a file that takes over some of its columns under other names and at other places. */
import type { ParquetFile } from './metadata.ts';
import { checkType, ThriftReader, ThriftType } from './thrift.ts';
import { copyFields, elementSpans, type ThriftWriter } from './thrift-writer.ts';

const PLACE = 'the footer';

/** A copied chunk's ColumnChunk struct under a new name, its pages `shift` bytes further on. */
export function moveColumnChunk(
  span: Uint8Array,
  writer: ThriftWriter,
  name: string,
  shift: number,
  hasDictionary: boolean,
): void {
  const reader = readerOf(span);
  writer.struct(() => {
    writer.int64(2, 0);
    copyFields(reader, writer, (id, type) => {
      if (id === 3) {
        checkType(type, ThriftType.struct, PLACE);
        writer.structField(3, () => moveChunkMetadata(reader, writer, name, shift, hasDictionary));
        return true;
      }
      // The old place and the indices that are not copied.
      if (id === 2 || (id >= 4 && id <= 7)) {
        reader.skip(type);
        return true;
      }
      return false;
    });
  });
}

function moveChunkMetadata(
  reader: ThriftReader,
  writer: ThriftWriter,
  name: string,
  shift: number,
  hasDictionary: boolean,
): void {
  copyFields(reader, writer, (id, type) => {
    const isMoved = id === 9 || (id === 11 && hasDictionary);
    if (id === 3) {
      reader.skip(type);
      writer.list(3, ThriftType.binary, 1);
      writer.textElement(name);
    } else if (isMoved && type === ThriftType.i64) writer.int64(id, reader.integer() + shift);
    else if (id === 10 || id === 11 || id === 14 || id === 15) reader.skip(type);
    else return false;
    return true;
  });
}

/** A SchemaElement under a new name. */
export function renameElement(span: Uint8Array, writer: ThriftWriter, name: string): void {
  const reader = readerOf(span);
  writer.struct(() => {
    copyFields(reader, writer, (id, type) => {
      if (id !== 4) return false;
      reader.skip(type);
      writer.text(4, name);
      return true;
    });
  });
}

/** The bytes of the parts that a file made of copied columns takes over. */
export interface FooterSpans {
  readonly schema: readonly Uint8Array[];
  /** By row group and leaf. */
  readonly chunks: readonly (readonly Uint8Array[])[];
  readonly hasColumnOrders: boolean;
}

export function footerSpans(parquet: ParquetFile): FooterSpans {
  const reader = readerOf(parquet.footer);
  let schema: Uint8Array[] = [];
  let chunks: Uint8Array[][] = [];
  let hasColumnOrders = false;
  reader.struct((id, type) => {
    if (id === 2) schema = elementSpans(reader);
    else if (id === 4) chunks = elementSpans(reader).map(chunkSpans);
    else {
      hasColumnOrders ||= id === 7 && type === ThriftType.list;
      return false;
    }
    return true;
  });
  return { schema, chunks, hasColumnOrders };
}

function chunkSpans(rowGroup: Uint8Array): Uint8Array[] {
  const reader = readerOf(rowGroup);
  let spans: Uint8Array[] = [];
  reader.struct((id, type) => {
    if (id !== 1 || type !== ThriftType.list) return false;
    spans = elementSpans(reader);
    return true;
  });
  return spans;
}

function readerOf(span: Uint8Array): ThriftReader {
  return new ThriftReader(span, 0, span.length, PLACE);
}
