/** A source of bytes that can be read more than once: a file, or a stream spooled to a private file while first read. */
import { randomUUID } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, createInflateRaw } from 'node:zlib';
import { FileError, InputError } from '../errors.ts';
import { createTemporaryFile, fileError, removeTemporaryFile } from './temporary-files.ts';

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

const READ_SIZE = 1 << 20;
const INFLATED_SIZE = 1 << 17;
const HEAD_LENGTH = 6;
const GZIP_MAGIC = [0x1f, 0x8b];
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

/** The bytes as they are stored, before any decompression. */
interface StoredBytes {
  readonly name: string;
  readonly byteLength: number | undefined;
  head(length: number): Promise<Uint8Array>;
  chunks(): AsyncGenerator<Uint8Array, void, undefined>;
  close(): Promise<void>;
}

async function openStoredBytes(nameOrDash: string, spoolFolder: string): Promise<StoredBytes> {
  // Opening /dev/stdin by path fails where standard input is a socket, as under a Node parent.
  if (nameOrDash === '-' || nameOrDash === '/dev/stdin') {
    const name = nameOrDash === '-' ? 'stdin' : nameOrDash;
    return openSpool(name, process.stdin[Symbol.asyncIterator](), spoolFolder);
  }
  let handle: FileHandle | undefined;
  try {
    handle = await open(nameOrDash, 'r');
    const stats = await handle.stat({ bigint: true });
    if (stats.isFile()) return new RegularFile(nameOrDash, handle, stats);
    if (stats.isDirectory()) throw new FileError(`${nameOrDash}: cannot read: is a directory`);
    return await openSpool(nameOrDash, readStream(handle), spoolFolder);
  } catch (cause) {
    await handle?.close();
    throw fileError(nameOrDash, 'cannot open', cause);
  }
}

class RegularFile implements StoredBytes {
  readonly name: string;
  readonly byteLength: number;
  readonly #handle: FileHandle;
  readonly #opened: BigIntStats;

  constructor(name: string, handle: FileHandle, opened: BigIntStats) {
    this.name = name;
    this.byteLength = Number(opened.size);
    this.#handle = handle;
    this.#opened = opened;
  }

  head(length: number): Promise<Uint8Array> {
    return readHead(this.#handle, length, this.name);
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    this.#requireUnchanged(await stat(this.name, { bigint: true }).catch((cause) => this.#fail(cause)));
    yield* readRange(this.#handle, this.byteLength, this.name);
    this.#requireUnchanged(await this.#handle.stat({ bigint: true }).catch((cause) => this.#fail(cause)));
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  #fail(cause: unknown): never {
    throw fileError(this.name, 'cannot read', cause);
  }

  #requireUnchanged(now: BigIntStats): void {
    const { dev, ino, size, mtimeNs } = this.#opened;
    if (now.dev !== dev || now.ino !== ino) throw new FileError(`${this.name}: was replaced while it was in use`);
    if (now.size !== size) {
      throw new FileError(`${this.name}: changed while it was in use: ${size} bytes before, ${now.size} now`);
    }
    if (now.mtimeNs !== mtimeNs) throw new FileError(`${this.name}: was written to while it was in use`);
  }
}

async function openSpool(name: string, stream: AsyncIterator<Uint8Array>, folder: string): Promise<SpooledStream> {
  const path = join(folder, `rollnorm-${process.pid}-${randomUUID()}.spool`);
  try {
    return new SpooledStream(name, stream, path, await createTemporaryFile(path, 0o600));
  } catch (cause) {
    throw fileError(path, `cannot create a temporary file for ${name}`, cause);
  }
}

class SpooledStream implements StoredBytes {
  readonly name: string;
  readonly #stream: AsyncIterator<Uint8Array>;
  readonly #path: string;
  readonly #spool: FileHandle;
  #spooled = 0;
  #complete = false;

  constructor(name: string, stream: AsyncIterator<Uint8Array>, path: string, spool: FileHandle) {
    this.name = name;
    this.#stream = stream;
    this.#path = path;
    this.#spool = spool;
  }

