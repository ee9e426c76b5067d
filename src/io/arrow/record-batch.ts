/** The nodes and buffers of one record batch or dictionary batch, and the bytes behind them. */
import { InputError } from '../../errors.ts';
import { type BlockCodec, decompressBlock } from '../codecs/block.ts';
import type { RandomAccessFile } from '../random-access.ts';
import type { FlatTable, FlatVector } from './flatbuffer-reader.ts';
import type { Message } from './message.ts';
import type { ArrowField, ArrowLayout } from './schema.ts';
import { RecordBatchSlot } from './slots.ts';

export type ArrowCodec = Extract<BlockCodec, 'lz4_frame' | 'zstd'>;

const CODECS: readonly ArrowCodec[] = ['lz4_frame', 'zstd'];
/** No frame shrinks data more than this: a zstd block of 4 bytes repeats a byte 128 Ki times, an lz4 length byte adds 255. */
export const HIGHEST_RATIO: Readonly<Record<ArrowCodec, number>> = { lz4_frame: 256, zstd: 1 << 15 };
/** What decoders made of WebAssembly can hold. */
const LARGEST_DECOMPRESSED = 2 ** 31 - 1;
/** The length in front of a compressed buffer, which is -1 where the bytes are stored as they are. */
const LENGTH_BYTES = 8;
const NOT_COMPRESSED = -1n;

/** @throws InputError for a codec that is unknown */
export function batchCodec(batch: FlatTable): ArrowCodec | null {
  const compression = batch.table(RecordBatchSlot.compression);
  if (compression === null) return null;
  const codec = CODECS[compression.uint8(0)];
  if (codec === undefined)
    throw batch.buffer.malformed(`its body has the unknown codec ${compression.uint8(0)}, expected lz4_frame or zstd`);
  if (compression.uint8(1) !== 0)
    throw batch.buffer.malformed(`its compression method is ${compression.uint8(1)}, expected 0 (buffer by buffer)`);
  return codec;
}

interface BufferPlace {
  readonly offset: number;
  readonly length: number;
}

export class RecordBatch {
  readonly rowCount: number;
  readonly codec: ArrowCodec | null;
  /** What messages call it. */
  readonly place: string;
  readonly message: Message;
  /** The RecordBatch itself, or the one inside a DictionaryBatch. */
  readonly table: FlatTable;
  readonly #file: RandomAccessFile;
  readonly #nodes: FlatVector;
  readonly #buffers: FlatVector;
  /** Data buffers of the view columns before each. */
  readonly #viewBuffersBefore: number[];
  /** The buffer that was decompressed last: masks are read in pieces. */
  #decompressed: { index: number; bytes: Uint8Array } | null = null;

  constructor(file: RandomAccessFile, message: Message, table: FlatTable, layout: ArrowLayout, place: string) {
    this.#file = file;
    this.message = message;
    this.table = table;
    this.place = place;
    this.rowCount = table.safeInteger(RecordBatchSlot.length, 'its row count');
    this.codec = batchCodec(table);
    this.#nodes = table.vector(RecordBatchSlot.nodes, 16) ?? { start: 0, length: 0 };
    this.#buffers = table.vector(RecordBatchSlot.buffers, 16) ?? { start: 0, length: 0 };
    this.#viewBuffersBefore = this.#countViewBuffers(layout);
    const bufferCount = layout.bufferCount + this.#viewBuffersBefore[layout.viewCount];
    if (this.#nodes.length !== layout.nodeCount || this.#buffers.length !== bufferCount)
      throw new InputError(
        `${place} has ${this.#nodes.length} nodes and ${this.#buffers.length} buffers, but its schema needs ${layout.nodeCount} and ${bufferCount}`,
      );
  }

  /** The length and the null count of a field's node. */
  node(index: number): { length: number; nullCount: number } {
    const { buffer } = this.table;
    const position = this.#nodes.start + 16 * index;
    const length = buffer.safeInteger(position, `the length of node ${index}`);
    const nullCount = buffer.safeInteger(position + 8, `the null count of node ${index}`);
    if (nullCount > length) throw buffer.malformed(`node ${index} has ${nullCount} nulls in ${length} entries`);
    return { length, nullCount };
  }

  /** Where a buffer lies in the body. */
  buffer(index: number): BufferPlace {
    const { buffer } = this.table;
    const position = this.#buffers.start + 16 * index;
    const offset = buffer.safeInteger(position, `the offset of buffer ${index}`);
    const length = buffer.safeInteger(position + 8, `the length of buffer ${index}`);
    const bodyLength = this.message.end - this.message.bodyStart;
    if (offset + length > bodyLength)
      throw buffer.malformed(
        `buffer ${index} (bytes ${offset} to ${offset + length}) ends past its body of ${bodyLength}`,
      );
    return { offset, length };
  }

  /** The index of a field's buffer; `which` counts from 0 and includes the data buffers of a view. */
  bufferIndex(field: ArrowField, which: number): number {
    return field.bufferIndex + this.#viewBuffersBefore[field.viewIndex] + which;
  }

  /** How many data buffers a view column has, by its place among those. */
  viewBufferCount(viewIndex: number): number {
    return this.#viewBuffersBefore[viewIndex + 1] - this.#viewBuffersBefore[viewIndex];
  }

  /** The codec as the format numbers it. */
  get codecNumber(): number {
    return this.codec === null ? -1 : CODECS.indexOf(this.codec);
  }

  /** Bytes of a buffer when decompressed. */
  byteLength(index: number): number {
    const { offset, length } = this.buffer(index);
    if (this.codec === null || length === 0) return length;
    return this.#uncompressedLength(index, offset, length) ?? length - LENGTH_BYTES;
  }

  /**
   * Bytes [start..end) of a buffer, at the start of memory of their own or aligned as if they were.
   * @param what names the buffer's content in messages
   */
  bytes(index: number, start: number, end: number, what: string): Uint8Array {
    if (end === start) return new Uint8Array(0);
    const { offset, length } = this.buffer(index);
    const from = this.message.bodyStart + offset;
    if (this.codec === null || length === 0) return this.#stored(from, length, start, end, what);
    const uncompressedLength = this.#uncompressedLength(index, offset, length);
    if (uncompressedLength === null) return this.#stored(from + LENGTH_BYTES, length - LENGTH_BYTES, start, end, what);
    if (end > uncompressedLength) throw this.#tooShort(what, uncompressedLength, end);
    const bytes = this.#decompress(this.codec, index, from + LENGTH_BYTES, length - LENGTH_BYTES, uncompressedLength);
    const part = bytes.subarray(start, end);
    return part.byteOffset % 8 === 0 ? part : part.slice();
  }

  #stored(from: number, length: number, start: number, end: number, what: string): Uint8Array {
    if (end > length) throw this.#tooShort(what, length, end);
    const bytes = allocate(end - start, this.place, (byteLength) => new Uint8Array(byteLength));
    this.#file.readInto(bytes, from + start);
    return bytes;
  }

