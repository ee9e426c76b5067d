import { beforeAll, expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { compressBlock, decompressBlock, prepareBlockCodecs } from '../../../src/io/codecs/block.ts';
import { Random } from '../../support/random.ts';
import { BLOCKS, damage } from './support.ts';

const ROUNDS = Number(process.env.ROLLNORM_FUZZ_ROUNDS ?? 1000);
const SEED = Number(process.env.ROLLNORM_SEED ?? 20_260_104);

beforeAll(() => prepareBlockCodecs(['snappy']));

/** The format's own description as a loop; null where a block breaks it. */
function reference(block: Uint8Array, length: number): number[] | null {
  let at = 0;
  const little = (byteCount: number) => {
    let value = 0;
    for (let i = 0; i < byteCount; i++) value += (block[at++] ?? Number.NaN) * 2 ** (8 * i);
    return value;
  };
  let stated = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = little(1);
    stated += (byte & 127) * scale;
    if (byte < 128) break;
    if (scale > 2 ** 28 || Number.isNaN(byte)) return null;
  }
  if (stated !== length) return null;
  const output: number[] = [];
  while (at < block.length) {
    const tag = block[at++];
    const kind = tag & 3;
    const high = tag >> 2;
    if (kind === 0) {
      const count = (high < 60 ? high : little(high - 59)) + 1;
      if (!(count <= block.length - at) || output.length + count > length) return null;
      for (let i = 0; i < count; i++) output.push(block[at++]);
      continue;
    }
    const count = kind === 1 ? 4 + (high & 7) : 1 + high;
    const offset = kind === 1 ? (high >> 3) * 256 + little(1) : little(kind === 2 ? 2 : 4);
    if (!(offset >= 1 && offset <= output.length) || output.length + count > length) return null;
    for (let i = 0; i < count; i++) output.push(output[output.length - offset]);
  }
  return output.length === length ? output : null;
}

test(`${ROUNDS} damaged blocks are read as the format says, or refused`, { timeout: 60_000 + ROUNDS * 50 }, () => {
  const random = new Random(SEED);
  const originals = BLOCKS.filter(({ codec }) => codec === 'snappy' || codec === 'lz4_raw').map(({ plain }) =>
    plain.subarray(0, random.integer(1, 3000)),
  );
  let refused = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const plain = random.pick(originals);
    const block = damage(random, compressBlock('snappy', plain));
    const expected = reference(block, plain.length);
    let found: number[] | null = null;
    try {
      found = [...decompressBlock('snappy', block, plain.length)];
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      refused++;
    }
    expect(found, `round ${round}: ${Buffer.from(block).toString('hex')}`).toEqual(expected);
  }
  expect(refused).toBeGreaterThan(ROUNDS / 3);
});
