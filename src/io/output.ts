/** Where rows go: a file that appears whole or not at all, a pipe or device written as it is, or standard output. */
import { randomBytes } from 'node:crypto';
import { constants, fstatSync, type Stats, writeFile } from 'node:fs';
import { access, type FileHandle, open, readlink, realpath, rename, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { isatty } from 'node:tty';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import { FileError } from '../errors.ts';
import { loadZstdEncoder, toZstdFrame } from './codecs/zstd-encoder.ts';
import { createTemporaryFile, fileError, forgetTemporaryFile, removeTemporaryFile } from './temporary-files.ts';

export interface OutputOptions {
  /** By default a name that ends in .gz or .zst is compressed. */
  readonly compress?: Compression;
}

export interface Output {
  /** What messages call it. */
  readonly name: string;
  /** Whether the reader of a pipe has gone: what is written after that is dropped. */
  readonly closed: boolean;
  /** The open file itself, where bytes go into a regular file as they are: whoever writes to it writes all of it. */
  readonly descriptor: number | null;
  /**
   * The same for an output that may be compressed: its frames or members one after the other are written by whoever takes
   * it over, at least one. null where only write() reaches it.
   */
  takeOver(): OpenFile | null;
  /** Takes bytes in order. They may be reused once it has returned, or once the promise that it returned resolves. */
  write(bytes: Uint8Array): Promise<void> | void;
  /** Writes what is left and, for a file, puts it in its place. After a failure nothing of it is left. */
  commit(): Promise<void>;
  /** Gives up: a file that was there stays as it was. */
  abort(): Promise<void>;
}

export type Compression = 'gzip' | 'zstd' | 'none';

/** A file to be written at positions; plain data. */
export interface OpenFile {
  readonly descriptor: number;
  /** What messages call it. */
  readonly name: string;
  readonly compression: Compression;
}

/** Opens a path, or `-` for standard output. */
export async function openOutput(pathOrDash: string, options: OutputOptions = {}): Promise<Output> {
  const target = await openTarget(pathOrDash);
  const compress = options.compress ?? COMPRESSION_OF_ENDING[extname(pathOrDash).toLowerCase()] ?? 'none';
  if (compress === 'none') return new BufferedOutput(target, target, pathOrDash, compress);
  if (compress === 'gzip') return new BufferedOutput(target, new GzipSink(target), pathOrDash, compress);
  await loadZstdEncoder();
  return new BufferedOutput(target, new ZstdSink(target), pathOrDash, compress);
}

const COMPRESSION_OF_ENDING: Readonly<Record<string, 'gzip' | 'zstd'>> = { '.gz': 'gzip', '.zst': 'zstd' };

const BATCH_SIZE = 1 << 20;

/** Takes bytes one write at a time. */
interface Sink {
  write(bytes: Uint8Array): Promise<void>;
  /** Passes on all that is held back. */
  finish(): Promise<void>;
  abort(): Promise<void>;
}

interface Target extends Sink {
  readonly closed: boolean;
  readonly descriptor: number | null;
}

/** Collects small writes; one batch is written while the next is filled. */
class BufferedOutput implements Output {
  readonly #target: Target;
  readonly #sink: Sink;
  readonly name: string;
  readonly #compression: Compression;
  #isTakenOver = false;
  #batch = Buffer.allocUnsafe(BATCH_SIZE);
  #spare = Buffer.allocUnsafe(BATCH_SIZE);
  #length = 0;
  #pending: Promise<void> = Promise.resolve();
  #done = false;

  constructor(target: Target, sink: Sink, name: string, compression: Compression) {
    this.#target = target;
    this.#sink = sink;
    this.name = name;
    this.#compression = compression;
  }

  get closed(): boolean {
    return this.#target.closed;
  }

  get descriptor(): number | null {
    return this.#sink === this.#target ? this.#target.descriptor : null;
  }

  takeOver(): OpenFile | null {
    const { descriptor } = this.#target;
    if (descriptor === null) return null;
    this.#isTakenOver = true;
    return { descriptor, name: this.name, compression: this.#compression };
  }

  write(bytes: Uint8Array): Promise<void> | void {
    if (bytes.length > BATCH_SIZE - this.#length) return this.#writeLarge(bytes);
    this.#batch.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  async commit(): Promise<void> {
    if (this.#done) return;
    try {
      await this.#flush();
      await this.#pending;
      if (this.#sink !== this.#target) await (this.#isTakenOver ? this.#sink.abort() : this.#sink.finish());
      await this.#target.finish();
      this.#done = true;
    } catch (error) {
      await this.abort();
      throw error;
    }
  }

  async abort(): Promise<void> {
    if (this.#done) return;
    this.#done = true;
    if (this.#sink !== this.#target) await this.#sink.abort();
    await this.#pending.catch(() => {});
    await this.#target.abort();
  }

  async #writeLarge(bytes: Uint8Array): Promise<void> {
    await this.#flush();
    if (bytes.length <= BATCH_SIZE) {
      this.write(bytes);
    } else {
      await this.#pending;
      await this.#sink.write(bytes);
    }
  }

  async #flush(): Promise<void> {
    await this.#pending;
    if (this.#length === 0) return;
    const full = this.#batch.subarray(0, this.#length);
    [this.#batch, this.#spare] = [this.#spare, this.#batch];
    this.#length = 0;
    this.#pending = this.#sink.write(full);
    // A failure is thrown by whoever awaits it next; until then it must not count as unhandled.
    this.#pending.catch(() => {});
  }
}

/** Compresses on the way to another sink. */
class GzipSink implements Sink {
  readonly #gzip = createGzip();
  readonly #drained: Promise<void>;

  constructor(sink: Sink) {
    this.#drained = this.#drainInto(sink);
    this.#drained.catch(() => {});
  }

  write(bytes: Uint8Array): Promise<void> {
    const written = new Promise<void>((resolve, reject) => {
      this.#gzip.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
    // When the sink fails, the compressor stalls and never calls back.
    return Promise.race([written, this.#drained]);
  }

  finish(): Promise<void> {
    this.#gzip.end();
    return this.#drained;
  }

  async abort(): Promise<void> {
    this.#gzip.destroy();
    await this.#drained.catch(() => {});
  }

  async #drainInto(sink: Sink): Promise<void> {
    for await (const piece of this.#gzip) await sink.write(piece);
  }
}

/** Compresses to frames of their own, so that only one of them is in memory. */
class ZstdSink implements Sink {
  readonly #target: Sink;
  #bytes = Buffer.allocUnsafe(ZSTD_FRAME_BYTES);
  #length = 0;
  #isEmpty = true;

  constructor(target: Sink) {
    this.#target = target;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length; ) {
      const piece = bytes.subarray(from, from + ZSTD_FRAME_BYTES - this.#length);
      this.#bytes.set(piece, this.#length);
      this.#length += piece.length;
      from += piece.length;
      if (this.#length === ZSTD_FRAME_BYTES) await this.#writeFrame();
    }
  }

  async finish(): Promise<void> {
    // A file without a frame would not be one of zstd.
    if (this.#length > 0 || this.#isEmpty) await this.#writeFrame();
  }

  async abort(): Promise<void> {
    this.#length = 0;
  }

  async #writeFrame(): Promise<void> {
    const frame = toZstdFrame(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    this.#isEmpty = false;
    await this.#target.write(frame);
  }
}

const ZSTD_FRAME_BYTES = 4 << 20;

async function openTarget(pathOrDash: string): Promise<Target> {
  // Opening /dev/stdout by path fails where it is a socket, and would truncate a file that the shell opened to append.
  if (pathOrDash === '-' || pathOrDash === '/dev/stdout') return new StandardOutput();
  try {
    const path = await resolveLinks(pathOrDash);
    const present = await statIfPresent(path);
    if (present?.isDirectory()) throw new FileError(`${pathOrDash}: cannot write: is a directory`);
    if (present && !present.isFile()) return new HandleTarget(pathOrDash, await open(path, 'w'));
    return await openReplacement(pathOrDash, path, present);
  } catch (cause) {
    throw fileError(pathOrDash, 'cannot write', cause);
  }
}

async function statIfPresent(path: string): Promise<Stats | undefined> {
  return stat(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return undefined;
    throw cause;
  });
}

/** The path behind symbolic links, also when the last of them points to a file that does not exist yet. */
async function resolveLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
  }
  const link = await readlink(path).catch(() => undefined);
  return link === undefined ? path : resolveLinks(resolve(dirname(path), link));
}

/** Opens a temporary file beside the target that takes its place, and its mode, on finish. */
async function openReplacement(name: string, path: string, present: Stats | undefined): Promise<Target> {
  // Renaming needs no permission on the file itself; a file that is write-protected is still not to be replaced.
  if (present) await access(path, constants.W_OK);
  const base = basename(path).slice(0, LONGEST_BASE);
  const temporary = join(dirname(path), `.${base}.${process.pid}.${randomBytes(6).toString('hex')}.tmp`);
  const handle = await createTemporaryFile(temporary, present ? 0o600 : 0o666);
  try {
    if (present) await handle.chmod(present.mode & 0o7777);
  } catch (cause) {
    await handle.close();
    await removeTemporaryFile(temporary);
    throw cause;
  }
  return new HandleTarget(name, handle, { temporary, path });
}

/** File names may have 255 bytes; a character may take three. */
const LONGEST_BASE = 60;

/** An open file, pipe or device; with a replacement, a temporary file that is renamed over its path. */
class HandleTarget implements Target {
  closed = false;
  readonly #name: string;
  readonly #handle: FileHandle;
  readonly #replacement: { temporary: string; path: string } | undefined;

  constructor(name: string, handle: FileHandle, replacement?: { temporary: string; path: string }) {
    this.#name = name;
    this.#handle = handle;
    this.#replacement = replacement;
  }

  get descriptor(): number | null {
    return this.#replacement ? this.#handle.fd : null;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.closed) return;
    try {
      await this.#handle.writeFile(bytes);
    } catch (cause) {
      this.closed = requireClosedPipe(this.#name, cause);
    }
  }

  async finish(): Promise<void> {
    try {
      await this.#handle.close();
      if (this.#replacement === undefined) return;
      const { temporary, path } = this.#replacement;
      await rename(temporary, path);
      forgetTemporaryFile(temporary);
    } catch (cause) {
      throw fileError(this.#name, 'cannot write', cause);
    }
  }

  async abort(): Promise<void> {
    await this.#handle.close().catch(() => {});
    if (this.#replacement) await removeTemporaryFile(this.#replacement.temporary);
  }
}

const STDOUT = 1;
const writeToDescriptor = promisify(writeFile);

class StandardOutput implements Target {
  closed = false;
  readonly descriptor = null;
  readonly #isFile: boolean;

  constructor() {
    // On a file or device process.stdout takes a short write, as on a full disk, for a complete one.
    const stats = fstatSync(STDOUT);
    this.#isFile = !stats.isFIFO() && !stats.isSocket() && !isatty(STDOUT);
    // A reader that goes away is also reported as an event, which would end the program when nobody listens.
    if (!process.stdout.listeners('error').includes(ignore)) process.stdout.on('error', ignore);
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.closed) return;
    try {
      await (this.#isFile ? writeToDescriptor(STDOUT, bytes) : writeToStream(process.stdout, bytes));
    } catch (cause) {
      this.closed = requireClosedPipe('stdout', cause);
    }
  }

  async finish(): Promise<void> {}

  async abort(): Promise<void> {}
}

function writeToStream(stream: NodeJS.WritableStream, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

function ignore(): void {}

/** True for a pipe whose reader has gone, which ends the output quietly; any other failure is thrown. */
function requireClosedPipe(name: string, cause: unknown): true {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return true;
  throw fileError(name, 'cannot write', cause);
}