  #decompress(codec: ArrowCodec, index: number, from: number, length: number, uncompressedLength: number): Uint8Array {
    if (this.#decompressed?.index === index) return this.#decompressed.bytes;
    this.#decompressed = null;
    const compressed = allocate(length, this.place, (byteLength) => new Uint8Array(byteLength));
    this.#file.readInto(compressed, from);
    const bytes = this.#unpack(codec, compressed, uncompressedLength, index);
    this.#decompressed = { index, bytes };
    return bytes;
  }

  #unpack(codec: ArrowCodec, compressed: Uint8Array, uncompressedLength: number, index: number): Uint8Array {
    try {
      return decompressBlock(codec, compressed, uncompressedLength);
    } catch (cause) {
      if (cause instanceof InputError)
        throw new InputError(`${this.place}: buffer ${index}: ${cause.message}`, { cause });
      throw cause;
    }
  }

  /** null where the buffer is stored as it is. */
  #uncompressedLength(index: number, offset: number, length: number): number | null {
    if (length < LENGTH_BYTES)
      throw new InputError(
        `${this.place}: buffer ${index} has ${length} bytes, too few for the length before compressed data`,
      );
    const prefix = new DataView(new ArrayBuffer(LENGTH_BYTES));
    this.#file.readInto(new Uint8Array(prefix.buffer), this.message.bodyStart + offset);
    const uncompressed = prefix.getBigInt64(0, true);
    if (uncompressed === NOT_COMPRESSED) return null;
    const most = Math.min((length - LENGTH_BYTES) * HIGHEST_RATIO[this.codec ?? 'zstd'], LARGEST_DECOMPRESSED);
    if (uncompressed < 0n || uncompressed > most)
      throw new InputError(
        `${this.place}: buffer ${index} of ${length} compressed bytes claims ${uncompressed} bytes, expected 0 to ${most}`,
      );
    return Number(uncompressed);
  }

  #tooShort(what: string, found: number, expected: number): InputError {
    return new InputError(`${this.place}: the ${what} has ${found} bytes, expected ${expected} or more`);
  }

  #countViewBuffers({ viewCount }: ArrowLayout): number[] {
    const before = [0];
    if (viewCount === 0) return before;
    const counts = this.table.vector(RecordBatchSlot.variadicCounts, 8) ?? { start: 0, length: 0 };
    if (counts.length !== viewCount)
      throw new InputError(
        `${this.place} has ${counts.length} counts of view buffers, but its schema needs ${viewCount}`,
      );
    for (let i = 0; i < viewCount; i++) {
      const count = this.table.buffer.safeInteger(counts.start + 8 * i, 'a count of view buffers');
      before.push(before[i] + Math.min(count, this.#buffers.length + 1));
    }
    return before;
  }
}

/** Memory for what a file claims to hold. */
export function allocate<T>(length: number, place: string, make: (length: number) => T): T {
  try {
    return make(length);
  } catch (cause) {
    if (cause instanceof RangeError)
      throw new InputError(`${place}: a column of ${length} entries or bytes does not fit into memory`, { cause });
    throw cause;
  }
}
