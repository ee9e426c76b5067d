import { beforeAll, expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { type ArrowFile, openArrow } from '../../../src/io/arrow/arrow-file.ts';
import { readVectors } from '../../../src/io/arrow/read-vectors.ts';
import { writeWithColumns } from '../../../src/io/arrow/write-with-columns.ts';
import { prepareBlockCodecs } from '../../../src/io/codecs/block.ts';
import type { RandomAccessFile } from '../../../src/io/random-access.ts';
import type { Vector } from '../../../src/io/vectors.ts';
import { Random } from '../../support/random.ts';
import { addedTo, EXPECTED, fixtureBytes, memoryFile } from './support.ts';

const ROUNDS = Number(process.env.ROLLNORM_FUZZ_ROUNDS ?? 2000);
const SEED = Number(process.env.ROLLNORM_SEED ?? 20_260_102);
/** What a round may allocate for the fixtures' few rows; a damaged count must not be believed. */
const MOST_ROWS = 1 << 20;

beforeAll(() => prepareBlockCodecs(['zstd', 'lz4_frame']));

test(`${ROUNDS} damaged files end in vectors or in an InputError`, { timeout: 120_000 + ROUNDS * 100 }, () => {
  const random = new Random(SEED);
  const originals = Object.keys(EXPECTED).map((name) => ({ name, bytes: fixtureBytes(name) }));
  let refused = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { name, bytes } = random.pick(originals);
    const file = memoryFile(damage(random, bytes));
    const started = performance.now();
    const attempt = (act: () => void) => {
      try {
        act();
      } catch (error) {
        if (!(error instanceof InputError)) throw new Error(`round ${round}, ${name}: ${error}`, { cause: error });
        refused++;
      }
    };
    attempt(() => {
      const arrow = openArrow(file);
      for (const { path, as } of EXPECTED[name].columns) {
        attempt(() => readAll(file, arrow, path, as));
      }
      if (arrow.rowCount < MOST_ROWS) attempt(() => rewrite(file, arrow));
    });
    expect(performance.now() - started, `round ${round}, ${name}`).toBeLessThan(10_000);
  }
  expect(refused).toBeGreaterThan(ROUNDS / 4);
});

function readAll(file: RandomAccessFile, arrow: ArrowFile, path: readonly string[], as: 'value' | 'mask'): void {
  for (const [batch, { rowCount }] of arrow.batches.entries()) {
    const [vector] = readVectors(file, arrow, batch, [{ path, as }]);
    checkVector(vector, rowCount);
  }
}

function checkVector(vector: Vector, rowCount: number): void {
  if (vector.kind === 'nulls') return;
  const { present } = vector;
  const perRow = vector.kind === 'texts' ? vector.codes : vector.kind === 'masks' ? vector.ones : vector.values;
  expect(perRow.length).toBe(rowCount);
  if (present !== null) expect(present.length).toBe(rowCount);
  if (vector.kind === 'texts') {
    const { codes, offsets, bytes } = vector;
    for (let i = 1; i < offsets.length; i++) expect(offsets[i]).toBeGreaterThanOrEqual(offsets[i - 1]);
    expect(offsets[offsets.length - 1]).toBeLessThanOrEqual(bytes.length);
    const isInside = (code: number, row: number) => code < offsets.length - 1 || present?.[row] === 0;
    expect(codes.every(isInside)).toBe(true);
  }
  if (vector.kind === 'masks' && vector.invalid === null)
    expect(vector.ones.every((ones, row) => ones <= vector.lengths[row])).toBe(true);
}

/** What is written can be opened again, and is not much larger than what was read. */
function rewrite(file: RandomAccessFile, arrow: ArrowFile): void {
  const pieces: Uint8Array[] = [];
  writeWithColumns(file, arrow, addedTo(arrow), { replace: true }, (bytes) => pieces.push(bytes));
  const written = Buffer.concat(pieces);
  expect(written.length).toBeLessThan(16 * file.byteLength + 16 * arrow.rowCount + 65_536);
  expect(openArrow(memoryFile(written)).rowCount).toBe(arrow.rowCount);
}

/** One to three changes: bytes, 32-bit words that mean much, a piece taken out, put in or moved, the end cut off. */
function damage(random: Random, original: Uint8Array): Uint8Array {
  let bytes = original.slice();
  for (let changes = random.integer(1, 3); changes > 0 && bytes.length > 16; changes--) {
    const at = random.integer(0, bytes.length - 9);
    const kind = random.integer(0, 9);
    if (kind < 4) bytes[at] ^= 1 << random.integer(0, 7);
    else if (kind < 7) new DataView(bytes.buffer).setUint32(at & ~3, random.pick(TELLING_WORDS), true);
    else if (kind < 8) bytes.copyWithin(at, random.integer(0, bytes.length - 1), bytes.length);
    else if (kind < 9) {
      const length = random.integer(1, 64);
      bytes = new Uint8Array(Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]));
    } else bytes = bytes.slice(0, at);
  }
  return bytes;
}

const TELLING_WORDS = [0, 1, 2, 7, 8, 16, 255, 65_535, 0x7fff_ffff, 0x8000_0000, 0xffff_fff8, 0xffff_ffff];
