import { execFile, execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { deflateRawSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { FileError, InputError } from '../../src/errors.ts';
import { type ByteSource, openByteSource } from '../../src/io/byte-source.ts';
import { loadZstdEncoder, toZstdFrame } from '../../src/io/codecs/zstd-encoder.ts';
import { removeTemporaryFiles } from '../../src/io/temporary-files.ts';
import { asNobody } from '../support/as-nobody.ts';

let folder: string;
let spoolFolder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollnorm-test-'));
  spoolFolder = join(folder, 'spool');
  mkdirSync(spoolFolder);
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

function file(content: string | Uint8Array, name = 'rows.jsonl'): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

async function collect(source: ByteSource): Promise<Buffer> {
  const chunks: Buffer[] = [];
  // Copied, because a chunk is only valid until the next.
  for await (const chunk of source.chunks()) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

async function readTwice(name: string): Promise<Buffer> {
  const source = await openByteSource(name, { spoolFolder });
  try {
    const first = await collect(source);
    expect((await collect(source)).equals(first)).toBe(true);
    return first;
  } finally {
    await source.close();
  }
}

/** Standard input that delivers pieces of at most `size` bytes. */
function mockStdin(content: Uint8Array, size: number): void {
  const pieces = function* () {
    for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
  };
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from(pieces()) as unknown as typeof process.stdin);
}

function noise(byteLength: number): Buffer {
  const bytes = Buffer.alloc(byteLength);
  for (let i = 0, state = 1; i < byteLength; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

describe('a file', () => {
  test.each([0, 1, 5, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_500_000])('of %i bytes is read twice', async (size) => {
    const content = noise(size);
    const source = await openByteSource(file(content));
    expect(source).toMatchObject({ byteLength: size, compression: 'none' });
    await source.close();
    expect((await readTwice(file(content))).equals(content)).toBe(true);
    expect(readdirSync(spoolFolder)).toEqual([]);
  });

  test('can be left in the middle and read again', async () => {
    const content = noise(3_000_000);
    const source = await openByteSource(file(content));
    for await (const chunk of source.chunks()) {
      expect(chunk.length).toBe(1 << 20);
      break;
    }
    expect((await collect(source)).equals(content)).toBe(true);
    await source.close();
  });

  test.each<[string, string, (path: string) => void]>([
    ['grew', 'changed while it was in use: 3000000 bytes before, 3000001 now', (path) => appendFileSync(path, 'x')],
    ['shrank', 'changed while it was in use: 3000000 bytes before, 10 now', (path) => truncateSync(path, 10)],
    ['was written to', 'was written to while it was in use', (path) => utimesSync(path, 1, 1)],
    ['was replaced', 'was replaced while it was in use', (path) => renameSync(file(noise(3_000_000), 'new'), path)],
    ['was removed', 'no such file or directory', (path) => rmSync(path)],
  ])('that %s between the passes is refused', async (_, message, change) => {
    const path = file(noise(3_000_000));
    const source = await openByteSource(path);
    await collect(source);
    change(path);
    const failure = collect(source);
    await expect(failure).rejects.toThrow(FileError);
    await expect(failure).rejects.toThrow(path);
    await expect(failure).rejects.toThrow(message);
    await source.close();
  });

  test.each<[string, string, (path: string) => void]>([
    ['grows', 'changed while it was in use', (path) => appendFileSync(path, 'x')],
    ['shrinks', 'shrank while it was read', (path) => truncateSync(path, 1_500_000)],
  ])('that %s while it is read is refused', async (_, message, change) => {
    const path = file(noise(6_000_000));
    const source = await openByteSource(path);
    const failure = (async () => {
      let chunkCount = 0;
      for await (const _ of source.chunks()) if (chunkCount++ === 0) change(path);
    })();
    await expect(failure).rejects.toThrow(FileError);
    await expect(failure).rejects.toThrow(message);
    await source.close();
  });

  test.each<[string, () => string, string]>([
    ['missing', () => join(folder, 'none'), 'no such file or directory'],
    ['a folder', () => folder, 'is a directory'],
    ['below a file', () => join(file('x'), 'y'), 'not a directory'],
  ])('that is %s is refused', async (_, path, reason) => {
    const failure = openByteSource(path());
    await expect(failure).rejects.toThrow(FileError);
    await expect(failure).rejects.toThrow(path());
    await expect(failure).rejects.toThrow(reason);
  });

  test('without permission is refused', async () => {
    const path = file('x');
    chmodSync(path, 0);
    chmodSync(folder, 0o755);
    await expect(asNobody(() => openByteSource(path))).rejects.toThrow('permission denied');
  });

  test('whose read fails is refused', async () => {
    await expect(openByteSource('/proc/self/mem')).rejects.toThrow(FileError);
  });
});

describe('a stream', () => {
  test.each([1, 7, 1 << 16])('on standard input in pieces of %i is read twice', async (size) => {
    const content = noise(size === 1 ? 50 : 300_000);
    mockStdin(content, size);
    expect((await readTwice('-')).equals(content)).toBe(true);
    mockStdin(gzipSync(content), size);
    expect((await readTwice('-')).equals(content)).toBe(true);
    expect(readdirSync(spoolFolder)).toEqual([]);
  });

  test('is spooled to a private file that close removes', async () => {
    mockStdin(noise(1000), 100);
    const source = await openByteSource('-', { spoolFolder });
    expect(source).toMatchObject({ name: 'stdin', byteLength: undefined });
    const [spool] = readdirSync(spoolFolder);
    expect(statSync(join(spoolFolder, spool)).mode & 0o777).toBe(0o600);
    await collect(source);
    expect(source.byteLength).toBe(1000);
    await source.close();
    expect(readdirSync(spoolFolder)).toEqual([]);
  });

  test('left in the middle goes on where it was', async () => {
    const content = noise(1000);
    mockStdin(content, 100);
    const source = await openByteSource('-', { spoolFolder });
    for await (const _ of source.chunks()) break;
    expect((await collect(source)).equals(content)).toBe(true);
    await source.close();
  });

  test('spooled is removed by a signal handler', async () => {
    mockStdin(noise(10), 1);
    const source = await openByteSource('-', { spoolFolder });
    removeTemporaryFiles();
    expect(readdirSync(spoolFolder)).toEqual([]);
    await source.close();
  });

  test('empty gives nothing', async () => {
    mockStdin(noise(0), 1);
    expect((await readTwice('-')).length).toBe(0);
  });

  test('that breaks is a file error', async () => {
    const broken = Readable.from(
      (async function* () {
        yield Buffer.from('some bytes');
        throw Object.assign(new Error('EIO'), { errno: -5, code: 'EIO' });
      })(),
    );
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(broken as unknown as typeof process.stdin);
    const source = await openByteSource('-', { spoolFolder });
    await expect(collect(source)).rejects.toThrow(new FileError('stdin: cannot read: i/o error'));
    await source.close();
    expect(readdirSync(spoolFolder)).toEqual([]);
  });

  test('without a place to spool is a file error', async () => {
    mockStdin(noise(10), 1);
    await expect(openByteSource('-', { spoolFolder: join(folder, 'none') })).rejects.toThrow(
      /none.*cannot create a temporary file for stdin: no such file/,
    );
  });

  test('in a FIFO is read twice', async () => {
    const fifo = join(folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const content = noise(3_000_000);
    execFile('sh', ['-c', 'cat "$1" > "$2"', 'sh', file(content), fifo]);
    expect((await readTwice(fifo)).equals(content)).toBe(true);
    expect(readdirSync(spoolFolder)).toEqual([]);
  });
});

/** A member with all the optional header parts. */
function decoratedMember(content: Uint8Array, level: number): Buffer {
  const plain = gzipSync(content, { level });
  const header = Buffer.from(plain.subarray(0, 10));
  header[3] = 0x04 | 0x08 | 0x10;
  const extras = Buffer.concat([
    Buffer.from([3, 0, 1, 2, 0]),
    Buffer.from('name\0'),
    Buffer.from('\x1f\x8b comment\0'),
  ]);
  return Buffer.concat([header, extras, plain.subarray(10)]);
}

describe('what says nothing of its length', () => {
  test('a file of /proc is read as the stream that it is', async () => {
    const source = await openByteSource('/proc/self/cmdline', { spoolFolder });
    const local = await source.localPath();
    expect(local).toContain(spoolFolder);
    expect(readFileSync(local)).toEqual(readFileSync('/proc/self/cmdline'));
    await source.close();
    expect(readdirSync(spoolFolder)).toEqual([]);
  });

  test('an empty file is an empty file', async () => {
    const path = file('');
    const source = await openByteSource(path, { spoolFolder });
    expect([await source.localPath(), source.byteLength]).toEqual([path, 0]);
    await source.close();
  });

  test('a line without an end is given up at the longest line, and what was spooled is removed', async () => {
    const source = await openByteSource('/dev/zero', { spoolFolder, maxLine: 5_000_000 });
    await expect(source.localPath()).rejects.toThrow('/dev/zero: line 1: is longer than 5000000 bytes (--max-line)');
    await source.close();
    expect(readdirSync(spoolFolder)).toEqual([]);
  });
});

describe('gzip', () => {
  const members = fc.array(
    fc.tuple(fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.constant(new Uint8Array(5000))), fc.nat(9), fc.boolean()),
    { minLength: 1, maxLength: 5 },
  );
  const sizes = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 50 }));
  const compress = (parts: [Uint8Array, number, boolean][]) =>
    parts.map(([content, level, decorated]) =>
      decorated ? decoratedMember(content, level) : gzipSync(content, { level }),
    );

  async function readStream(content: Uint8Array, size: number): Promise<Buffer> {
    mockStdin(content, size);
    const source = await openByteSource('-', { spoolFolder });
    try {
      expect(source.compression).toBe('gzip');
      return await collect(source);
    } finally {
      await source.close();
    }
  }

  test('members cut anywhere give the plain bytes', async () => {
    await fc.assert(
      fc.asyncProperty(members, sizes, async (parts, size) => {
        const plain = Buffer.concat(parts.map(([content]) => content));
        expect((await readStream(Buffer.concat(compress(parts)), size)).equals(plain)).toBe(true);
      }),
    );
  });

  test('anything after a member that is no member is refused', async () => {
    const junk = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 30 }),
      fc.integer({ min: 1, max: 600 }).map((length) => new Uint8Array(length)),
      fc.constantFrom(
        Uint8Array.of(0x1f),
        Uint8Array.of(0x1f, 0x8b),
        Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3),
      ),
    );
    await fc.assert(
      fc.asyncProperty(members, junk, sizes, async (parts, trailing, size) => {
        await expect(readStream(Buffer.concat([...compress(parts), trailing]), size)).rejects.toThrow(InputError);
      }),
    );
  });

  test('a file cut off anywhere is refused', async () => {
    const whole = Buffer.concat([gzipSync('first'), decoratedMember(noise(300), 6)]);
    const firstEnd = gzipSync('first').length;
    for (let length = 2; length < whole.length; length++) {
      if (length === firstEnd) continue;
      const message = `stdin: gzip member ${length < firstEnd ? 1 : 2}: is cut off`;
      await expect(readStream(whole.subarray(0, length), 64)).rejects.toThrow(message);
    }
  });

  test('a flipped bit in what carries content is refused', async () => {
    const whole = gzipSync(noise(100), { level: 0 });
    // The first byte after the header ends in padding bits, which carry nothing.
    for (let at = 11; at < whole.length; at++) {
      const damaged = Buffer.from(whole);
      damaged[at] ^= 0x10;
      await expect(readStream(damaged, 64)).rejects.toThrow(InputError);
    }
  });

  test.each([
    ['another method', 2, 7, 'compression method is 7'],
    ['reserved flags', 3, 0x80, 'reserved flags'],
  ])('a header with %s is refused', async (_, at, value, message) => {
    const damaged = gzipSync('x');
    damaged[at] = value;
    await expect(readTwice(file(damaged))).rejects.toThrow(message);
  });

  test('a header checksum is checked', async () => {
    const [good, bad] = [0, 1].map((error) => {
      const header = Buffer.from([0x1f, 0x8b, 8, 2, 0, 0, 0, 0, 0, 3]);
      // CRC-32 of that header, of which the lower half is stored.
      const trailer = gzipSync('x').subarray(-8);
      const headerCrc = gzipSync(header).readUInt32LE(gzipSync(header).length - 8) & 0xffff;
      return Buffer.concat([
        header,
        Buffer.from([(headerCrc & 0xff) ^ error, headerCrc >> 8]),
        deflateRawSync('x'),
        trailer,
      ]);
    });
    expect((await readTwice(file(good))).toString()).toBe('x');
    await expect(readTwice(file(bad))).rejects.toThrow('header checksum');
  });

  test('names the file, and is recognized by content alone', async () => {
    const path = file(gzipSync('{}\n'), 'rows.jsonl');
    expect((await readTwice(path)).toString()).toBe('{}\n');
    await expect(readTwice(file(gzipSync('x').subarray(0, 12)))).rejects.toThrow(`${path}: gzip member 1`);
    expect((await readTwice(file('plain', 'rows.jsonl.gz'))).toString()).toBe('plain');
  });

  test('large members come whole', async () => {
    const [first, second] = [noise(2_500_000), noise(1_500_000)];
    const content = Buffer.concat([gzipSync(first, { level: 1 }), gzipSync(''), gzipSync(second, { level: 1 })]);
    expect((await readTwice(file(content))).equals(Buffer.concat([first, second]))).toBe(true);
  });

  test('is not inflated ahead of the consumer', async () => {
    const bomb = file(gzipSync(Buffer.alloc(200 << 20), { level: 1 }));
    const source = await openByteSource(bomb);
    const before = process.memoryUsage();
    for await (const chunk of source.chunks()) {
      expect(chunk.length).toBeLessThanOrEqual(1 << 20);
      await new Promise((resolve) => setTimeout(resolve, 300));
      const { arrayBuffers } = process.memoryUsage();
      expect(arrayBuffers - before.arrayBuffers).toBeLessThan(16 << 20);
      break;
    }
    await source.close();
  });
});

