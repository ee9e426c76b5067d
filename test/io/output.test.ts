import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FileError } from '../../src/errors.ts';
import { unzstd } from '../../src/io/codecs/unzstd.ts';
import { type Output, openOutput } from '../../src/io/output.ts';
import { removeTemporaryFiles } from '../../src/io/temporary-files.ts';
import { asNobody } from '../support/as-nobody.ts';
import { inChunks } from './codecs/support.ts';

const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollnorm-test-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const at = (name: string) => join(folder, name);

/** Writes from one buffer that is overwritten as soon as the output allows it. */
async function writeAll(output: Output, pieces: readonly Uint8Array[]): Promise<void> {
  const reused = new Uint8Array(Math.max(0, ...pieces.map((piece) => piece.length)));
  for (const piece of pieces) {
    reused.set(piece);
    await output.write(reused.subarray(0, piece.length));
    reused.fill(0x23);
  }
}

async function plainOf(name: string): Promise<Buffer> {
  const stored = readFileSync(at(name));
  if (name.endsWith('.gz')) return gunzipSync(stored);
  return name.endsWith('.zst') ? unzstdAll(stored) : stored;
}

async function unzstdAll(stored: Uint8Array): Promise<Buffer> {
  const plain: Uint8Array[] = [];
  for await (const piece of unzstd(inChunks(stored), 'rows')) plain.push(piece);
  return Buffer.concat(plain);
}

const pieces = (sizes: readonly number[]) => sizes.map((size, i) => new Uint8Array(size).fill(i));

