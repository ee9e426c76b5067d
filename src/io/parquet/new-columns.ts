/** Columns that are written anew: what they are called and hold, and how a Parquet schema says so. */
import type { Presence } from '../vectors.ts';
import { ThriftType } from './thrift.ts';
import type { ThriftWriter } from './thrift-writer.ts';

export type ColumnKind = 'int64' | 'uint64' | 'int32' | 'float' | 'double' | 'text' | 'bool';

export interface NewColumn {
  readonly name: string;
  readonly kind: ColumnKind;
  /** Whether rows may lack a value. */
  readonly nullable: boolean;
}

/** The values of a column in one row group. */
export type ColumnValues =
  | { readonly kind: 'int64'; readonly values: BigInt64Array; readonly present: Presence }
  | { readonly kind: 'uint64'; readonly values: BigUint64Array; readonly present: Presence }
  | { readonly kind: 'int32'; readonly values: Int32Array; readonly present: Presence }
  /** Whole numbers below 2^32, of an int64 column. */
  | { readonly kind: 'whole'; readonly values: Uint32Array; readonly present: Presence }
  | { readonly kind: 'float'; readonly values: Float32Array; readonly present: Presence | 'not NaN' }
  | { readonly kind: 'double'; readonly values: Float64Array; readonly present: Presence | 'not NaN' }
  | { readonly kind: 'bool'; readonly values: Uint8Array; readonly present: Presence }
  | {
      readonly kind: 'text';
      readonly codes: Uint32Array;
      readonly bytes: Uint8Array;
      readonly offsets: Float64Array | Uint32Array;
      readonly present: Presence;
    }
  /** The same text in every row, of a text column. */
  | { readonly kind: 'constant text'; readonly text: string }
  /** Numbers that go up by one from row to row, of an int64 column. */
  | { readonly kind: 'sequence'; readonly first: number };

/** Whole numbers as 64-bit integers, low words first. */
export function widened(values: Uint32Array): Int32Array {
  const words = new Int32Array(2 * values.length);
  for (let i = 0; i < values.length; i++) words[2 * i] = values[i];
  return words;
}

/** Numbers of the physical types. */
export const PHYSICAL_NUMBERS: Readonly<Record<ColumnKind, number>> = {
  bool: 0,
  int32: 1,
  int64: 2,
  uint64: 2,
  float: 4,
  double: 5,
  text: 6,
};

const CONVERTED_UTF8 = 0;
const CONVERTED_UINT64 = 14;

/** Writes the SchemaElement of a column. */
export function writeSchemaElement(writer: ThriftWriter, { name, kind, nullable }: NewColumn): void {
  writer.struct(() => {
    writer.int32(1, PHYSICAL_NUMBERS[kind]);
    writer.int32(3, nullable ? 1 : 0);
    writer.text(4, name);
    if (kind === 'text') {
      writer.int32(6, CONVERTED_UTF8);
      writer.structField(10, () => writer.structField(1, () => {}));
    } else if (kind === 'uint64') {
      writer.int32(6, CONVERTED_UINT64);
      writer.structField(10, () => {
        writer.structField(10, () => {
          writer.byte(1, 64);
          writer.boolean(2, false);
        });
      });
    }
  });
}

/** Writes the root of a schema whose columns are the next `count` elements. */
export function writeSchemaRoot(writer: ThriftWriter, count: number): void {
  writer.struct(() => {
    writer.text(4, 'schema');
    writer.int32(5, count);
  });
}

/** One column chunk that was written. */
export interface NewChunk {
  readonly column: NewColumn;
  readonly encodings: readonly number[];
  /** Number of the codec. */
  readonly codec: number;
  readonly valueCount: number;
  readonly plainLength: number;
  readonly storedLength: number;
  readonly dataOffset: number;
  readonly dictionaryOffset: number | null;
}

/** Writes the ColumnChunk of a column. */
export function writeColumnChunk(writer: ThriftWriter, chunk: NewChunk): void {
  writer.struct(() => {
    writer.int64(2, 0);
    writer.structField(3, () => {
      writer.int32(1, PHYSICAL_NUMBERS[chunk.column.kind]);
      writer.list(2, ThriftType.i32, chunk.encodings.length);
      for (const encoding of chunk.encodings) writer.int32Element(encoding);
      writer.list(3, ThriftType.binary, 1);
      writer.textElement(chunk.column.name);
      writer.int32(4, chunk.codec);
      writer.int64(5, chunk.valueCount);
      writer.int64(6, chunk.plainLength);
      writer.int64(7, chunk.storedLength);
      writer.int64(9, chunk.dataOffset);
      if (chunk.dictionaryOffset !== null) writer.int64(11, chunk.dictionaryOffset);
    });
  });
}