describe('zstd', () => {
  beforeAll(loadZstdEncoder);

  test('frames of a file or a stream give the plain bytes', async () => {
    const content = noise(3_000_000);
    const stored = Buffer.concat([
      toZstdFrame(content.subarray(0, 1_000_000)),
      toZstdFrame(content.subarray(1_000_000)),
    ]);
    const source = await openByteSource(file(stored));
    expect(source).toMatchObject({ byteLength: stored.length, compression: 'zstd' });
    await source.close();
    expect((await readTwice(file(stored))).equals(content)).toBe(true);
    mockStdin(stored, 1000);
    expect((await readTwice('-')).equals(content)).toBe(true);
    expect(readdirSync(spoolFolder)).toEqual([]);
  });

  test('names the file, and is recognized by content alone', async () => {
    const path = file(toZstdFrame(Buffer.from('{}\n')), 'rows.jsonl');
    expect((await readTwice(path)).toString()).toBe('{}\n');
    const failure = readTwice(file(toZstdFrame(Buffer.from('{}\n')).subarray(0, 10)));
    await expect(failure).rejects.toThrow(`${path}: zstd frame 1: is cut off`);
    expect((await readTwice(file('plain', 'rows.jsonl.zst'))).toString()).toBe('plain');
  });
});

describe('where the bytes are', () => {
  test('is the path of a file', async () => {
    const path = file(gzipSync('{}\n'));
    const source = await openByteSource(path);
    expect(await source.localPath()).toBe(path);
    await source.close();
    expect(statSync(path).isFile()).toBe(true);
  });

  test.each(['plain', 'gzip'])('is a complete copy of a stream until it is closed (%s)', async (kind) => {
    const content = kind === 'gzip' ? gzipSync(noise(100_000)) : noise(100_000);
    mockStdin(content, 1000);
    const source = await openByteSource('-', { spoolFolder });
    for await (const _ of source.chunks()) break;
    const path = await source.localPath();
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(source.byteLength).toBe(content.length);
    expect((await collect(source)).equals(noise(100_000))).toBe(true);
    await source.close();
    expect(readdirSync(spoolFolder)).toEqual([]);
  });
});

