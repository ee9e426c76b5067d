/** Bytes as they are stored, which can be read more than once: a file, or a stream that is spooled while first read. */
import { randomUUID } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FileError, InputError } from '../errors.ts';
import { GZIP_MAGIC } from './codecs/gunzip.ts';
import { beginsAsZstd } from './codecs/unzstd.ts';
import { SNIFFED_BYTES, sniffFormat } from './format.ts';
import { DEFAULT_MAX_LINE } from './jsonl/lines.ts';
import { createTemporaryFile, fileError, removeTemporaryFile } from './temporary-files.ts';

const READ_SIZE = 1 << 20;
const LINE_FEED = 0x0a;

/** The bytes as they are stored, before any decompression. */
export interface StoredBytes {
  readonly name: string;
  readonly byteLength: number | undefined;
  /** What a file was when it was opened; null: a stream. */
  readonly opened: BigIntStats | null;
  head(length: number): Promise<Uint8Array>;
  chunks(): AsyncGenerator<Uint8Array, void, undefined>;
  /** Where all of the bytes are; a stream is read to its end first. */
  localPath(): Promise<string>;
  close(): Promise<void>;
}

/**
 * Opens a path or `-`; what cannot be read twice is spooled to a private file in `spoolFolder`.
 * @param maxLine a stream that says to hold lines is given up at a longer one, as it may never end
 */
export async function openStoredBytes(
  nameOrDash: string,
  spoolFolder: string,
  maxLine: number = DEFAULT_MAX_LINE,
): Promise<StoredBytes> {
  // Opening /dev/stdin by path fails where standard input is a socket, as under a Node parent.
  if (nameOrDash === '-' || nameOrDash === '/dev/stdin') {
    const name = nameOrDash === '-' ? 'stdin' : nameOrDash;
    return openSpool(name, process.stdin[Symbol.asyncIterator](), spoolFolder, maxLine);
  }
  let handle: FileHandle | undefined;
  try {
    handle = await open(nameOrDash, 'r');
    const stats = await handle.stat({ bigint: true });
    // Files of /proc say that they have no bytes.
    const isStored = stats.isFile() && (stats.size > 0n || (await readHead(handle, 1, nameOrDash)).length === 0);
    if (isStored) return new RegularFile(nameOrDash, handle, stats);
    if (stats.isDirectory()) throw new FileError(`${nameOrDash}: cannot read: is a directory`);
    return await openSpool(nameOrDash, readStream(handle), spoolFolder, maxLine);
  } catch (cause) {
    await handle?.close();
    throw fileError(nameOrDash, 'cannot open', cause);
  }
}

class RegularFile implements StoredBytes {
  readonly name: string;
  readonly byteLength: number;
  readonly opened: BigIntStats;
  readonly #handle: FileHandle;

  constructor(name: string, handle: FileHandle, opened: BigIntStats) {
    this.name = name;
    this.byteLength = Number(opened.size);
    this.opened = opened;
    this.#handle = handle;
  }

  head(length: number): Promise<Uint8Array> {
    return readHead(this.#handle, length, this.name);
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    requireUnchanged(this, await stat(this.name, { bigint: true }).catch((cause) => this.#fail(cause)));
    yield* readRange(this.#handle, this.byteLength, this.name);
    requireUnchanged(this, await this.#handle.stat({ bigint: true }).catch((cause) => this.#fail(cause)));
  }

  localPath(): Promise<string> {
    return Promise.resolve(this.name);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  #fail(cause: unknown): never {
    throw fileError(this.name, 'cannot read', cause);
  }
}

interface OpenedFile {
  readonly name: string;
  readonly opened: BigIntStats;
}

/** @throws FileError where a file is no longer what it was when it was opened */
export function requireUnchanged({ name, opened }: OpenedFile, now: BigIntStats): void {
  const { dev, ino, size, mtimeNs } = opened;
  if (now.dev !== dev || now.ino !== ino) throw new FileError(`${name}: was replaced while it was in use`);
  if (now.size !== size)
    throw new FileError(`${name}: changed while it was in use: ${size} bytes before, ${now.size} now`);
  if (now.mtimeNs !== mtimeNs) throw new FileError(`${name}: was written to while it was in use`);
}

async function openSpool(
  name: string,
  stream: AsyncIterator<Uint8Array>,
  folder: string,
  maxLine: number,
): Promise<SpooledStream> {
  const path = join(folder, `rollnorm-${process.pid}-${randomUUID()}.spool`);
  try {
    return new SpooledStream(name, stream, path, await createTemporaryFile(path, 0o600), maxLine);
  } catch (cause) {
    throw fileError(path, `cannot create a temporary file for ${name}`, cause);
  }
}

class SpooledStream implements StoredBytes {
  readonly name: string;
  readonly opened = null;
  readonly #stream: AsyncIterator<Uint8Array>;
  readonly #path: string;
  readonly #spool: FileHandle;
  readonly #maxLine: number;
  #spooled = 0;
  /** Bytes since the last line feed. */
  #lineLength = 0;
  #complete = false;

  constructor(name: string, stream: AsyncIterator<Uint8Array>, path: string, spool: FileHandle, maxLine: number) {
    this.name = name;
    this.#stream = stream;
    this.#path = path;
    this.#spool = spool;
    this.#maxLine = maxLine;
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

  async localPath(): Promise<string> {
    while (!this.#complete) await this.#take();
    return this.#path;
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
    const feed = next.value.lastIndexOf(LINE_FEED);
    this.#lineLength = feed < 0 ? this.#lineLength + next.value.length : next.value.length - 1 - feed;
    if (this.#lineLength > this.#maxLine) await this.#requireNoLines();
    return next.value;
  }

  /** Formats with an index have no lines, and the lines of a compressed stream are not these. */
  async #requireNoLines(): Promise<void> {
    const head = await readHead(this.#spool, SNIFFED_BYTES, this.#path);
    if (GZIP_MAGIC.every((byte, i) => head[i] === byte) || beginsAsZstd(head) || sniffFormat(head) !== 'jsonl') return;
    let line = 1;
    for await (const bytes of readRange(this.#spool, this.#spooled, this.#path))
      for (let feed = bytes.indexOf(LINE_FEED); feed >= 0; feed = bytes.indexOf(LINE_FEED, feed + 1)) line++;
    throw new InputError(`${this.name}: line ${line}: is longer than ${this.#maxLine} bytes (--max-line)`);
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
