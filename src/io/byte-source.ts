/** A source of bytes that can be read more than once: a file, or a stream spooled to a private file while first read. */
import type { BigIntStats } from 'node:fs';
import { tmpdir } from 'node:os';
import { InputError } from '../errors.ts';
import { GZIP_MAGIC, gunzip } from './codecs/gunzip.ts';
import { beginsAsZstd, unzstd } from './codecs/unzstd.ts';
import { SNIFFED_BYTES, sniffFormat } from './format.ts';
import { openStoredBytes, type StoredBytes } from './stored-bytes.ts';

export interface ByteSource {
  /** The name for messages: the path as given, `stdin` for `-`. */
  readonly name: string;
  /** Bytes as stored, before decompression; undefined until a stream has been read to its end. */
  readonly byteLength: number | undefined;
  /** What a file was when it was opened; null: a stream. */
  readonly opened: BigIntStats | null;
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
  readonly spoolFolder?: string | undefined;
  /** Longest line of a stream of lines. */
  readonly maxLine?: number | undefined;
}

/** Opens a path or `-` and looks at its first bytes: compression is recognized by content. */
export async function openByteSource(nameOrDash: string, options: ByteSourceOptions = {}): Promise<ByteSource> {
  const stored = await openStoredBytes(nameOrDash, options.spoolFolder ?? tmpdir(), options.maxLine);
  try {
    const compression = compressionOf(await stored.head(HEAD_LENGTH));
    const chunks = () => DECOMPRESS[compression](stored.chunks(), stored.name);
    if (compression !== 'none') refuseOtherThanLines(await headOf(chunks()), compression, stored.name);
    return sourceOf(stored, compression, chunks);
  } catch (error) {
    await stored.close();
    throw error;
  }
}

type Compression = ByteSource['compression'];
type Chunks = AsyncGenerator<Uint8Array, void, undefined>;

const DECOMPRESS: Readonly<Record<Compression, (chunks: Chunks, name: string) => Chunks>> = {
  none: (chunks) => chunks,
  gzip: gunzip,
  zstd: unzstd,
};

const HEAD_LENGTH = 4;

function compressionOf(head: Uint8Array): Compression {
  if (GZIP_MAGIC.every((byte, i) => head[i] === byte)) return 'gzip';
  return beginsAsZstd(head) ? 'zstd' : 'none';
}

function sourceOf(stored: StoredBytes, compression: Compression, chunks: () => Chunks): ByteSource {
  return {
    name: stored.name,
    opened: stored.opened,
    get byteLength() {
      return stored.byteLength;
    },
    compression,
    chunks,
    localPath: () => stored.localPath(),
    close: () => stored.close(),
  };
}

async function headOf(chunks: Chunks): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    pieces.push(Uint8Array.from(chunk.subarray(0, SNIFFED_BYTES - length)));
    length += chunk.length;
    if (length >= SNIFFED_BYTES) break;
  }
  return Buffer.concat(pieces);
}

const CONTAINERS = { parquet: 'a Parquet file', arrow: 'an Arrow file', torch: 'a torch file or a zip archive' };

/** Files that are read at positions cannot be read inside a compressed one. */
function refuseOtherThanLines(head: Uint8Array, compression: Compression, name: string): void {
  const place = `${name}: inside ${compression}`;
  try {
    const format = sniffFormat(head);
    if (format !== 'jsonl')
      throw new InputError(`this is ${CONTAINERS[format]}, which is only read as it is: decompress it first`);
  } catch (error) {
    throw new InputError(`${place}: ${(error as Error).message}`, { cause: error });
  }
}
