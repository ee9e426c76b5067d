/** Zstd files of any number of frames, decompressed no further than the consumer asks. */
import { InputError } from '../../errors.ts';
import { ChunkCursor, cutOff } from './chunk-cursor.ts';
import { loadZstdDecoder, ZstdError, ZstdStream } from './zstd-decoder.ts';

const MAGIC = 0xfd2fb528;
/** The formats before version 0.8 counted their magic numbers up from here. */
const FIRST_OLD_MAGIC = 0xfd2fb522;
/** The first of sixteen. */
const SKIPPABLE_MAGIC = 0x184d2a50;
const NO_BYTES = new Uint8Array(0);

/** Whether a file begins as one of zstd: with a frame, or with one that is to be skipped. */
export function beginsAsZstd(head: Uint8Array): boolean {
  if (head.length < 4) return false;
  const magic = (head[0] | (head[1] << 8) | (head[2] << 16) | (head[3] << 24)) >>> 0;
  return (magic >= FIRST_OLD_MAGIC && magic <= MAGIC) || (magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC;
}

/** The plain bytes of all frames of a zstd file; those that are to be skipped are counted too. */
export async function* unzstd(
  chunks: AsyncGenerator<Uint8Array, void, undefined>,
  name: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const input = new ChunkCursor(chunks);
  try {
    await loadZstdDecoder();
    const stream = new ZstdStream();
    let frame = 1;
    while (await input.fill()) {
      const { taken, plain } = decode(stream, input.rest(), name, frame);
      input.advance(taken);
      if (plain.length > 0) yield plain;
      if (stream.isBetweenFrames) frame++;
    }
    yield* remainder(stream, name, frame);
  } finally {
    await chunks.return();
  }
}

/** What the decoder still holds when nothing is left to read. */
function* remainder(stream: ZstdStream, name: string, frame: number): Generator<Uint8Array, void, undefined> {
  while (!stream.isBetweenFrames) {
    const { plain } = decode(stream, NO_BYTES, name, frame);
    if (plain.length === 0) throw cutOff(`${name}: zstd frame ${frame}`);
    yield plain;
  }
}

function decode(stream: ZstdStream, bytes: Uint8Array, name: string, frame: number) {
  try {
    return stream.decode(bytes);
  } catch (error) {
    if (!(error instanceof ZstdError)) throw error;
    throw new InputError(describe(error, name, frame), { cause: error });
  }
}

function describe(error: ZstdError, name: string, frame: number): string {
  if (!error.isNoFrame) return `${name}: zstd frame ${frame}: ${error.message}`;
  return frame === 1
    ? `${name}: expected a zstd frame (of version 0.8 or later)`
    : `${name}: bytes after zstd frame ${frame - 1}: expected another frame or the end of the file`;
}
