/** Zstd files of any number of frames, decompressed block by block, no further than the consumer asks. */
import { Decompress } from 'fzstd';
import xxhash from 'xxhash-wasm';
import { InputError } from '../../errors.ts';
import { ChunkCursor } from './chunk-cursor.ts';
import { frameHeaderLength, readFrameHeader, ZSTD_MAGIC } from './zstd-frame.ts';

/** What the zstd command line accepts without being told otherwise. */
const LARGEST_WINDOW = 2 ** 27;
const LARGEST_BLOCK = 2 ** 17;
const SKIPPABLE_MAGIC = 0x184d2a50;
const BLOCK_HEADER_BYTES = 3;
const RLE = 1;
const RESERVED = 3;

/**
 * The plain bytes of all frames of a zstd file. Frames are framed here and only their blocks are left to the decoder,
 * so that what follows a frame, lengths and checksums are looked at.
 */
export async function* unzstd(
  chunks: AsyncGenerator<Uint8Array, void, undefined>,
  name: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const input = new ChunkCursor(chunks);
  const { create64 } = await xxhash();
  try {
    for (let frame = 1; await input.fill(); frame++) {
      const place = `${name}: zstd frame ${frame}`;
      const magic = await input.uint32(place);
      if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC) await input.skip(await input.uint32(place), place);
      else if (magic === ZSTD_MAGIC) yield* readFrame(input, create64(), place);
      else if (frame === 1) throw new InputError(`${name}: expected a zstd frame`);
      else
        throw new InputError(
          `${name}: bytes after zstd frame ${frame - 1}: expected another frame or the end of the file`,
        );
    }
  } finally {
    await chunks.return();
  }
}

async function* readFrame(
  input: ChunkCursor,
  hash: { update(bytes: Uint8Array): unknown; digest(): bigint },
  place: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const header = await frameHeader(input, place);
  const { windowSize, contentSize, hasChecksum } = readHeader(header, place);
  if (windowSize > LARGEST_WINDOW)
    throw new InputError(`${place}: needs a window of ${windowSize} bytes; at most ${LARGEST_WINDOW} are allowed`);
  const pieces: Uint8Array[] = [];
  const decoder = new Decompress((piece) => {
    if (piece.length > 0) pieces.push(piece);
  });
  const push = (bytes: Uint8Array) => decode(decoder, bytes, place);
  push(header);
  let length = 0;
  for (let isLast = false; !isLast; ) {
    const head = Uint8Array.from(await input.take(BLOCK_HEADER_BYTES, place));
    const word = head[0] | (head[1] << 8) | (head[2] << 16);
    isLast = (word & 1) === 1;
    const type = (word >> 1) & 3;
    const size = word >> 3;
    if (type === RESERVED || size > Math.max(LARGEST_BLOCK, 0))
      throw new InputError(`${place}: is corrupt: a block of ${size} bytes`);
    const body = await input.take(type === RLE ? 1 : size, place);
    const block = new Uint8Array(BLOCK_HEADER_BYTES + body.length);
    block.set(head);
    block.set(body, BLOCK_HEADER_BYTES);
    push(block);
    for (const piece of pieces) {
      length += piece.length;
      if (contentSize !== null && length > contentSize)
        throw new InputError(`${place}: is corrupt: longer than it says`);
      hash.update(piece);
      // The decoder's window may be written to again.
      yield piece;
    }
    pieces.length = 0;
  }
  if (contentSize !== null && length !== contentSize)
    throw new InputError(`${place}: is corrupt: ${length} bytes, but its header says ${contentSize}`);
  if (hasChecksum && (await input.uint32(place)) !== Number(hash.digest() & 0xffffffffn))
    throw new InputError(`${place}: is corrupt: its checksum does not match`);
}

/** The header with its magic number, which has been read already. */
async function frameHeader(input: ChunkCursor, place: string): Promise<Uint8Array> {
  const descriptor = await input.byte(place);
  const length = frameHeaderLength(descriptor);
  const header = new Uint8Array(length);
  new DataView(header.buffer).setUint32(0, ZSTD_MAGIC, true);
  header[4] = descriptor;
  header.set(await input.take(length - 5, place), 5);
  // Checksums are looked at here; the decoder is not to wait for one.
  return header;
}

function readHeader(header: Uint8Array, place: string) {
  try {
    return readFrameHeader(header);
  } catch (error) {
    throw new InputError(`${place}: ${(error as Error).message}`, { cause: error });
  }
}

function decode(decoder: Decompress, bytes: Uint8Array, place: string): void {
  try {
    decoder.push(bytes);
  } catch (cause) {
    throw new InputError(`${place}: is corrupt: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}
