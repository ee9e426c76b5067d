/** Writes the messages of an Arrow file or stream one after another, and the index at a file's end. */
import { alignUp, type FlatNode } from './flatbuffer-writer.ts';
import { CONTINUATION, encapsulate } from './schema-message.ts';

export type Write = (bytes: Uint8Array) => void;

/** Where a file's index finds a message. */
export interface WrittenBlock {
  readonly start: number;
  readonly metadataLength: number;
  readonly bodyLength: number;
}

/** Bodies begin here, so that readers that map a file find every buffer as aligned as it is in its body. */
export const BODY_ALIGNMENT = 64;
const MAGIC = new TextEncoder().encode('ARROW1');
const BLOCK_LONGS = 3;

export class MessageOutput {
  readonly #write: Write;
  readonly #format: 'file' | 'stream';
  #position = 0;

  constructor(format: 'file' | 'stream', write: Write) {
    this.#format = format;
    this.#write = write;
    if (format === 'file') {
      this.#put(MAGIC);
      this.#pad();
    }
  }

  /**
   * Writes a message.
   * @param flatBytes its FlatBuffer, which must say `bodyLength`
   * @param writeBody writes the body in pieces, of that many bytes in all: a multiple of 8
   */
  message(flatBytes: Uint8Array, bodyLength: number, writeBody: (put: Write) => void): WrittenBlock {
    const start = this.#position;
    const metadata = encapsulate(flatBytes, bodyLength > 0 ? BODY_ALIGNMENT : 8, start);
    this.#put(metadata);
    const end = this.#position + bodyLength;
    writeBody((bytes) => this.#put(bytes));
    if (this.#position !== end)
      throw new Error(`wrote a body of ${this.#position - end + bodyLength} bytes, not ${bodyLength}`);
    this.#pad();
    return { start, metadataLength: metadata.length, bodyLength };
  }

  /** Ends the stream, or the file with the footer that is made of it. */
  end(footer: () => Uint8Array): void {
    const marker = new Uint8Array(8);
    new DataView(marker.buffer).setUint32(0, CONTINUATION, true);
    this.#put(marker);
    if (this.#format === 'stream') return;
    const bytes = footer();
    this.#put(bytes);
    const length = new Uint8Array(4);
    new DataView(length.buffer).setInt32(0, bytes.length, true);
    this.#put(length);
    this.#put(MAGIC);
  }

  #pad(): void {
    this.#put(new Uint8Array(alignUp(this.#position, 8) - this.#position));
  }

  #put(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#write(bytes);
    this.#position += bytes.length;
  }
}

/** The Block structs of a footer. */
export function blocksNode(blocks: readonly WrittenBlock[]): FlatNode {
  const bytes = new Uint8Array(8 * BLOCK_LONGS * blocks.length);
  const view = new DataView(bytes.buffer);
  for (const [i, { start, metadataLength, bodyLength }] of blocks.entries()) {
    const position = 8 * BLOCK_LONGS * i;
    view.setBigInt64(position, BigInt(start), true);
    view.setInt32(position + 8, metadataLength, true);
    view.setBigInt64(position + 16, BigInt(bodyLength), true);
  }
  return { kind: 'structs', count: blocks.length, bytes };
}
