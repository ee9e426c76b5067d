/** A source of bytes that can be read more than once: a file, or a stream spooled to a private file while first read. */
import { tmpdir } from 'node:os';
import { GZIP_MAGIC, gunzip } from './codecs/gunzip.ts';
import { unzstd } from './codecs/unzstd.ts';
import { openStoredBytes } from './stored-bytes.ts';

export interface ByteSource {
  /** The name for messages: the path as given, `stdin` for `-`. */
  readonly name: string;
  /** Bytes as stored, before decompression; undefined until a stream has been read to its end. */
  readonly byteLength: number | undefined;
  /** What the content is compressed with; chunks() then gives the decompressed bytes. */
  readonly compression: 'none' | 'gzip' | 'zstd';
  /**
   * The bytes from the beginning; one reader at a time. A chunk may be overwritten once the next one is asked for.
   */
  chunks(): AsyncIterable<Uint8Array>;
  /** The path of the stored bytes: the file's own, or that of the complete copy of a stream. Valid until close(). */
  localPath(): Promise<string>;
  close(): Promise<void>;
}

export interface ByteSourceOptions {
  /** Where streams are spooled; the system's temporary folder by default. */
  readonly spoolFolder?: string;
}

/** Opens a path or `-` and looks at its first bytes: compression is recognized by content. */
export async function openByteSource(nameOrDash: string, options: ByteSourceOptions = {}): Promise<ByteSource> {
  const stored = await openStoredBytes(nameOrDash, options.spoolFolder ?? tmpdir());
  try {
    const head = await stored.head(HEAD_LENGTH);
    const compression = startsWith(head, GZIP_MAGIC) ? 'gzip' : startsWith(head, ZSTD_MAGIC_BYTES) ? 'zstd' : 'none';
    const decompress = { none: null, gzip: gunzip, zstd: unzstd }[compression];
    return {
      name: stored.name,
      get byteLength() {
        return stored.byteLength;
      },
      compression,
      chunks: () => (decompress ? decompress(stored.chunks(), stored.name) : stored.chunks()),
      localPath: () => stored.localPath(),
      close: () => stored.close(),
    };
  } catch (error) {
    await stored.close();
    throw error;
  }
}

const HEAD_LENGTH = 6;
const ZSTD_MAGIC_BYTES = [0x28, 0xb5, 0x2f, 0xfd];

function startsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return bytes.length >= magic.length && magic.every((byte, i) => bytes[i] === byte);
}