  get byteLength(): number | undefined {
    return this.#complete ? this.#spooled : undefined;
  }

  async head(length: number): Promise<Uint8Array> {
    while (!this.#complete && this.#spooled < length) await this.#take();
    return readHead(this.#spool, length, this.#path);
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    yield* readRange(this.#spool, this.#spooled, this.#path);
    while (!this.#complete) yield await this.#take();
  }

  async close(): Promise<void> {
    this.#complete = true;
    await this.#stream.return?.();
    await this.#spool.close();
    await removeTemporaryFile(this.#path);
  }

  async #take(): Promise<Uint8Array> {
    const next = await this.#stream.next().catch((cause) => {
      throw fileError(this.name, 'cannot read', cause);
    });
    if (next.done) {
      this.#complete = true;
      return new Uint8Array(0);
    }
    await this.#spool.writeFile(next.value).catch((cause) => {
      throw fileError(this.#path, `cannot spool ${this.name}`, cause);
    });
    this.#spooled += next.value.length;
    return next.value;
  }
}

async function readHead(handle: FileHandle, length: number, name: string): Promise<Uint8Array> {
  const { buffer, bytesRead } = await readAt(handle, Buffer.alloc(length), length, 0, name);
  return buffer.subarray(0, bytesRead);
}

/** The first `byteLength` bytes of a file; the next read runs while the consumer works on the last one. */
async function* readRange(
  handle: FileHandle,
  byteLength: number,
  name: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const size = Math.min(READ_SIZE, byteLength);
  let [current, spare] = [Buffer.allocUnsafe(size), Buffer.allocUnsafe(size)];
  const read = (into: Buffer, at: number) => readAt(handle, into, Math.min(size, byteLength - at), at, name);
  let position = 0;
  let pending = read(current, position);
  try {
    while (position < byteLength) {
      const { bytesRead } = await pending;
      if (bytesRead === 0) throw new FileError(`${name}: shrank while it was read: ends after ${position} bytes`);
      position += bytesRead;
      pending = read(spare, position);
      yield current.subarray(0, bytesRead);
      [current, spare] = [spare, current];
    }
  } finally {
    // The handle must be idle before its owner may close it.
    await pending.catch(() => {});
  }
}

async function readAt(handle: FileHandle, into: Buffer, length: number, position: number, name: string) {
  try {
    return await handle.read(into, 0, length, position);
  } catch (cause) {
    throw fileError(name, 'cannot read', cause);
  }
}

async function* readStream(handle: FileHandle): AsyncGenerator<Uint8Array, void, undefined> {
  const buffer = Buffer.allocUnsafe(READ_SIZE);
  try {
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, READ_SIZE, null);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/**
 * The plain bytes of all members of a gzip file. Node's own gunzip drops what follows a member without a word when it
 * starts with a zero or arrives in a later chunk, so members are framed here and only their bodies are left to zlib.
 */
async function* gunzip(
  chunks: AsyncGenerator<Uint8Array, void, undefined>,
  name: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const input = new ChunkCursor(chunks);
  try {
    for (let member = 1; await input.fill(); member++) {
      const place = `${name}: gzip member ${member}`;
      await readMemberHeader(input, place, `${name}: bytes after gzip member ${member - 1}`);
      yield* inflateMember(input, place);
    }
  } finally {
    await chunks.return();
  }
}

/** A position in a stream of chunks. */
class ChunkCursor {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array(0);
  #position = 0;

  constructor(chunks: AsyncIterator<Uint8Array>) {
    this.#chunks = chunks;
  }

  /** Makes sure that there is a byte to read; false at the end. */
  async fill(): Promise<boolean> {
    while (this.#position === this.#chunk.length) {
      const next = await this.#chunks.next();
      if (next.done) return false;
      this.#chunk = next.value;
      this.#position = 0;
    }
    return true;
  }

  rest(): Uint8Array {
    return this.#chunk.subarray(this.#position);
  }

  advance(byteLength: number): void {
    this.#position += byteLength;
  }

  async byte(place: string): Promise<number> {
    if (this.#position === this.#chunk.length && !(await this.fill())) throw cutOff(place);
    return this.#chunk[this.#position++];
  }

  async uint32(place: string): Promise<number> {
    let value = 0;
    for (let shift = 0; shift < 32; shift += 8) value |= (await this.byte(place)) << shift;
    return value >>> 0;
  }
}

function cutOff(place: string): InputError {
  return new InputError(`${place}: is cut off: the file ends inside it`);
}

const HEADER_CRC = 0x02;
const EXTRA_FIELD = 0x04;
const FILE_NAME = 0x08;
const COMMENT = 0x10;
const RESERVED_FLAGS = 0xe0;

/** Reads an RFC 1952 member header; its optional parts are dropped but checked. */
async function readMemberHeader(input: ChunkCursor, place: string, placeBefore: string): Promise<void> {
  let crc = 0;
  const single = new Uint8Array(1);
  const next = async () => {
    single[0] = await input.byte(place);
    crc = crc32(single, crc);
    return single[0];
  };
  for (const magic of GZIP_MAGIC) {
    if ((await next()) !== magic)
      throw new InputError(`${placeBefore}: expected another member or the end of the file`);
  }
  const method = await next();
  if (method !== 8) throw new InputError(`${place}: compression method is ${method}, expected 8 (deflate)`);
  const flags = await next();
  if (flags & RESERVED_FLAGS) throw new InputError(`${place}: header has reserved flags set`);
  for (let i = 0; i < 6; i++) await next();
  if (flags & EXTRA_FIELD) {
    for (let left = (await next()) | ((await next()) << 8); left > 0; left--) await next();
  }
  for (const text of [FILE_NAME, COMMENT]) {
    if (flags & text) while ((await next()) !== 0);
  }
  if (flags & HEADER_CRC) {
    const expected = crc & 0xffff;
    const found = (await input.byte(place)) | ((await input.byte(place)) << 8);
    if (found !== expected) throw new InputError(`${place}: header checksum does not match`);
  }
}

/** Inflates one member's body piece by piece, as the consumer asks, and checks its trailer. */
async function* inflateMember(input: ChunkCursor, place: string): AsyncGenerator<Uint8Array, void, undefined> {
  let crc = 0;
  let byteLength = 0;
  for await (const piece of inflateBody(input, place)) {
    crc = crc32(piece, crc);
    byteLength = (byteLength + piece.length) >>> 0;
    yield piece;
  }
  if ((await input.uint32(place)) !== crc) throw new InputError(`${place}: is corrupt: its checksum does not match`);
  if ((await input.uint32(place)) !== byteLength)
    throw new InputError(`${place}: is corrupt: its length does not match`);
}

async function* inflateBody(input: ChunkCursor, place: string): AsyncGenerator<Uint8Array, void, undefined> {
  const inflater = createInflateRaw({ chunkSize: INFLATED_SIZE });
  const state = { busy: false, ended: false, error: undefined as Error | undefined };
  let happened = false;
  let wake = () => {};
  const notify = () => {
    happened = true;
    wake();
  };
  inflater.on('readable', notify);
  inflater.on('end', () => {
    state.ended = true;
    notify();
  });
  inflater.on('error', (error) => {
    state.error = error;
    notify();
  });
  let consumed = 0;
  try {
    for (;;) {
      // Pulling, and feeding only when nothing is left to pull, keeps a bomb from inflating ahead of the consumer.
      const piece: Buffer | null = inflater.read();
      input.advance(inflater.bytesWritten - consumed);
      consumed = inflater.bytesWritten;
      if (state.error) throw new InputError(`${place}: is corrupt: ${state.error.message}`, { cause: state.error });
      if (piece) {
        yield piece;
        continue;
      }
      if (state.ended) return;
      if (!state.busy) {
        if (!(await input.fill())) throw cutOff(place);
        state.busy = true;
        inflater.write(input.rest(), () => {
          state.busy = false;
          notify();
        });
      }
      if (!happened) await new Promise<void>((resolve) => (wake = resolve));
      happened = false;
    }
  } finally {
    inflater.destroy();
  }
}
