/** Blocks whose decompressed length is known: pages of Parquet files and buffers of Arrow files. */
import { brotliDecompressSync, gzipSync, unzipSync } from 'node:zlib';
import { InputError } from '../../errors.ts';
import { lz4Block, lz4Frame, lz4Hadoop } from './lz4.ts';
import { loadSnappy, snappyBlock, toSnappy } from './snappy.ts';
import { loadZstdDecoder, zstdBlock, zstdBlockInPlace } from './zstd-decoder.ts';
import { loadZstdEncoder, toZstd } from './zstd-encoder.ts';

export type BlockCodec = 'snappy' | 'gzip' | 'zstd' | 'brotli' | 'lz4' | 'lz4_raw' | 'lz4_frame';

/** A block that claims to be longer, or to have been longer, is not believed. */
const LONGEST_BLOCK = 2 ** 30;

/** Loads what the codecs need; to be awaited before the first block of such a codec. */
export async function prepareBlockCodecs(
  codecs: readonly BlockCodec[],
  use: 'reading' | 'writing' | 'both' = 'both',
): Promise<void> {
  const needed: Promise<void>[] = [];
  if (codecs.includes('zstd') && use !== 'writing') needed.push(loadZstdDecoder());
  if (codecs.includes('zstd') && use !== 'reading') needed.push(loadZstdEncoder());
  if (codecs.includes('snappy')) needed.push(loadSnappy());
  await Promise.all(needed);
}

/** @throws InputError where the bytes are corrupt or do not have exactly that length */
export function decompressBlock(codec: BlockCodec, bytes: Uint8Array, uncompressedLength: number): Uint8Array {
  return decompressed(DECOMPRESS[codec], codec, bytes, uncompressedLength);
}

/** The same, of which the bytes are valid until the next block: for who is done with one before the next. */
export function decompressBlockInPlace(codec: BlockCodec, bytes: Uint8Array, uncompressedLength: number): Uint8Array {
  const run = codec === 'zstd' ? zstdBlockInPlace : DECOMPRESS[codec];
  return decompressed(run, codec, bytes, uncompressedLength);
}

type Decompress = (bytes: Uint8Array, length: number) => Uint8Array;

function decompressed(run: Decompress, codec: BlockCodec, bytes: Uint8Array, uncompressedLength: number): Uint8Array {
  refuseImpossible(codec, bytes.length, uncompressedLength);
  const plain = run(bytes, uncompressedLength);
  if (plain.length === uncompressedLength) return plain;
  throw wrongLength(codec, `${plain.length}`, uncompressedLength);
}

export function compressBlock(codec: 'snappy' | 'gzip' | 'zstd', bytes: Uint8Array): Uint8Array {
  if (codec === 'gzip') return gzipSync(bytes);
  return codec === 'snappy' ? toSnappy(bytes) : toZstd(bytes);
}

const DECOMPRESS: Readonly<Record<BlockCodec, Decompress>> = {
  // Writers of Parquet have put zlib streams under the name of gzip too.
  gzip: (bytes, length) => inflate('gzip', unzipSync, bytes, length),
  brotli: (bytes, length) => inflate('brotli', brotliDecompressSync, bytes, length),
  snappy: snappyBlock,
  zstd: zstdBlock,
  lz4: lz4Hadoop,
  lz4_raw: lz4Block,
  lz4_frame: lz4Frame,
};

/** How many bytes one byte of a format can become at most, rounded up. */
const LARGEST_EXPANSION: Readonly<Record<BlockCodec, number>> = {
  gzip: 1040,
  brotli: Number.POSITIVE_INFINITY,
  snappy: 22,
  zstd: 2 ** 15,
  lz4: 256,
  lz4_raw: 256,
  lz4_frame: 256,
};
const EXPANSION_SLACK = 64;

/** Nothing is allocated for a length that the bytes cannot hold. */
function refuseImpossible(codec: BlockCodec, byteLength: number, length: number): void {
  if (!Number.isInteger(length) || length < 0)
    throw new InputError(`a ${codec} block claims a length of ${length} bytes`);
  if (length > LONGEST_BLOCK || byteLength > LONGEST_BLOCK)
    throw new InputError(
      `a ${codec} block of ${byteLength} bytes claims ${length} bytes; at most ${LONGEST_BLOCK} are read`,
    );
  if (length > byteLength * LARGEST_EXPANSION[codec] + EXPANSION_SLACK)
    throw new InputError(`a ${codec} block of ${byteLength} bytes claims ${length} bytes, more than it can hold`);
}

type Inflate = (bytes: Uint8Array, options: { maxOutputLength: number; chunkSize: number }) => Buffer;
const LARGEST_CHUNK = 1 << 20;
const SMALLEST_CHUNK = 64;

function inflate(codec: BlockCodec, run: Inflate, bytes: Uint8Array, length: number): Uint8Array {
  // One byte more than is needed shows that nothing is left, without a second buffer.
  const chunkSize = Math.max(SMALLEST_CHUNK, Math.min(length + 1, LARGEST_CHUNK));
  try {
    return run(bytes, { maxOutputLength: Math.max(length, 1), chunkSize });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw wrongLength(codec, `more than ${length}`, length, cause);
    throw new InputError(`a ${codec} block is corrupt: ${(cause as Error).message}`, { cause });
  }
}

function wrongLength(codec: BlockCodec, found: string, expected: number, cause?: unknown): InputError {
  return new InputError(`a ${codec} block has ${found} bytes where ${expected} were promised`, { cause });
}
