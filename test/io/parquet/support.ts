/** Fixtures of the Parquet tests, files in memory, and vectors as plain values. */
import { readFileSync } from 'node:fs';
import { FileError } from '../../../src/errors.ts';
import { prepareBlockCodecs } from '../../../src/io/codecs/block.ts';
import { openParquet } from '../../../src/io/parquet/metadata.ts';
import { readVectors } from '../../../src/io/parquet/read-vectors.ts';
import type { RandomAccessFile } from '../../../src/io/random-access.ts';
import type { Vector, VectorRequest } from '../../../src/io/vectors.ts';

const FOLDER = new URL('../../fixtures/parquet/', import.meta.url);

export interface ExpectedColumn {
  readonly path: string[];
  readonly as: 'value' | 'mask';
  readonly values: unknown[] | null;
  readonly invalid: { row: number; found: string } | null | undefined;
}

interface Expectations {
  readonly files: Record<string, Record<string, ExpectedColumn>>;
  readonly sameAs: Record<string, string>;
}

const EXPECTED: Expectations = JSON.parse(readFileSync(new URL('expected.json', FOLDER), 'utf8'));

/** Every fixture with what its columns hold. */
export const FIXTURES: [name: string, columns: ExpectedColumn[]][] = [
  ...Object.keys(EXPECTED.files),
  ...Object.keys(EXPECTED.sameAs),
].map((name) => [name, Object.values(EXPECTED.files[EXPECTED.sameAs[name] ?? name])]);

export function fixture(name: string): Uint8Array {
  return new Uint8Array(readFileSync(new URL(name, FOLDER)));
}

/** A file that is only in memory. */
export function inMemory(bytes: Uint8Array, name = 'memory.parquet'): RandomAccessFile {
  return {
    name,
    byteLength: bytes.length,
    readInto(target, position) {
      if (position < 0 || position + target.length > bytes.length) {
        throw new FileError(`${name}: read past the end: ${target.length} bytes at ${position}`);
      }
      target.set(bytes.subarray(position, position + target.length));
    },
    close() {},
  };
}

export async function prepareAllCodecs(): Promise<void> {
  await prepareBlockCodecs(['snappy', 'gzip', 'zstd', 'brotli', 'lz4', 'lz4_raw']);
}

/** The rows of one column through all row groups, as plain values. */
export function readColumn(bytes: Uint8Array, request: VectorRequest): unknown[] {
  const file = inMemory(bytes);
  const parquet = openParquet(file);
  return parquet.rowGroups.flatMap((group, index) => {
    const [vector] = readVectors(file, parquet, index, [request]);
    return Array.from({ length: group.rowCount }, (_, row) => valueAt(vector, row));
  });
}

/** Integers as text, binary64 in the spelling of Python's float.hex(), a mask as [ones, length]. */
export function valueAt(vector: Vector, row: number): unknown {
  if (vector.kind === 'nulls') return null;
  if (vector.present !== null && vector.present[row] === 0) return null;
  switch (vector.kind) {
    case 'integers':
      return String(vector.values[row]);
    case 'numbers':
      return hexOf(vector.values[row]);
    case 'booleans':
      return vector.values[row] === 1;
    case 'masks':
      return [vector.ones[row], vector.lengths[row]];
    case 'texts': {
      const code = vector.codes[row];
      return new TextDecoder('utf-8', { fatal: true }).decode(
        vector.bytes.subarray(vector.offsets[code], vector.offsets[code + 1]),
      );
    }
  }
}

function hexOf(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const bits = new BigUint64Array(Float64Array.of(value).buffer)[0];
  const sign = bits >> 63n ? '-' : '';
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  if (exponent === 0 && fraction === 0n) return `${sign}0x0.0p+0`;
  const power = exponent === 0 ? -1022 : exponent - 1023;
  const digits = fraction.toString(16).padStart(13, '0');
  return `${sign}0x${exponent === 0 ? 0 : 1}.${digits}p${power < 0 ? '' : '+'}${power}`;
}