describe('a file', () => {
  test.each<[string, number[]]>([
    ['nothing', []],
    ['little', [1, 0, 2]],
    ['many small writes', new Array(3000).fill(1000)],
    ['a batch exactly', [1 << 20]],
    ['more than a batch', [5, (1 << 20) + 1, 7, 3_000_000, (1 << 20) - 8, 9]],
  ])('holds what was written: %s', async (_, sizes) => {
    const names = ['rows.jsonl', 'rows.jsonl.gz', 'rows.jsonl.zst'];
    for (const name of names) {
      const output = await openOutput(at(name));
      await writeAll(output, pieces(sizes));
      await output.commit();
      expect((await plainOf(name)).equals(Buffer.concat(pieces(sizes)))).toBe(true);
    }
    expect(readdirSync(folder).sort()).toEqual(names);
  });

  test('is compressed as told, whatever its name', async () => {
    for (const [name, compress] of [
      ['rows', 'gzip'],
      ['rows-2', 'zstd'],
      ['rows.gz', 'none'],
      ['rows.zst', 'none'],
    ] as const) {
      const output = await openOutput(at(name), { compress });
      await output.write(Buffer.from('text'));
      await output.commit();
    }
    expect(gunzipSync(readFileSync(at('rows'))).toString()).toBe('text');
    expect((await unzstdAll(readFileSync(at('rows-2')))).toString()).toBe('text');
    expect(readFileSync(at('rows.gz')).toString()).toBe('text');
    expect(readFileSync(at('rows.zst')).toString()).toBe('text');
  });

  test('of zstd is made of frames, each with its length and a checksum', async () => {
    const output = await openOutput(at('rows.ZST'));
    await writeAll(output, [new Uint8Array(9_000_000)]);
    await output.commit();
    const stored = readFileSync(at('rows.ZST'));
    const starts: number[] = [];
    for (let from = stored.indexOf(ZSTD_MAGIC); from >= 0; from = stored.indexOf(ZSTD_MAGIC, from + 1))
      starts.push(from);
    // The content size in four bytes, a checksum; then 4 MiB, or the rest.
    expect(starts.map((start) => stored[start + 4] & 0xc4)).toEqual([0x84, 0x84, 0x84]);
    const sizes = starts.map((start) => stored.readUInt32LE(start + 5 + (stored[start + 4] & 0x20 ? 0 : 1)));
    expect(sizes).toEqual([1 << 22, 1 << 22, 9_000_000 - (1 << 23)]);
  });

  test('appears only on commit', async () => {
    writeFileSync(at('rows'), 'old');
    const output = await openOutput(at('rows'));
    await output.write(Buffer.alloc(3_000_000));
    expect(readFileSync(at('rows')).toString()).toBe('old');
    expect(readdirSync(folder).find((name) => name !== 'rows')).toMatch(
      new RegExp(`^\\.rows\\.${process.pid}\\.[0-9a-f]+\\.tmp$`),
    );
    await output.commit();
    expect(statSync(at('rows')).size).toBe(3_000_000);
    expect(readdirSync(folder)).toEqual(['rows']);
  });

  test.each(['rows', 'rows.gz', 'rows.zst'])('%s leaves nothing when aborted, and what was there', async (name) => {
    writeFileSync(at(name), 'old');
    const output = await openOutput(at(name));
    await output.write(Buffer.alloc(3_000_000));
    await output.abort();
    await output.abort();
    expect(readdirSync(folder)).toEqual([name]);
    expect(readFileSync(at(name)).toString()).toBe('old');
  });

  test('leaves nothing when a signal handler removes temporary files', async () => {
    const output = await openOutput(at('rows'));
    removeTemporaryFiles();
    expect(readdirSync(folder)).toEqual([]);
    await expect(output.commit()).rejects.toThrow(FileError);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([0o600, 0o640, 0o755])('keeps the mode %o of the one before', async (mode) => {
    writeFileSync(at('rows'), 'old');
    chmodSync(at('rows'), mode);
    const output = await openOutput(at('rows'));
    await output.commit();
    expect(statSync(at('rows')).mode & 0o7777).toBe(mode);
  });

  test('new has the mode that the process gives to files', async () => {
    writeFileSync(at('other'), '');
    const output = await openOutput(at('rows'));
    await output.commit();
    expect(statSync(at('rows')).mode).toBe(statSync(at('other')).mode);
  });

  test.each([true, false])('behind symbolic links is replaced, and the links stay (it exists: %s)', async (exists) => {
    mkdirSync(at('real'));
    if (exists) writeFileSync(at('real/rows'), 'old');
    symlinkSync('real/rows', at('link'));
    symlinkSync(at('link'), at('outer'));
    const output = await openOutput(at('outer'));
    await output.write(Buffer.from('new'));
    await output.commit();
    expect(lstatSync(at('outer')).isSymbolicLink() && lstatSync(at('link')).isSymbolicLink()).toBe(true);
    expect(readFileSync(at('real/rows')).toString()).toBe('new');
    expect(readdirSync(at('real'))).toEqual(['rows']);
  });

  test('with the longest possible name works', async () => {
    const output = await openOutput(at('€'.repeat(85)));
    await output.commit();
    expect(existsSync(at('€'.repeat(85)))).toBe(true);
  });

  test.each<[string, () => string, string]>([
    ['in a missing folder', () => at('none/rows'), 'no such file or directory'],
    ['that is a folder', () => folder, 'is a directory'],
    ['below a file', () => `${process.execPath}/rows`, 'not a directory'],
    ['behind a loop of links', () => at('loop'), 'too many symbolic links'],
  ])('%s is refused', async (_, path, reason) => {
    symlinkSync('loop', at('loop'));
    const failure = openOutput(path());
    await expect(failure).rejects.toThrow(FileError);
    await expect(failure).rejects.toThrow(`${path()}: cannot write: `);
    await expect(failure).rejects.toThrow(reason);
  });

  test('without permission is refused', async () => {
    writeFileSync(at('rows'), 'old');
    chmodSync(at('rows'), 0o400);
    chmodSync(folder, 0o755);
    await expect(asNobody(() => openOutput(at('rows')))).rejects.toThrow('permission denied');
    await expect(asNobody(() => openOutput(at('new')))).rejects.toThrow('permission denied');
    expect(readFileSync(at('rows'), 'utf8')).toBe('old');
  });
});

describe('what is no regular file', () => {
  test('/dev/null is written to and stays', async () => {
    const output = await openOutput('/dev/null');
    await writeAll(output, pieces([10, 3_000_000]));
    await output.commit();
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
  });

  test('a full device is a file error', async () => {
    for (const compress of ['none', 'gzip', 'zstd'] as const) {
      const output = await openOutput('/dev/full', { compress });
      const failure = (async () => {
        // What does not compress, so that the compressor has to write.
        for (let i = 0; i < 5; i++) await output.write(crypto.getRandomValues(new Uint8Array(60_000)));
        for (let i = 0; i < 5; i++) await output.write(new Uint8Array(3_000_000));
        await output.commit();
      })();
      await expect(failure).rejects.toThrow(new FileError('/dev/full: cannot write: no space left on device'));
      await output.abort();
    }
  });

  function openFifo(): [path: string, reader: ChildProcess] {
    execFileSync('mkfifo', [at('fifo')]);
    return [at('fifo'), spawn('sh', ['-c', 'cat "$1" > "$1.copy"', 'sh', at('fifo')])];
  }

  test('a FIFO is written directly', async () => {
    const [path, reader] = openFifo();
    const left = once(reader, 'exit'); // it may leave before the commit is done
    const output = await openOutput(path);
    await writeAll(output, pieces([10, 3_000_000]));
    await output.commit();
    await left;
    expect(readFileSync(`${path}.copy`).equals(Buffer.concat(pieces([10, 3_000_000])))).toBe(true);
    expect(lstatSync(path).isFIFO()).toBe(true);
  });

  test('a FIFO whose reader leaves closes the output quietly', async () => {
    execFileSync('mkfifo', [at('fifo')]);
    const reader = spawn('head', ['-c', '10', at('fifo')]);
    const output = await openOutput(at('fifo'));
    await output.write(new Uint8Array(3_000_000));
    if (reader.exitCode === null) await once(reader, 'exit');
    for (let i = 0; i < 3; i++) await output.write(new Uint8Array(3_000_000));
    expect(output.closed).toBe(true);
    await output.commit();
  });
});

describe('standard output', () => {
  function mockStdout(write: (bytes: Buffer, done: (error?: Error) => void) => void): void {
    const stream = new Writable({ write: (bytes, _, done) => write(bytes, done) });
    vi.spyOn(process, 'stdout', 'get').mockReturnValue(stream as unknown as typeof process.stdout);
  }
  const failWith = (code: string, errno: number) => (_: Buffer, done: (error?: Error) => void) =>
    done(Object.assign(new Error(code), { code, errno }));

  test.each(['-', '/dev/stdout'])('%s gets every byte', async (name) => {
    const seen: Buffer[] = [];
    mockStdout((bytes, done) => {
      seen.push(Buffer.from(bytes));
      setTimeout(done, 1);
    });
    const output = await openOutput(name);
    await writeAll(output, pieces([5, 3_000_000, 600_000, 600_000]));
    await output.commit();
    expect(Buffer.concat(seen).equals(Buffer.concat(pieces([5, 3_000_000, 600_000, 600_000])))).toBe(true);
  });

  test.each(['none', 'gzip', 'zstd'] as const)(
    'that nobody reads any more closes quietly (compress: %s)',
    async (compress) => {
      mockStdout(failWith('EPIPE', -32));
      const output = await openOutput('-', { compress });
      expect(output.closed).toBe(false);
      for (let i = 0; i < 4; i++) await output.write(new Uint8Array(2_000_000));
      await output.commit();
      expect(output.closed).toBe(true);
    },
  );

  test('that fails otherwise is a file error', async () => {
    mockStdout(failWith('EIO', -5));
    const output = await openOutput('-');
    await expect((async () => output.write(new Uint8Array(2_000_000)))()).rejects.toThrow(
      new FileError('stdout: cannot write: i/o error'),
    );
    await output.abort();
  });
});
