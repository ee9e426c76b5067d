import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { type BlockCodec, compressBlock, decompressBlock, prepareBlockCodecs } from '../../../src/io/codecs/block.ts';
import { Random } from '../../support/random.ts';
import { BLOCKS, CONTENTS, damage } from './support.ts';

const ROUNDS = Number(process.env.ROLLNORM_FUZZ_ROUNDS ?? 1000);
const SEED = Number(process.env.ROLLNORM_SEED ?? 20_260_103);
const WRITTEN = ['snappy', 'gzip', 'zstd'] as const;

beforeAll(async () => {
  // At once, as the tasks of one thread do.
  await Promise.all([prepareBlockCodecs(['zstd', 'snappy']), prepareBlockCodecs(['zstd'], 'writing')]);
});

function refusal(codec: BlockCodec, bytes: Uint8Array, length: number): string {
  try {
    decompressBlock(codec, bytes, length);
  } catch (error) {
    expect(error).toBeInstanceOf(InputError);
    return (error as Error).message;
  }
  throw new Error('was not refused');
}

describe('blocks of other writers', () => {
  test.each(BLOCKS)('$name', ({ codec, plain, packed }) => {
    expect(plain.equals(decompressBlock(codec, packed, plain.length))).toBe(true);
  });

  test('there are some of every codec', () => {
    const codecs = new Set(BLOCKS.map(({ codec }) => codec));
    expect([...codecs].sort()).toEqual(['brotli', 'gzip', 'lz4', 'lz4_frame', 'lz4_raw', 'snappy', 'zstd']);
  });

  test.each(BLOCKS)('$name, is refused under another length', ({ codec, plain, packed }) => {
    for (const length of [0, plain.length - 1, plain.length + 1, 2 * plain.length, 2 ** 29]) {
      if (length < 0 || length === plain.length) continue;
      expect(refusal(codec, packed, length)).toMatch(new RegExp(`^an? ${codec.slice(0, 3)}`));
    }
  });

  test.each(BLOCKS.filter(({ plain }) => plain.length > 0))('$name, is refused cut off', ({ codec, plain, packed }) => {
    for (let length = 0; length < packed.length; length += 1 + (packed.length >> 6))
      refusal(codec, packed.subarray(0, length), plain.length);
  });
});

describe('what is written', () => {
  test.each(WRITTEN)('with %s is read again', (codec) => {
    for (const [, plain] of CONTENTS)
      expect(plain.equals(decompressBlock(codec, compressBlock(codec, plain), plain.length))).toBe(true);
  });

  test.each(WRITTEN)('with %s may be large', (codec) => {
    const plain = Buffer.alloc(80 << 20, 'a line of some kind\n');
    for (let round = 0; round < 2; round++)
      expect(plain.equals(decompressBlock(codec, compressBlock(codec, plain), plain.length))).toBe(true);
  });

  test('is not what the caller may still change', () => {
    const plain = Buffer.from('some bytes');
    const packed = WRITTEN.map((codec) => compressBlock(codec, plain));
    const again = WRITTEN.map((codec, i) => decompressBlock(codec, packed[i], plain.length));
    for (const codec of WRITTEN) decompressBlock(codec, compressBlock(codec, Buffer.from('others')), 6);
    for (const bytes of again) expect(plain.equals(bytes)).toBe(true);
  });
});

describe('a bomb is refused', () => {
  const zeros = Buffer.alloc(64 << 20);

  test.each<[BlockCodec, Uint8Array]>([
    ['gzip', gzipSync(zeros)],
    ['brotli', brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ])('by %s once it has its length', (codec, bomb) => {
    expect(refusal(codec, bomb, 1000)).toBe(`a ${codec} block has more than 1000 bytes where 1000 were promised`);
  });

  test('by zstd and snappy before and after', () => {
    expect(refusal('zstd', compressBlock('zstd', zeros), 1000)).toMatch('has more than 1000 bytes');
    expect(refusal('snappy', compressBlock('snappy', zeros), 1000)).toMatch('where 1000 were promised');
  });

  test.each<BlockCodec>(['snappy', 'gzip', 'zstd', 'lz4', 'lz4_raw', 'lz4_frame'])('in what %s claims', (codec) => {
    const before = process.memoryUsage().rss;
    expect(refusal(codec, new Uint8Array(20), 2 ** 30)).toMatch(
      `a ${codec} block of 20 bytes claims 1073741824 bytes, more than it can hold`,
    );
    expect(refusal(codec, new Uint8Array(20), 2 ** 40)).toMatch('at most 1073741824 are read');
    expect(process.memoryUsage().rss - before).toBeLessThan(64 << 20);
  });

  test.each([-1, 0.5, Number.NaN])('that claims %s bytes', (length) => {
    expect(refusal('snappy', new Uint8Array(20), length)).toBe(`a snappy block claims a length of ${length} bytes`);
  });
});

test.each<[BlockCodec, string, number, string]>([
  ['snappy', '80', 80, 'ends inside its length'],
  ['snappy', 'ffffffffff01', 128, 'a length of more than 5 bytes'],
  ['snappy', '0000', 0, 'followed by others'],
  ['snappy', '08004119ff00', 8, 'is corrupt'],
  ['zstd', '28b52ffd', 3, 'is cut off'],
  ['zstd', '22b52ffd00000000000000000000', 3, 'it does not begin with a frame'],
  ['zstd', '28b52ffd010f01000000', 3, 'it needs a dictionary'],
  ['gzip', '1f8b0800', 3, 'is corrupt: unexpected end of file'],
  ['brotli', 'ffff', 3, 'a brotli block is corrupt'],
])('%s block %s of %i bytes %s', (codec, hex, length, message) => {
  expect(refusal(codec, Buffer.from(hex, 'hex'), length)).toMatch(message);
});

test(`${ROUNDS} damaged blocks end in bytes of that length or in an InputError`, {
  timeout: 60_000 + ROUNDS * 50,
}, () => {
  const random = new Random(SEED);
  let refused = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { name, codec, plain, packed } = random.pick(BLOCKS);
    const damaged = damage(random, packed);
    const started = performance.now();
    try {
      expect(decompressBlock(codec, damaged, plain.length).length).toBe(plain.length);
    } catch (error) {
      if (!(error instanceof InputError)) throw new Error(`round ${round}, ${name}: ${error}`, { cause: error });
      refused++;
    }
    expect(performance.now() - started, `round ${round}, ${name}`).toBeLessThan(5000);
  }
  expect(refused).toBeGreaterThan(ROUNDS / 3);
});

test('after all that, blocks are still read', () => {
  for (const { codec, plain, packed } of BLOCKS)
    expect(plain.equals(decompressBlock(codec, packed, plain.length))).toBe(true);
});
