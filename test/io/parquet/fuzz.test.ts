import { beforeAll, expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { openParquet, type ParquetFile } from '../../../src/io/parquet/metadata.ts';
import { readVectors } from '../../../src/io/parquet/read-vectors.ts';
import type { RandomAccessFile } from '../../../src/io/random-access.ts';
import { writeWithColumns } from '../../support/parquet-writers.ts';
import { Random } from '../../support/random.ts';
import { FIXTURES, fixture, inMemory, prepareAllCodecs } from './support.ts';

const ROUNDS = Number(process.env.ROLLNORM_FUZZ_ROUNDS ?? 2000);
const SEED = Number(process.env.ROLLNORM_SEED ?? 20_260_101);

beforeAll(prepareAllCodecs);

test(`${ROUNDS} damaged files end in vectors or in an InputError`, { timeout: 120_000 + ROUNDS * 100 }, () => {
  const random = new Random(SEED);
  const originals = FIXTURES.map(([name, columns]) => ({ name, bytes: fixture(name), columns }));
  let refused = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { name, bytes, columns } = random.pick(originals);
    const damaged = damage(random, bytes);
    const started = performance.now();
    try {
      const file = inMemory(damaged);
      const parquet = openParquet(file);
      rewrite(file, parquet);
      for (let group = 0; group < parquet.rowGroups.length; group++) {
        for (const { path, as } of columns) {
          try {
            for (const vector of readVectors(file, parquet, group, [{ path, as }])) checkVector(vector, parquet, group);
          } catch (error) {
            if (!(error instanceof InputError)) throw error;
            refused++;
          }
        }
      }
    } catch (error) {
      if (!(error instanceof InputError)) throw new Error(`round ${round}, ${name}: ${error}`, { cause: error });
      refused++;
    }
    expect(performance.now() - started, `round ${round}, ${name}`).toBeLessThan(10_000);
  }
  expect(refused).toBeGreaterThan(ROUNDS / 4);
});

/** Writing does not read pages, so that it works on most files of which only those are damaged. */
function rewrite(file: RandomAccessFile, parquet: ParquetFile): void {
  if (parquet.rowCount > 10_000) return;
  const valuesOf = (index: number) => {
    const { rowCount } = parquet.rowGroups[index];
    return [
      { kind: 'double', values: new Float64Array(rowCount), present: 'not NaN' },
      { kind: 'float', values: new Float32Array(rowCount), present: null },
    ] as const;
  };
  const pieces: Uint8Array[] = [];
  const columns = [
    { name: 'raw_reward', kind: 'double', nullable: true },
    { name: 'advantage', kind: 'float', nullable: false },
  ] as const;
  const source = { columns, valuesOf };
  writeWithColumns(file, parquet, source, { replace: true, codec: 'none' }, (bytes) => pieces.push(bytes.slice()));
  const { rowCount } = openParquet(inMemory(new Uint8Array(Buffer.concat(pieces))));
  if (rowCount !== parquet.rowCount) throw new Error(`${rowCount} rows were written of ${parquet.rowCount}`);
}

function checkVector(
  vector: ReturnType<typeof readVectors>[number],
  { rowGroups }: ReturnType<typeof openParquet>,
  group: number,
): void {
  const { rowCount } = rowGroups[group];
  if (vector.kind === 'nulls') return;
  const length =
    vector.kind === 'texts' ? vector.codes.length : vector.kind === 'masks' ? vector.ones.length : vector.values.length;
  if (length !== rowCount) throw new Error(`${length} values for ${rowCount} rows`);
  if (vector.kind === 'texts') {
    const last = vector.offsets[vector.offsets.length - 1];
    if (last !== vector.bytes.length) throw new Error(`texts end at ${last} of ${vector.bytes.length} bytes`);
    const isInside = (code: number, row: number) => code < vector.offsets.length - 1 || vector.present?.[row] === 0;
    if (!vector.codes.every(isInside)) throw new Error('a code has no text');
  }
  if (vector.kind === 'masks') {
    for (let row = 0; row < rowCount; row++) {
      if (vector.ones[row] > vector.lengths[row]) throw new Error(`row ${row} has more ones than entries`);
    }
  }
}

/** One to three changes; half of them in the footer, where most of what is believed stands. */
function damage(random: Random, bytes: Uint8Array): Uint8Array {
  let damaged = Uint8Array.from(bytes);
  for (let change = random.integer(1, 3); change > 0; change--) {
    const footer = new DataView(bytes.buffer, bytes.byteOffset).getUint32(bytes.length - 8, true);
    const from = random.chance(0.5) ? Math.max(0, damaged.length - footer - 8) : 0;
    const at = random.integer(from, damaged.length - 1);
    const kind = random.integer(0, 9);
    if (kind < 5) damaged[at] ^= 1 << random.integer(0, 7);
    else if (kind < 8) damaged[at] = random.pick([0, 1, 0x7f, 0x80, 0xff, random.integer(0, 255)]);
    else if (kind === 8) damaged = spliced(damaged, at, Math.min(random.integer(1, 9), damaged.length - at), []);
    else
      damaged = spliced(
        damaged,
        at,
        0,
        Array.from({ length: random.integer(1, 9) }, () => random.integer(0, 255)),
      );
  }
  return damaged;
}

function spliced(bytes: Uint8Array, at: number, removed: number, inserted: number[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([...bytes.subarray(0, at), ...inserted, ...bytes.subarray(at + removed)]);
}
