import { beforeAll, describe, expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { openParquet } from '../../../src/io/parquet/metadata.ts';
import { readVectors } from '../../../src/io/parquet/read-vectors.ts';
import { FIXTURES, fixture, inMemory, prepareAllCodecs, readColumn } from './support.ts';

beforeAll(prepareAllCodecs);

describe('files of the real libraries hold what those say', () => {
  test.each(FIXTURES)('%s', (name, columns) => {
    const bytes = fixture(name);
    for (const { path, as, values } of columns) {
      if (values === null) continue;
      expect(readColumn(bytes, { path, as }), path.join('.')).toEqual(values);
    }
  });
});

test('a mask with anything but 0 and 1 names the first row and what was found', () => {
  const [, columns] = FIXTURES.find(([name]) => name === 'masks-invalid.parquet')!;
  const file = inMemory(fixture('masks-invalid.parquet'));
  for (const { path, as, invalid } of columns) {
    const [vector] = readVectors(file, openParquet(file), 0, [{ path, as }]);
    expect(vector, path.join('.')).toMatchObject({ kind: 'masks', invalid });
  }
});

test('row counts and columns are told without reading data', () => {
  const file = inMemory(fixture('nesting.parquet'));
  const parquet = openParquet(file);
  expect(parquet.rowGroups.map((group) => group.rowCount)).toEqual([60, 30]);
  expect(parquet.rowGroups.map((group) => group.firstRow)).toEqual([0, 60]);
  expect(parquet.columns).toEqual([
    { path: ['metrics', 'accuracy'], type: 'double', isList: false },
    { path: ['metrics', 'format', 'score'], type: 'int64', isList: false },
    { path: ['info', 'ids', 'group'], type: 'string', isList: false },
    { path: ['one'], type: 'list<double>', isList: true },
    { path: ['always'], type: 'list<double>', isList: true },
    { path: ['nothing'], type: 'null', isList: false },
  ]);
});

describe('what cannot be read is refused by name', () => {
  const refusals: [file: string, path: string, as: 'value' | 'mask', message: RegExp][] = [
    ['refused.parquet', 'decimal', 'value', /^column decimal has type decimal\(10, 2\)/],
    ['refused.parquet', 'timestamp', 'value', /has type timestamp\(us\)/],
    ['refused.parquet', 'date', 'value', /has type date/],
    ['refused.parquet', 'time', 'value', /has type time\(ns\)/],
    ['refused.parquet', 'fixed', 'value', /has type fixed_len_byte_array\(16\)/],
    ['refused.parquet', 'map.key', 'value', /has type map entry string/],
    ['refused.parquet', 'map.value', 'mask', /has type map entry int64/],
    ['refused.parquet', 'lists', 'mask', /has type list<list<int8>>/],
    [
      'refused.parquet',
      'several',
      'value',
      /column several is list<double>: expected a single value.*several in row 2/,
    ],
    ['refused.parquet', 'none', 'value', /column none is list<double>: expected a single value.*none in row 2/],
    ['refused.parquet', 'texts', 'mask', /has type list<string>, expected a list of integers or booleans/],
    ['refused.parquet', 'flat', 'mask', /has type int64, expected a list of 0 and 1/],
    ['refused.parquet', 'struct', 'value', /column struct is a struct of a, b/],
    ['refused.parquet', 'absent', 'value', /there is no column absent; the columns are decimal, timestamp,/],
    ['int96.parquet', 'when', 'value', /has type int96/],
  ];
  test.each(refusals)('%s: %s as %s', (name, path, as, message) => {
    const read = () => readColumn(fixture(name), { path: path.split('.'), as });
    expect(read).toThrow(InputError);
    expect(read).toThrow(message);
  });
});

describe('a file that is not whole is refused', () => {
  const whole = fixture('nesting.parquet');
  const damaged: [what: string, bytes: Uint8Array, message: RegExp][] = [
    ['empty', new Uint8Array(0), /is no Parquet file: it has 0 bytes/],
    ['cut off', whole.subarray(0, -10), /does not end with PAR1/],
    ['another format', Uint8Array.from({ length: 40 }, () => 0x20), /does not begin with PAR1/],
    ['encrypted', patched(whole, whole.length - 1, 0x45), /is an encrypted Parquet file/],
    ['footer longer than the file', patched(whole, whole.length - 6, 0x7f), /the footer is said to have \d+ bytes/],
  ];
  test.each(damaged)('%s', (_, bytes, message) => {
    expect(() => openParquet(inMemory(bytes))).toThrow(message);
  });

  test('a page that does not match its checksum', () => {
    const bytes = fixture('required.parquet');
    const { leaves, rowGroups } = openParquet(inMemory(bytes));
    const { byteOffset, byteLength } = rowGroups[0].chunks[leaves.findIndex((leaf) => leaf.path[0] === 'float64')];
    const read = () =>
      readColumn(patched(bytes, byteOffset + byteLength - 9, 0x55), { path: ['float64'], as: 'value' });
    expect(read).toThrow(/column float64, page at byte \d+: its checksum does not match/);
  });
});

function patched(bytes: Uint8Array, position: number, value: number): Uint8Array {
  const copy = bytes.slice();
  copy[position] = value;
  return copy;
}