describe('other formats', () => {
  beforeAll(loadZstdEncoder);
  const compress = { gzip: gzipSync, zstd: toZstdFrame };

  test.each(['PAR1....', 'ARROW1\0\0', 'PK\x03\x04....'])(
    'that begin with %j are opened as they are',
    async (content) => {
      const source = await openByteSource(file(content));
      expect(source.compression).toBe('none');
      await source.close();
    },
  );

  test.each<[string, string]>([
    ['PAR1....', 'this is a Parquet file, which is only read as it is: decompress it first'],
    ['ARROW1\0\0', 'this is an Arrow file, which is only read as it is: decompress it first'],
    ['PK\x03\x04....', 'this is a torch file or a zip archive, which is only read as it is: decompress it first'],
    ['BZh9....', 'this is compressed with bzip2'],
    ['\x1f\x8b\x08....', 'this is compressed with gzip'],
  ])('that begin with %j are refused inside a compressed file', async (content, what) => {
    for (const kind of ['gzip', 'zstd'] as const) {
      const path = file(compress[kind](Buffer.from(content, 'latin1')));
      await expect(openByteSource(path)).rejects.toThrow(new InputError(`${path}: inside ${kind}: ${what}`));
    }
    mockStdin(gzipSync(Buffer.from(content, 'latin1')), 1);
    await expect(openByteSource('-', { spoolFolder })).rejects.toThrow(`stdin: inside gzip: ${what}`);
    expect(readdirSync(spoolFolder)).toEqual([]);
  });
});
