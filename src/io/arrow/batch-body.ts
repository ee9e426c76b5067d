/** The nodes, buffers and body of a record batch that is being written. */
import type { EncodedColumn } from './encode-column.ts';
import { alignUp, type FlatNode, type FlatSlot, int8, int64, longs, offset, table } from './flatbuffer-writer.ts';
import type { Write } from './message-output.ts';

/** Each buffer begins at a multiple of this in its body. */
const BUFFER_ALIGNMENT = 64;
/** Compressed bodies have a length before each buffer; this one says that the buffer is not compressed. */
const NOT_COMPRESSED = new Uint8Array(8).fill(0xff);

type WritePiece = (put: Write) => void;

export class BatchBody {
  readonly #nodes: number[] = [];
  readonly #buffers: number[] = [];
  readonly #pieces: { offset: number; byteLength: number; write: WritePiece }[] = [];
  #byteLength = 0;

  /** Of a multiple of 8 bytes, as the format wants it. */
  get byteLength(): number {
    return alignUp(this.#byteLength, 8);
  }

  /** Room in the body, which is filled when the body is written. */
  reserve(byteLength: number, write: WritePiece): number {
    const start = alignUp(this.#byteLength, BUFFER_ALIGNMENT);
    this.#pieces.push({ offset: start, byteLength, write });
    this.#byteLength = start + byteLength;
    return start;
  }

  addNode(length: number, nullCount: number): void {
    this.#nodes.push(length, nullCount);
  }

  addBuffer(start: number, byteLength: number): void {
    this.#buffers.push(start, byteLength);
  }

  addColumn({ nullCount, buffers }: EncodedColumn, rowCount: number, isCompressed: boolean): void {
    this.addNode(rowCount, nullCount);
    for (const bytes of buffers) {
      const byteLength = bytes.length === 0 || !isCompressed ? bytes.length : NOT_COMPRESSED.length + bytes.length;
      if (byteLength === 0) this.addBuffer(this.#byteLength, 0);
      else {
        const start = this.reserve(byteLength, (put) => {
          if (isCompressed) put(NOT_COMPRESSED);
          put(bytes);
        });
        this.addBuffer(start, byteLength);
      }
    }
  }

  /** The RecordBatch table. */
  recordBatch(rowCount: number, compression: FlatSlot | null, viewBufferCounts: readonly number[] | null): FlatNode {
    return table(
      int64(rowCount),
      offset(longs(this.#nodes, 2)),
      offset(longs(this.#buffers, 2)),
      compression,
      viewBufferCounts === null ? null : offset(longs(viewBufferCounts, 1)),
    );
  }

  write(put: Write): void {
    let position = 0;
    for (const { offset: start, byteLength, write } of this.#pieces) {
      put(new Uint8Array(start - position));
      write(put);
      position = start + byteLength;
    }
    put(new Uint8Array(this.byteLength - position));
  }
}

/** A BodyCompression table by the codec's number. */
export function compressionSlot(codec: number): FlatSlot {
  return offset(table(int8(codec), int8(0)));
}
