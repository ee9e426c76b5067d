/** A source of bytes that can be read more than once: a file, or a stream spooled to a private file while first read. */
import { tmpdir } from 'node:os';
import { InputError } from '../errors.ts';
import { GZIP_MAGIC, gunzip } from './gunzip.ts';
import { openStoredBytes } from './stored-bytes.ts';

export interface ByteSource {
  /** The name for messages: the path as given, `stdin` for `-`. */
  readonly name: string;
  /** Bytes as stored, before decompression; undefined until a stream has been read to its end. */
  readonly byteLength: number | undefined;
  /** Whether the content is gzip; chunks() then gives the decompressed bytes. */
  readonly compressed: boolean;
  /**
   * The bytes from the beginning; one reader at a time. A chunk may be overwritten once the next one is asked for.
   */
  chunks(): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

export interface ByteSourceOptions {
  /** Where streams are spooled; the system's temporary folder by default. */
  readonly spoolFolder?: string;
}

/** Opens a path or `-` and looks at its first bytes: gzip is recognized by content, other containers are refused. */
export async function openByteSource(nameOrDash: string, options: ByteSourceOptions = {}): Promise<ByteSource> {
  const stored = await openStoredBytes(nameOrDash, options.spoolFolder ?? tmpdir());
  try {
    const head = await stored.head(HEAD_LENGTH);
    refuseOtherFormats(stored.name, head);
    const compressed = startsWith(head, GZIP_MAGIC);
    return {
      name: stored.name,
      get byteLength() {
        return stored.byteLength;
      },
      compressed,
      chunks: () => (compressed ? gunzip(stored.chunks(), stored.name) : stored.chunks()),
      close: () => stored.close(),
    };
  } catch (error) {
    await stored.close();
    throw error;
  }
}

const HEAD_LENGTH = 6;
const OTHER_FORMATS: readonly (readonly [magic: readonly number[], what: string])[] = [
  [[...Buffer.from('PAR1')], 'a Parquet file'],
  [[...Buffer.from('ARROW1')], 'an Arrow file'],
  [[0x50, 0x4b, 0x03, 0x04], 'a zip archive (torch .pt files are zip archives)'],
  [[0x50, 0x4b, 0x05, 0x06], 'an empty zip archive'],
  [[0x28, 0xb5, 0x2f, 0xfd], 'zstd-compressed'],
];

function startsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return bytes.length >= magic.length && magic.every((byte, i) => bytes[i] === byte);
}

function refuseOtherFormats(name: string, head: Uint8Array): void {
  for (const [magic, what] of OTHER_FORMATS) {
    if (startsWith(head, magic)) {
      throw new InputError(`${name}: this is ${what}; this version reads JSONL, plain or gzip`);
    }
  }
}
