/** Fixtures of the Arrow tests, in memory, and vectors as the plain rows that expected.json has. */
import { readFileSync } from 'node:fs';
import { InputError } from '../../../src/errors.ts';
import { type ArrowFile, openArrow } from '../../../src/io/arrow/arrow-file.ts';
import { readVectors } from '../../../src/io/arrow/read-vectors.ts';
import { prepareBlockCodecs } from '../../../src/io/codecs/block.ts';
import type { ColumnSource } from '../../../src/io/parquet/write-with-columns.ts';
import type { RandomAccessFile } from '../../../src/io/random-access.ts';
import type { Vector, VectorRequest } from '../../../src/io/vectors.ts';

const FOLDER = new URL('../../fixtures/arrow/', import.meta.url);

export interface ExpectedFile {
  readonly batches: readonly number[];
  readonly columns: readonly (VectorRequest & { readonly rows: readonly unknown[] })[];
}

export const EXPECTED: Readonly<Record<string, ExpectedFile>> = JSON.parse(
  readFileSync(new URL('expected.json', FOLDER), 'utf8'),
);

export function fixtureBytes(name: string): Uint8Array {
  return new Uint8Array(readFileSync(new URL(name, FOLDER)));
}

/** A file in memory; a read past its end, which must never be asked for, fails the test. */
export function memoryFile(bytes: Uint8Array): RandomAccessFile & { bytesRead: number } {
  return {
    name: 'memory',
    byteLength: bytes.length,
    bytesRead: 0,
    readInto(target, position) {
      if (!(position >= 0 && position + target.length <= bytes.length))
        throw new RangeError(`reads ${target.length} bytes at ${position} of ${bytes.length}`);
      target.set(bytes.subarray(position, position + target.length));
      this.bytesRead += target.length;
    },
    close: () => {},
  };
}

/** A column of all batches. */
export async function readColumn(bytes: Uint8Array, request: VectorRequest): Promise<unknown[]> {
  const file = memoryFile(bytes);
  const arrow = openArrow(file);
  await prepareBlockCodecs(arrow.codecs);
  return arrow.batches.flatMap((_, batch) => readRows(file, arrow, batch, request));
}

export function readRows(file: RandomAccessFile, arrow: ArrowFile, batch: number, request: VectorRequest): unknown[] {
  const [vector] = readVectors(file, arrow, batch, [request]);
  return rowsOf(vector, arrow.batches[batch].rowCount);
}

export function rowsOf(vector: Vector, rowCount: number): unknown[] {
  return Array.from({ length: rowCount }, (_, row) => rowOf(vector, row));
}

function rowOf(vector: Vector, row: number): unknown {
  if (vector.kind === 'nulls') return null;
  if (vector.present !== null && vector.present[row] === 0) return absent(vector, row);
  switch (vector.kind) {
    case 'integers':
      return `${vector.values[row]}`;
    case 'numbers':
      return numberText(vector.values[row]);
    case 'booleans':
      return vector.values[row] === 1;
    case 'texts': {
      const code = vector.codes[row];
      return new TextDecoder().decode(vector.bytes.subarray(vector.offsets[code], vector.offsets[code + 1]));
    }
    case 'masks':
      return vector.invalid?.row === row ? `invalid: ${vector.invalid.found}` : [vector.ones[row], vector.lengths[row]];
  }
}

/** null, once it is sure that absent rows hold zeros. */
function absent(vector: Exclude<Vector, { kind: 'nulls' }>, row: number): unknown {
  let held: number | bigint = 0;
  if (vector.kind === 'texts') held = vector.codes[row];
  else if (vector.kind === 'masks') held = vector.ones[row] + vector.lengths[row];
  else held = vector.values[row];
  return Object.is(Number(held), 0) ? null : `absent but ${held}`;
}

/** As Python spells floats, which -0 must survive. */
export function numberText(value: number): string {
  return Object.is(value, -0) ? '-0' : `${value}`;
}

/** Columns to add: raw_reward is a third of the row's index, or null in every third row; advantage is a seventh of it. */
export function addedTo({ batches }: ArrowFile): ColumnSource {
  const values = (batch: number, of: (row: number) => number) =>
    Array.from({ length: batches[batch].rowCount }, (_, i) => of(batches[batch].firstRow + i));
  return {
    columns: [
      { name: 'raw_reward', kind: 'double', nullable: true },
      { name: 'advantage', kind: 'float', nullable: false },
    ],
    valuesOf: (batch) => [
      { kind: 'double', values: Float64Array.from(values(batch, rawReward)), present: 'not NaN' },
      { kind: 'float', values: Float32Array.from(values(batch, advantage)), present: null },
    ],
  };
}

export function rawReward(row: number): number {
  return row % 3 === 1 ? Number.NaN : row / 3;
}

export function advantage(row: number): number {
  return Math.fround(row / 7);
}

/** The message of the InputError that reading ends in. */
export async function errorOf(bytes: Uint8Array, name: string, as: 'value' | 'mask' = 'value'): Promise<string> {
  try {
    await readColumn(bytes, { path: name.split('.'), as });
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
  return 'no error';
}

/** The message of the InputError that opening ends in. */
export function openingError(bytes: Uint8Array): string {
  try {
    openArrow(memoryFile(bytes));
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
  return 'no error';
}
