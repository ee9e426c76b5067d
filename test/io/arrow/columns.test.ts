import { describe, expect, test } from 'vitest';
import { openArrow } from '../../../src/io/arrow/arrow-file.ts';
import { errorOf, fixtureBytes, memoryFile, readColumn } from './support.ts';

describe('types that are no value', () => {
  test.each([
    ['decimal', 'decimal128(10, 2)'],
    ['timestamp', 'timestamp[us, UTC]'],
    ['date', 'date32'],
    ['date64', 'date64'],
    ['time', 'time32[ms]'],
    ['duration', 'duration[ns]'],
    ['interval', 'interval[months, days, nanoseconds]'],
    ['fixed_size_binary', 'fixed_size_binary[4]'],
    ['map', 'map<utf8, int64>'],
    ['dense_union', 'dense_union<int64, utf8>'],
    ['sparse_union', 'sparse_union<int64, utf8>'],
    ['run_end_encoded', 'run_end_encoded<int32, int64>'],
  ])('%s', async (name, type) => {
    expect(await errorOf(fixtureBytes('unsupported.arrow'), name)).toBe(
      `column "${name}" is ${type}, expected numbers, booleans or text`,
    );
  });

  test.each([
    ['list', 'list<int64>: expected a single value, or one entry in every list, found 2 entries in row 1'],
    ['structs', 'is struct<a: int64, b: list<int64>>, expected a value'],
    ['structs.a', 'found 0 entries in row 2'],
    ['absent', 'there is no column "absent": found "before", "decimal"'],
    ['before.x', 'there is no column "before.x"'],
  ])('%s: %s', async (name, error) => {
    expect(await errorOf(fixtureBytes('unsupported.arrow'), name)).toContain(error);
  });

  test.each([
    ['before', 'column "before" is int64, expected a list of 0 and 1'],
    ['list_of_text', 'column "list_of_text" is list<utf8>, expected a list of 0 and 1'],
    ['structs', 'expected a list of 0 and 1'],
    ['dictionary_list', 'dictionary<values=list<int8>, indices=int8>, expected a list of 0 and 1'],
    ['map', 'map<utf8, int64>, expected a list of 0 and 1'],
  ])('as a mask %s: %s', async (name, error) => {
    expect(await errorOf(fixtureBytes('unsupported.arrow'), name, 'mask')).toContain(error);
  });

  test('columns beside them can be read', async () => {
    expect(await readColumn(fixtureBytes('unsupported.arrow'), { path: ['before'], as: 'value' })).toEqual(['1', '2']);
    expect(await readColumn(fixtureBytes('unsupported.arrow'), { path: ['after'], as: 'value' })).toEqual(['x', 'y']);
  });

  test('what columns there are', () => {
    const { columns } = openArrow(memoryFile(fixtureBytes('unsupported.arrow')));
    const lists = columns.filter(({ isList }) => isList).map(({ path, type }) => `${path.join('.')}: ${type}`);
    expect(lists).toEqual([
      'list: list<int64>',
      'structs.a: list<int64>',
      'structs.b: list<list<int64>>',
      'list_of_text: list<utf8>',
      'bad_mask: list<int8>',
      'bad_float_mask: list<float64>',
      'null_in_mask: list<int8>',
      'bad_int64_mask: list<int64>',
      'null_masks: list<null>',
    ]);
  });
});

test.each([
  ['bad_mask', [[1, 2], 'invalid: 2']],
  ['bad_float_mask', ['invalid: 0.5', [1, 1]]],
  ['null_in_mask', [[1, 2], 'invalid: null']],
  ['bad_int64_mask', ['invalid: -1', [1, 1]]],
  ['null_masks', [[0, 0], 'invalid: null']],
])('entries that are no mask are told: %s', async (name, rows) => {
  expect(await readColumn(fixtureBytes('unsupported.arrow'), { path: [name], as: 'mask' })).toEqual(rows);
});
