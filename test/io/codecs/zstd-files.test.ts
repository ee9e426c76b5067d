import { expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { beginsAsZstd, unzstd } from '../../../src/io/codecs/unzstd.ts';
import { loadZstdEncoder, toZstdFrame } from '../../../src/io/codecs/zstd-encoder.ts';
import { Random } from '../../support/random.ts';
import { damage, fixture, inChunks } from './support.ts';

const ROUNDS = Number(process.env.ROLLNORM_FUZZ_ROUNDS ?? 1000);
const SEED = Number(process.env.ROLLNORM_SEED ?? 20_260_105);
const ROWS = fixture('rows.jsonl');
/** What each file becomes. */
const FILES: Readonly<Record<string, Buffer>> = {
  'rows.jsonl.zst': ROWS,
  'no-checksum.jsonl.zst': ROWS,
  'no-size.jsonl.zst': ROWS,
  'command-line.jsonl.zst': ROWS,
  'level-19.jsonl.zst': ROWS,
  'frames.jsonl.zst': ROWS,
  'window-27.jsonl.zst': ROWS,
  'long.jsonl.zst': Buffer.concat(new Array(60).fill(ROWS)),
};

async function plainOf(stored: Uint8Array, size?: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of unzstd(inChunks(stored, size), 'rows.zst')) {
    expect(piece.length).toBeGreaterThan(0);
    expect(piece.length).toBeLessThanOrEqual(1 << 17);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function refusal(stored: Uint8Array, size?: number): Promise<string> {
  const error = await plainOf(stored, size).then(
    () => new Error('was not refused'),
    (refused: Error) => refused,
  );
  expect(error).toBeInstanceOf(InputError);
  return error.message;
}

test.each(Object.keys(FILES))('%s is read, wherever it is cut into chunks', async (name) => {
  for (const size of [1, 2, 3, 7, 64, 1000, 1 << 20])
    expect((await plainOf(fixture(name), size)).equals(FILES[name]), `chunks of ${size}`).toBe(true);
});

test('no bytes at all are no frames', async () => {
  expect((await plainOf(new Uint8Array(0))).length).toBe(0);
});

test.each(Object.keys(FILES))('%s cut off anywhere is refused', async (name) => {
  const stored = fixture(name);
  const partEnds = new Set<number>();
  if (name === 'frames.jsonl.zst') for (const end of frameEnds(stored)) partEnds.add(end);
  for (let length = 1; length < stored.length; length += 1 + (stored.length >> 7)) {
    if (partEnds.has(length)) continue;
    const message = await refusal(stored.subarray(0, length), 100);
    expect(message).toMatch(/^rows\.zst: zstd frame \d: is cut off: the file ends inside it$/);
  }
});

/** Where the frames of the fixture end: after skippable ones by their length, else where another magic number is. */
function frameEnds(stored: Buffer): number[] {
  const ends: number[] = [];
  for (let at = 1; at + 4 <= stored.length; at++) {
    const magic = stored.readUInt32LE(at);
    if (magic === 0xfd2fb528 || (magic & 0xfffffff0) >>> 0 === 0x184d2a50) ends.push(at);
  }
  return ends;
}

const frame = fixture('rows.jsonl.zst');
const flipped = (at: number) => {
  const bytes = Uint8Array.from(frame);
  bytes[at < 0 ? bytes.length + at : at] ^= 1;
  return bytes;
};
const followedBy = (...bytes: number[]) => Uint8Array.from([...frame, ...bytes]);

test.each<[string, Uint8Array, string]>([
  ['a checksum that does not match', flipped(-1), 'rows.zst: zstd frame 1: its checksum does not match'],
  ['another length than it says', flipped(5), 'rows.zst: zstd frame 1: '],
  ['a newline after it', followedBy(10), 'rows.zst: bytes after zstd frame 1: expected another frame'],
  ['bytes after it', followedBy(1, 2, 3, 4, 5), 'rows.zst: bytes after zstd frame 1: expected another frame'],
  ['zeros after it', followedBy(...new Array(600).fill(0)), 'rows.zst: bytes after zstd frame 1: expected another'],
  ['a skippable frame cut off', followedBy(0x50, 0x2a, 0x4d, 0x18, 9, 0, 0, 0, 1), 'zstd frame 2: is cut off'],
  ['a window of 256 MiB', fixture('window-28.jsonl.zst'), 'frame 1: it needs a window of more than 134217728 bytes'],
  ['a dictionary', fixture('dictionary.jsonl.zst'), 'frame 1: it needs a dictionary, which is not supported'],
  [
    'an old format',
    Buffer.from('27b52ffd0000000000', 'hex'),
    'rows.zst: expected a zstd frame (of version 0.8 or later)',
  ],
  ['no frame at all', Buffer.from('{"reward": 1}'), 'rows.zst: expected a zstd frame (of version 0.8 or later)'],
  ['a reserved bit', Buffer.from('28b52ffd080000000000', 'hex'), 'frame 1: its header asks for what is not supported'],
  ['a reserved block', Buffer.from('28b52ffd0000070000000000', 'hex'), 'frame 1: its blocks cannot be decoded'],
])('%s is refused', async (_, stored, message) => {
  for (const size of [1, 1 << 20]) expect(await refusal(stored, size)).toMatch(message);
});

/** A frame of blocks that are one byte repeated, so that its length is thousands of times its own. */
function bomb(blockCount: number): Buffer {
  const block = ((1 << 17) << 3) | (1 << 1);
  const blocks = new Array(blockCount).fill([block & 255, (block >> 8) & 255, block >> 16, 0x20]);
  // A window of 128 KiB, no length, no checksum; the last block is empty.
  return Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (17 - 10) << 3, ...blocks.flat(), 1, 0, 0]);
}

