import { beforeAll, expect, test } from 'vitest';
import { openArrow } from '../../../src/io/arrow/arrow-file.ts';
import { writeFlatArrow } from '../../../src/io/arrow/write-flat.ts';
import type { ColumnKind, ColumnValues } from '../../../src/io/parquet/new-columns.ts';
import { selectValues } from '../../../src/io/parquet/select-values.ts';
import { writeFlatParquet } from '../../support/parquet-writers.ts';
import { memoryFile, readColumn as readArrowColumn } from '../arrow/support.ts';
import { prepareAllCodecs, readColumn } from './support.ts';

beforeAll(prepareAllCodecs);

const ROWS = 6;
const present = Uint8Array.of(1, 1, 0, 1, 0, 1);
const KEPT = Uint32Array.of(0, 2, 3, 5);

const COLUMNS: [ColumnKind, ColumnValues, unknown[]][] = [
  [
    'int64',
    { kind: 'int64', values: BigInt64Array.of(5n, 1n, 0n, -(2n ** 60n), 0n, 9n), present },
    ['5', null, '-1152921504606846976', '9'],
  ],
  [
    'uint64',
    { kind: 'uint64', values: BigUint64Array.of(5n, 1n, 0n, 2n ** 63n, 0n, 9n), present },
    ['5', null, '9223372036854775808', '9'],
  ],
  ['int32', { kind: 'int32', values: Int32Array.of(5, 1, 0, -7, 0, 9), present: null }, ['5', '0', '-7', '9']],
  [
    'int64',
    { kind: 'whole', values: Uint32Array.of(5, 1, 0, 2 ** 32 - 1, 0, 9), present },
    ['5', null, '4294967295', '9'],
  ],
  [
    'int64',
    { kind: 'whole', values: Uint32Array.of(5, 1, 2 ** 31, 3, 0, 9), present: null },
    ['5', '2147483648', '3', '9'],
  ],
  ['int64', { kind: 'sequence', first: 7 }, ['7', '9', '10', '12']],
  ['bool', { kind: 'bool', values: Uint8Array.of(1, 0, 0, 1, 0, 0), present }, [true, null, true, false]],
  ['text', { kind: 'constant text', text: 'é' }, ['é', 'é', 'é', 'é']],
  [
    'text',
    {
      kind: 'text',
      codes: Uint32Array.of(1, 0, 0, 0, 0, 1),
      bytes: Buffer.from('abc'),
      offsets: Uint32Array.of(0, 1, 3),
      present,
    },
    ['bc', null, 'a', 'bc'],
  ],
];

test.each(COLUMNS)('%s: the rows that are kept, written and read back', async (kind, values, expected) => {
  const column = { name: 'x', kind, nullable: true, values: selectValues(values, KEPT) };
  const written = (make: (write: (bytes: Uint8Array) => void) => void) => {
    const pieces: Uint8Array[] = [];
    make((bytes) => pieces.push(bytes.slice()));
    return new Uint8Array(Buffer.concat(pieces));
  };
  const parquet = written((write) => writeFlatParquet([column], KEPT.length, 'snappy', write));
  expect(readColumn(parquet, { path: ['x'], as: 'value' })).toEqual(expected);
  const arrow = written((write) => writeFlatArrow([column], KEPT.length, 'file', write));
  expect(openArrow(memoryFile(arrow)).rowCount).toBe(KEPT.length);
  expect(await readArrowColumn(arrow, { path: ['x'], as: 'value' })).toEqual(expected);
});

test('numbers stay numbers, NaN absent where it says so', () => {
  const values = Float64Array.of(1, NaN, NaN, 4, 5, 6);
  const selected = selectValues({ kind: 'double', values, present: 'not NaN' }, KEPT);
  expect(selected).toEqual({ kind: 'double', values: Float64Array.of(1, NaN, 4, 6), present: 'not NaN' });
  expect(values.length).toBe(ROWS);
});
