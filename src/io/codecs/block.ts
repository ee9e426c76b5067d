/** Blocks whose decompressed length is known: pages of Parquet files and buffers of Arrow files. */
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { InputError } from '../../errors.ts';
import { lz4Block, lz4Frame, lz4Hadoop } from './lz4.ts';
import { zstdContentSize } from './zstd-frame.ts';

export type BlockCodec = 'snappy' | 'gzip' | 'zstd' | 'brotli' | 'lz4' | 'lz4_raw' | 'lz4_frame';

/** A page that claims to be longer is not believed. */
const LONGEST_BLOCK = 2 ** 30;
const ZSTD_LEVEL = 3;

type Zstd = typeof import('@bokuweb/zstd-wasm');
type Snappy = typeof import('hysnappy');

let zstd: Zstd | null = null;
let snappy: Snappy | null = null;
let uncompressSnappy: ((input: Uint8Array, outputLength: number) => Uint8Array) | null = null;

/** Loads what the codecs need; to be awaited before the first block of such a codec. */
export async function prepareBlockCodecs(codecs: readonly BlockCodec[]): Promise<void> {
  // The promise is kept, not the module: two initializations at once break the decoder.
  if (codecs.includes('zstd')) {
    loadingZstd ??= loadZstd();
    zstd = await loadingZstd;
  }
  if (codecs.includes('snappy') && !snappy) {
    snappy = await import('hysnappy');
    uncompressSnappy = snappy.snappyUncompressor();
  }
}

let loadingZstd: Promise<Zstd> | null = null;

async function loadZstd(): Promise<Zstd> {
  const loaded = await import('@bokuweb/zstd-wasm');
  await loaded.init();
  return loaded;
}

/** @throws InputError where the bytes are corrupt or do not have exactly that length */
export function decompressBlock(codec: BlockCodec, bytes: Uint8Array, uncompressedLength: number): Uint8Array {
  if (uncompressedLength > LONGEST_BLOCK)
    throw new InputError(`a ${codec} block claims ${uncompressedLength} bytes; at most ${LONGEST_BLOCK} are read`);
  let plain: Uint8Array;
  try {
    plain = DECOMPRESS[codec](bytes, uncompressedLength);
  } catch (cause) {
    if (cause instanceof InputError) throw cause;
    throw new InputError(`a ${codec} block is corrupt: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
  if (plain.length === uncompressedLength) return plain;
  throw new InputError(`a ${codec} block has ${plain.length} bytes where ${uncompressedLength} were promised`);
}

export function compressBlock(codec: 'snappy' | 'gzip' | 'zstd', bytes: Uint8Array): Uint8Array {
  if (codec === 'gzip') return gzipSync(bytes);
  if (codec === 'snappy') return loaded(snappy).snappyCompress(bytes);
  return loaded(zstd).compress(bytes, ZSTD_LEVEL);
}

const DECOMPRESS: Readonly<Record<BlockCodec, (bytes: Uint8Array, length: number) => Uint8Array>> = {
  gzip: (bytes, length) => gunzipSync(bytes, { maxOutputLength: Math.max(length, 1) }),
  brotli: (bytes, length) => brotliDecompressSync(bytes, { maxOutputLength: Math.max(length, 1) }),
  snappy: fromSnappy,
  zstd: fromZstd,
  lz4: lz4Hadoop,
  lz4_raw: lz4Block,
  lz4_frame: lz4Frame,
};

function fromSnappy(bytes: Uint8Array, length: number): Uint8Array {
  // The decoder believes the length that the block begins with, and writes as much.
  let stated = 0;
  for (let i = 0, scale = 1; i < 5; i++, scale *= 128) {
    if (i >= bytes.length) throw new InputError('a snappy block ends inside its length');
    stated += (bytes[i] & 0x7f) * scale;
    if (bytes[i] < 0x80) break;
  }
  if (stated !== length) throw new InputError(`a snappy block has ${stated} bytes where ${length} were promised`);
  if (length === 0) return new Uint8Array(0);
  return loaded(uncompressSnappy)(bytes, length);
}

function fromZstd(bytes: Uint8Array, length: number): Uint8Array {
  // The decoder allocates what the frame claims.
  const stated = zstdContentSize(bytes);
  if (stated !== null && stated !== length)
    throw new InputError(`a zstd block has ${stated} bytes where ${length} were promised`);
  if (length === 0) return new Uint8Array(0);
  return loaded(zstd).decompress(bytes, { defaultHeapSize: length });
}

function loaded<T>(module: T | null): T {
  if (module === null) throw new Error('prepareBlockCodecs was not awaited');
  return module;
}