test('a bomb inflates only as the consumer asks', async () => {
  const stored = bomb(20_000);
  expect(stored.length).toBeLessThan(100_000);
  const before = process.memoryUsage();
  let length = 0;
  for await (const piece of unzstd(inChunks(stored), 'bomb')) {
    length += piece.length;
    if (length > 64 << 20) break;
  }
  const { arrayBuffers, external } = process.memoryUsage();
  expect(arrayBuffers - before.arrayBuffers).toBeLessThan(128 << 20);
  expect(external - before.external).toBeLessThan(128 << 20);
  expect((await plainOf(bomb(40))).equals(Buffer.alloc(40 << 17, 0x20))).toBe(true);
});

test('the source is left when the consumer leaves', async () => {
  let isLeft = false;
  async function* source() {
    try {
      yield* inChunks(fixture('long.jsonl.zst'), 100);
    } finally {
      isLeft = true;
    }
  }
  for await (const _ of unzstd(source(), 'x')) break;
  expect(isLeft).toBe(true);
});

test('files may be read at the same time', async () => {
  const names = Object.keys(FILES);
  const plain = await Promise.all(names.map((name) => plainOf(fixture(name), 50)));
  for (const [i, name] of names.entries()) expect(plain[i].equals(FILES[name])).toBe(true);
});

test('frames that are written have a length and a checksum', async () => {
  await loadZstdEncoder();
  for (const content of [Buffer.alloc(0), Buffer.from('x'), ROWS, Buffer.alloc(3_000_000, 'many rows ')]) {
    const written = toZstdFrame(content);
    // Either flag: the content size is in two or more bytes, or the frame is a single segment.
    expect(written[4] & 0x04).toBe(0x04);
    expect(written[4] & 0xe0).not.toBe(0);
    expect((await plainOf(written)).equals(content)).toBe(true);
    const damaged = Uint8Array.from(written);
    damaged[damaged.length - 1] ^= 1;
    expect(await refusal(damaged)).toBe('rows.zst: zstd frame 1: its checksum does not match');
  }
});

test('a file is told by its first bytes', () => {
  for (const name of Object.keys(FILES)) expect(beginsAsZstd(fixture(name))).toBe(true);
  for (const head of ['', '(', '(\xb5/', '{"a": 1}']) expect(beginsAsZstd(Buffer.from(head, 'latin1'))).toBe(false);
});

test(`${ROUNDS} damaged files end in bytes or in an InputError`, { timeout: 60_000 + ROUNDS * 100 }, async () => {
  const random = new Random(SEED);
  const originals = Object.keys(FILES).map((name) => ({ name, bytes: fixture(name) }));
  let refused = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { name, bytes } = random.pick(originals);
    const damaged = damage(random, bytes);
    const started = performance.now();
    let length = 0;
    try {
      for await (const piece of unzstd(inChunks(damaged, random.pick([1, 50, 5000])), 'x')) {
        length += piece.length;
        // A damaged length of a block may make much of little; no more is read of that than is needed.
        if (length > 1 << 24) break;
      }
    } catch (error) {
      if (!(error instanceof InputError)) throw new Error(`round ${round}, ${name}: ${error}`, { cause: error });
      refused++;
    }
    expect(performance.now() - started, `round ${round}, ${name}`).toBeLessThan(5000);
  }
  expect(refused).toBeGreaterThan(ROUNDS / 2);
});
