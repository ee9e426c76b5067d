/** Parquet files made byte by byte: what no library writes any more, and what nobody should. */
import { ThriftType } from '../../../src/io/parquet/thrift.ts';
import { ThriftWriter } from '../../../src/io/parquet/thrift-writer.ts';

export const Type = { boolean: 0, int32: 1, int64: 2, int96: 3, float: 4, double: 5, bytes: 6, fixed: 7 } as const;
export const Repetition = { required: 0, optional: 1, repeated: 2 } as const;
export const Converted = { utf8: 0, map: 1, list: 3 } as const;

export interface Element {
  readonly name: string;
  readonly type?: number;
  readonly repetition?: number;
  readonly children?: number;
  readonly converted?: number;
}

export interface Chunk {
  readonly path: readonly string[];
  readonly type: number;
  readonly pages: readonly Uint8Array[];
  readonly valueCount: number;
  readonly codec?: number;
  /** Lies that replace what is true. */
  readonly byteLength?: number;
  readonly byteOffset?: number;
}

export interface Page {
  readonly kind?: number;
  readonly valueCount: number;
  readonly encoding: number;
  readonly levelEncoding?: number;
  readonly body: readonly number[];
  readonly plainLength?: number;
  readonly storedLength?: number;
}

export const DICTIONARY_PAGE = 2;

/** A page with its header, of version 1. */
export function page({ kind = 0, valueCount, encoding, levelEncoding = 3, body, ...lies }: Page): Uint8Array {
  const writer = new ThriftWriter();
  writer.struct(() => {
    writer.int32(1, kind);
    writer.int32(2, lies.plainLength ?? body.length);
    writer.int32(3, lies.storedLength ?? body.length);
    writer.structField(kind === DICTIONARY_PAGE ? 7 : 5, () => {
      writer.int32(1, valueCount);
      writer.int32(2, encoding);
      if (kind === DICTIONARY_PAGE) return;
      writer.int32(3, levelEncoding);
      writer.int32(4, levelEncoding);
    });
  });
  return Uint8Array.from([...writer.bytes, ...body]);
}

/** Levels or indices with their length in front. */
export function framed(...bytes: number[]): number[] {
  return [bytes.length, 0, 0, 0, ...bytes];
}

/** A run of equal entries, at most 63 of them, at a width of up to eight bits. */
export function run(value: number, count: number): number[] {
  return [count * 2, value];
}

/** 32-bit integers, little-endian. */
export function int32s(...values: number[]): number[] {
  return [...new Uint8Array(Int32Array.from(values).buffer)];
}

/** A file with one row group. */
export function handmade(schema: readonly Element[], chunks: readonly Chunk[], rowCount: number): Uint8Array {
  const bytes: number[] = [...MAGIC];
  const placed = chunks.map((chunk) => {
    const byteOffset = bytes.length;
    for (const part of chunk.pages) bytes.push(...part);
    return { byteOffset, byteLength: bytes.length - byteOffset, ...chunk };
  });
  const footer = new ThriftWriter();
  footer.struct(() => {
    footer.int32(1, 1);
    footer.list(2, ThriftType.struct, schema.length);
    for (const element of schema) writeElement(footer, element);
    footer.int64(3, rowCount);
    footer.list(4, ThriftType.struct, 1);
    footer.struct(() => {
      footer.list(1, ThriftType.struct, placed.length);
      for (const chunk of placed) writeChunk(footer, chunk);
      footer.int64(2, bytes.length);
      footer.int64(3, rowCount);
    });
  });
  const length = footer.bytes.length;
  bytes.push(...footer.bytes, length & 0xff, (length >>> 8) & 0xff, length >>> 16, 0, ...MAGIC);
  return Uint8Array.from(bytes);
}

const MAGIC = [0x50, 0x41, 0x52, 0x31];

function writeElement(writer: ThriftWriter, { name, type, repetition, children, converted }: Element): void {
  writer.struct(() => {
    if (type !== undefined) writer.int32(1, type);
    if (repetition !== undefined) writer.int32(3, repetition);
    writer.text(4, name);
    if (children !== undefined) writer.int32(5, children);
    if (converted !== undefined) writer.int32(6, converted);
  });
}

function writeChunk(writer: ThriftWriter, chunk: Required<Pick<Chunk, 'byteOffset' | 'byteLength'>> & Chunk): void {
  writer.struct(() => {
    writer.int64(2, 0);
    writer.structField(3, () => {
      writer.int32(1, chunk.type);
      writer.list(2, ThriftType.i32, 0);
      writer.list(3, ThriftType.binary, chunk.path.length);
      for (const part of chunk.path) writer.textElement(part);
      writer.int32(4, chunk.codec ?? 0);
      writer.int64(5, chunk.valueCount);
      writer.int64(6, chunk.byteLength);
      writer.int64(7, chunk.byteLength);
      writer.int64(9, chunk.byteOffset);
    });
  });
}
