import { expect, test } from 'vitest';
import { openArrow } from '../../../src/io/arrow/arrow-file.ts';
import { FlatArrowWriter, writeFlatArrow } from '../../../src/io/arrow/write-flat.ts';
import type { FlatColumn } from '../../../src/io/parquet/write-flat.ts';
import { memoryFile, readColumn } from './support.ts';

const FORMATS = ['file', 'stream'] as const;
const words = { bytes: new TextEncoder().encode('aßlonger'), offsets: Uint32Array.of(0, 1, 3, 9) };

/** A column of every kind, of three rows, and what a reader must find. */
const CASES: readonly { column: FlatColumn; type: string; rows: readonly unknown[] }[] = [
  {
    column: {
      name: 'i',
      kind: 'int64',
      nullable: true,
      values: { kind: 'int64', values: BigInt64Array.of(-(2n ** 63n), 5n, 1n), present: Uint8Array.of(1, 0, 1) },
    },
    type: 'int64',
    rows: ['-9223372036854775808', null, '1'],
  },
  {
    column: {
      name: 'u',
      kind: 'uint64',
      nullable: false,
      values: { kind: 'uint64', values: BigUint64Array.of(2n ** 64n - 1n, 0n, 1n), present: null },
    },
    type: 'uint64',
    rows: ['18446744073709551615', '0', '1'],
  },
  {
    column: {
      name: 'n',
      kind: 'int32',
      nullable: false,
      values: { kind: 'int32', values: Int32Array.of(-1, 0, 1), present: null },
    },
    type: 'int32',
    rows: ['-1', '0', '1'],
  },
  {
    column: {
      name: 'f',
      kind: 'float',
      nullable: false,
      values: { kind: 'float', values: Float32Array.of(-0, Number.NaN, 1.5), present: null },
    },
    type: 'float32',
    rows: ['-0', 'NaN', '1.5'],
  },
  {
    column: {
      name: 'd',
      kind: 'double',
      nullable: true,
      values: { kind: 'double', values: Float64Array.of(0.1, Number.NaN, 1e300), present: 'not NaN' },
    },
    type: 'float64',
    rows: ['0.1', null, '1e+300'],
  },
  {
    column: {
      name: 'b',
      kind: 'bool',
      nullable: true,
      values: { kind: 'bool', values: Uint8Array.of(1, 1, 0), present: Uint8Array.of(0, 1, 1) },
    },
    type: 'bool',
    rows: [null, true, false],
  },
  {
    column: {
      name: 't',
      kind: 'text',
      nullable: true,
      values: { kind: 'text', ...words, codes: Uint32Array.of(2, 1, 0), present: Uint8Array.of(1, 1, 0) },
    },
    type: 'utf8',
    rows: ['longer', 'ß', null],
  },
  {
    column: { name: 'c', kind: 'text', nullable: false, values: { kind: 'constant text', text: 'größe' } },
    type: 'utf8',
    rows: ['größe', 'größe', 'größe'],
  },
  {
    column: { name: 's', kind: 'int64', nullable: false, values: { kind: 'sequence', first: 2 ** 32 - 1 } },
    type: 'int64',
    rows: ['4294967295', '4294967296', '4294967297'],
  },
];

function written(write: (put: (bytes: Uint8Array) => void) => void): Uint8Array {
  const pieces: Uint8Array[] = [];
  write((bytes) => pieces.push(bytes));
  return new Uint8Array(Buffer.concat(pieces));
}

const columns = CASES.map(({ column }) => column);

test.each(FORMATS)('%s: a column of every kind', async (format) => {
  const bytes = written((put) => writeFlatArrow(columns, 3, format, put));
  const arrow = openArrow(memoryFile(bytes));
  expect(arrow.format).toBe(format);
  expect(arrow.columns.map(({ type }) => type)).toEqual(CASES.map(({ type }) => type));
  for (const { column, rows } of CASES) {
    expect(await readColumn(bytes, { path: [column.name], as: 'value' }), column.name).toEqual(rows);
  }
});

test.each(FORMATS)('%s: without rows or without columns', (format) => {
  const empty = openArrow(memoryFile(written((put) => writeFlatArrow(columns, 0, format, put))));
  expect([empty.rowCount, empty.batches.length, empty.columns.length]).toEqual([0, 0, CASES.length]);
  expect(openArrow(memoryFile(written((put) => writeFlatArrow([], 0, format, put)))).columns).toEqual([]);
});

test('rows in batches of 131,072, values carried on from one to the next', async () => {
  const rowCount = 300_001;
  const values = Float64Array.from({ length: rowCount }, (_, row) => (row % 5 === 0 ? Number.NaN : row));
  const bytes = written((put) =>
    writeFlatArrow(
      [
        { name: 'd', kind: 'double', nullable: true, values: { kind: 'double', values, present: 'not NaN' } },
        { name: 's', kind: 'int64', nullable: false, values: { kind: 'sequence', first: 1 } },
      ],
      rowCount,
      'file',
      put,
    ),
  );
  expect(openArrow(memoryFile(bytes)).batches.map((batch) => batch.rowCount)).toEqual([131_072, 131_072, 37_857]);
  const found = await readColumn(bytes, { path: ['d'], as: 'value' });
  expect(found.every((value, row) => value === (row % 5 === 0 ? null : `${row}`))).toBe(true);
  const sequence = await readColumn(bytes, { path: ['s'], as: 'value' });
  expect(sequence.every((value, row) => value === `${row + 1}`)).toBe(true);
});

test('batches end early where texts are long', () => {
  const text = 'x'.repeat(1 << 20);
  const column: FlatColumn = { name: 't', kind: 'text', nullable: false, values: { kind: 'constant text', text } };
  let byteLength = 0;
  let longest = 0;
  writeFlatArrow([column], 300, 'stream', (bytes) => {
    byteLength += bytes.length;
    longest = Math.max(longest, bytes.length);
  });
  expect(byteLength).toBeGreaterThan(300 << 20);
  expect(longest).toBeLessThanOrEqual(64 << 20);
});

test('a writer takes rows piece by piece', async () => {
  const bytes = written((put) => {
    const writer = new FlatArrowWriter(columns, 'stream', put);
    for (let piece = 0; piece < 2; piece++)
      writer.writeRows(
        columns.map(({ values }) => values),
        3,
      );
    writer.finish();
  });
  expect(await readColumn(bytes, { path: ['n'], as: 'value' })).toEqual(['-1', '0', '1', '-1', '0', '1']);
});
