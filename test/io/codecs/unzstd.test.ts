/** Zstd files written by the reference implementation, whole and damaged. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { compressBlock, decompressBlock, prepareBlockCodecs } from '../../../src/io/codecs/block.ts';
import { lz4Block } from '../../../src/io/codecs/lz4.ts';
import { unzstd } from '../../../src/io/codecs/unzstd.ts';
import { Random } from '../../support/random.ts';

const fixture = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../fixtures/layouts/${name}`, import.meta.url)));
const PACKED = fixture('twins.jsonl.zst');
const PLAIN = fixture('twins.jsonl');
const SKIPPABLE = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function decompressed(bytes: Uint8Array, size = 1 << 16): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of unzstd(pieces(bytes, size), 'file')) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}

test.each([1, 7, 1000, 1 << 20])('frames that come in pieces of %i bytes', async (size) => {
  expect((await decompressed(PACKED, size)).equals(PLAIN)).toBe(true);
});

test('skippable frames are passed over', async () => {
  const bytes = Buffer.concat([SKIPPABLE, PACKED, SKIPPABLE]);
  expect((await decompressed(bytes)).equals(PLAIN)).toBe(true);
});

test('frames of our own', async () => {
  await prepareBlockCodecs(['zstd']);
  const bytes = Buffer.concat([compressBlock('zstd', PLAIN), compressBlock('zstd', Buffer.alloc(0))]);
  expect((await decompressed(bytes)).equals(PLAIN)).toBe(true);
});

test.each([
  ['bytes that are no frame after one', Buffer.concat([PACKED, Buffer.from('more')]), /bytes after zstd frame 2/],
  ['no frame at all', Buffer.from('{"reward": 1}'), /expected a zstd frame/],
  ['an end inside a frame', PACKED.subarray(0, PACKED.length - 5), /cut off/],
  ['an end inside a magic number', PACKED.subarray(0, 3), /cut off/],
  [
    'a window of 2 GiB',
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 0, 0, 0]),
    /window of more than 134217728 bytes/,
  ],
])('%s is refused', async (_, bytes, message) => {
  const failure = decompressed(bytes);
  await expect(failure).rejects.toThrow(InputError);
  await expect(failure).rejects.toThrow(message);
});

const ROUNDS = Number(process.env.ROLLNORM_FUZZ_ROUNDS ?? 500);

test('a damaged file gives its own bytes or an InputError', async () => {
  const source = new Random(11);
  const random = () => source.next();
  for (let round = 0; round < ROUNDS; round++) {
    const damaged = Buffer.from(PACKED);
    for (let i = 0; i <= round % 3; i++)
      damaged[Math.floor(random() * damaged.length)] ^= 1 + Math.floor(random() * 255);
    const error = await decompressed(damaged).then(
      () => null,
      (reason: unknown) => reason,
    );
    if (error !== null) expect(error).toBeInstanceOf(InputError);
  }
});

test('damaged blocks give bytes of the promised length or an InputError', async () => {
  await prepareBlockCodecs(['zstd', 'snappy']);
  const source = new Random(12);
  const random = () => source.next();
  for (const codec of ['zstd', 'snappy', 'gzip'] as const) {
    const packed = compressBlock(codec, PLAIN);
    expect(Buffer.from(decompressBlock(codec, packed, PLAIN.length)).equals(PLAIN)).toBe(true);
    expect(() => decompressBlock(codec, packed, PLAIN.length - 1)).toThrow(InputError);
    for (let round = 0; round < ROUNDS / 5; round++) {
      const damaged = Uint8Array.from(packed);
      damaged[Math.floor(random() * damaged.length)] ^= 1 + Math.floor(random() * 255);
      try {
        expect(decompressBlock(codec, damaged, PLAIN.length).length).toBe(PLAIN.length);
      } catch (error) {
        expect(error).toBeInstanceOf(InputError);
      }
    }
  }
});

test('random bytes are no lz4 block, or one of the promised length', () => {
  const source = new Random(13);
  const random = () => source.next();
  for (let round = 0; round < ROUNDS; round++) {
    const bytes = Uint8Array.from({ length: 1 + Math.floor(random() * 200) }, () => Math.floor(random() * 256));
    try {
      expect(lz4Block(bytes, 300).length).toBe(300);
    } catch (error) {
      expect(error).toBeInstanceOf(InputError);
    }
  }
});
