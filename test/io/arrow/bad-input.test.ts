import { beforeAll, describe, expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { openArrow } from '../../../src/io/arrow/arrow-file.ts';
import {
  type FlatNode,
  int8,
  int16,
  offset,
  offsets,
  old,
  serialize,
  table,
} from '../../../src/io/arrow/flatbuffer-writer.ts';
import { readVectors } from '../../../src/io/arrow/read-vectors.ts';
import { encapsulate } from '../../../src/io/arrow/schema-message.ts';
import { HeaderType, METADATA_V5, TypeId } from '../../../src/io/arrow/slots.ts';
import { prepareBlockCodecs } from '../../../src/io/codecs/block.ts';
import { batch, dictionary, encoded, field, int, list, schema, stream } from './handmade.ts';
import { fixtureBytes, memoryFile, readColumn, readRows, rowsOf } from './support.ts';

beforeAll(() => prepareBlockCodecs(['zstd', 'lz4_frame']));

const utf8 = new TextEncoder();
const none = new Uint8Array(0);
const VALUE = { as: 'value' } as const;
const MASK = { as: 'mask' } as const;

/** The message of the InputError that reading ends in. */
async function errorOf(bytes: Uint8Array, name: string, as: 'value' | 'mask' = 'value'): Promise<string> {
  try {
    await readColumn(bytes, { path: name.split('.'), as });
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
  return 'no error';
}

function openingError(bytes: Uint8Array): string {
  try {
    openArrow(memoryFile(bytes));
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
  return 'no error';
}

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
    expect(await readColumn(fixtureBytes('unsupported.arrow'), { path: ['before'], ...VALUE })).toEqual(['1', '2']);
    expect(await readColumn(fixtureBytes('unsupported.arrow'), { path: ['after'], ...VALUE })).toEqual(['x', 'y']);
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
  expect(await readColumn(fixtureBytes('unsupported.arrow'), { path: [name], ...MASK })).toEqual(rows);
});

describe('files that are cut off', () => {
  test.each(['plain.arrow', 'plain.arrows', 'types-zstd.arrow', 'delta.arrows'])('%s, at every byte', (name) => {
    const whole = fixtureBytes(name);
    const { batches, schema: place, dictionaries } = openArrow(memoryFile(whole));
    const ends = [...batches, ...dictionaries, ...('message' in place ? [place.message] : [])].map(({ end }) => end);
    for (let length = 0; length < whole.length; length++) {
      const error = openingError(whole.slice(0, length));
      const isEnd = name.endsWith('s') && ends.includes(length);
      if (isEnd) expect(error).toBe('no error');
      else if (error === 'no error') throw new Error(`${length} of ${whole.length} bytes pass`);
    }
  });

  test('the messages', () => {
    const whole = fixtureBytes('plain.arrow');
    expect(openingError(whole.slice(0, -1))).toBe('the Arrow file is cut off: expected it to end in ARROW1');
    const messages = fixtureBytes('no-end.arrows');
    expect(openingError(messages.slice(0, -1))).toMatch(/^the message at byte \d+ is cut off: its body of \d+ bytes/);
  });
});

const twoInts = { rowCount: 2, nodes: [2, 0], buffers: [none, BigInt64Array.of(1n, 2n)] };
const ints = (content: Partial<Parameters<typeof batch>[0]>, fields: FlatNode[] = [int('a')]) =>
  stream(schema(fields), batch({ ...twoInts, ...content }));

describe('opening', () => {
  function nested(depth: number): FlatNode {
    let inner = int('leaf');
    for (let i = 0; i < depth; i++) inner = field({ name: 's', type: TypeId.struct, children: [inner] });
    return inner;
  }
  const patched = (bytes: Uint8Array, at: number, word: number) => {
    const copy = bytes.slice();
    new DataView(copy.buffer).setUint32(at, word, true);
    return copy;
  };
  const file = fixtureBytes('plain.arrow');
  const deltaFirst = stream(
    schema([encoded('a', 1)]),
    dictionary(1, { rowCount: 0, nodes: [0, 0], buffers: [none, none, none] }, true),
  );

  test.each([
    ['Feather version 1', utf8.encode('FEA1....................FEA1'), 'is Feather version 1'],
    ['no Arrow data', utf8.encode('{"a": 1}{"a": 2}'), 'is malformed: its metadata has'],
    ['nothing', none, 'expected an Arrow stream that begins with a schema message'],
    ['big-endian', schema([int('a')], { endianness: 1 }), 'Arrow data is big-endian, expected little-endian'],
    ['old metadata', schema([int('a')], { version: 2 }), 'has Arrow metadata version V3, expected V4 or V5'],
    ['new metadata', schema([int('a')], { version: 5 }), 'has Arrow metadata version V6, expected V4 or V5'],
    ['a batch first', batch(twoInts), 'expected an Arrow stream that begins with a schema message'],
    ['two schemas', stream(schema([int('a')]), schema([int('a')])), 'the Arrow stream has a second schema message'],
    [
      'two streams',
      stream(fixtureBytes('plain.arrows'), fixtureBytes('plain.arrows')),
      'bytes follow: expected one stream',
    ],
    ['deep nesting', schema([nested(70)]), 'the Arrow schema is nested deeper than 64 levels'],
    ['an unknown type', schema([field({ name: 'a', type: 99 as TypeId })]), 'has the unknown type number 99'],
    ['odd integers', schema([int('a', 24)]), 'field "a" has integers of 24 bits, expected 8, 16, 32, 64'],
    [
      'a list of nothing',
      schema([field({ name: 'a', type: TypeId.list })]),
      'field "a" has 0 child fields, expected 1',
    ],
    ['an unknown codec', ints({ codec: 7 }), 'has the unknown codec 7, expected lz4_frame or zstd'],
    ['more rows than bytes', ints({ rowCount: 2 ** 40 }), 'more than its body of 16 bytes can hold'],
    ['a negative row count', ints({ rowCount: -1 }), 'its row count is -1'],
    ['a delta of nothing', deltaFirst, 'it adds to dictionary 1, which is not there'],
    [
      'a footer past the file',
      patched(file, file.length - 10, 5000),
      'the Arrow footer is malformed: it has 5000 bytes',
    ],
    ['a footer of no bytes', patched(file, file.length - 10, 0), 'the Arrow footer is malformed: it has 0 bytes'],
  ])('%s', (_, bytes, error) => {
    expect(openingError(bytes)).toContain(error);
  });

  test('fields that share one table do not grow without end', () => {
    // Thirty levels, each of which names the next one twice.
    expect(openingError(sharedFields(30))).toMatch(/its schema has more fields than its bytes can hold/);
  });
});

/** A schema whose fields each have one child field twice: 2^depth fields, if every one is visited. */
function sharedFields(depth: number): Uint8Array {
  let bytes = serialize(int('leaf'));
  const inner = () => old(new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true));
  for (let level = 0; level < depth; level++) {
    bytes = serialize(field({ name: 's', type: TypeId.struct, children: [inner(), inner()] }), bytes);
  }
  const header = table(null, offset(offsets([inner()])));
  return encapsulate(serialize(table(int16(METADATA_V5), int8(HeaderType.schema), offset(header)), bytes), 8);
}

describe('record batches', () => {
  const nullsIn = (nullCount: number, buffers: readonly ArrayBufferView[]) => ints({ nodes: [2, nullCount], buffers });
  const one = Int32Array.of(1);

  test.each([
    ['too few nodes', ints({ nodes: [] }), 'has 0 nodes and 2 buffers, but its schema needs 1 and 2'],
    [
      'too many buffers',
      ints({ buffers: [none, none, none] }),
      'has 1 nodes and 3 buffers, but its schema needs 1 and 2',
    ],
    ['a short column', ints({ rowCount: 3 }), 'a has 2 entries, expected 3 or more'],
    ['too few values', ints({ buffers: [none, one] }), 'the values of a has 4 bytes, expected 16 or more'],
    [
      'nulls without a bitmap',
      nullsIn(1, [none, BigInt64Array.of(1n, 2n)]),
      'the validity bitmap of a has 0 bytes, expected 1',
    ],
    ['more nulls than rows', nullsIn(3, [one, BigInt64Array.of(1n, 2n)]), 'node 0 has 3 nulls in 2 entries'],
    ['a buffer past the body', ints({ places: [0, 0, 8, 16] }), 'buffer 1 (bytes 8 to 24) ends past its body of 16'],
    ['a buffer before the body', ints({ places: [0, 0, -8, 16] }), 'the offset of buffer 1 is -8'],
    ['no compressed length', ints({ codec: 1, buffers: [none, one] }), 'buffer 1 has 4 bytes, too few for the length'],
    [
      'a bomb',
      ints({ codec: 1, buffers: [none, BigInt64Array.of(2n ** 40n, 0n)] }),
      'claims 1099511627776 bytes, expected 0 to 262144',
    ],
    ['a negative length', ints({ codec: 0, buffers: [none, BigInt64Array.of(-2n, 0n)] }), 'claims -2 bytes'],
    [
      'bytes that do not inflate',
      ints({ codec: 1, buffers: [none, BigInt64Array.of(16n, 0n)] }),
      'record batch 1: buffer 1: ',
    ],
    [
      'less inflated than needed',
      ints({ codec: 1, buffers: [none, BigInt64Array.of(-1n, 7n)] }),
      'the values of a has 8 bytes, expected 16',
    ],
  ])('%s', async (_, bytes, error) => {
    expect(await errorOf(bytes, 'a')).toContain(error);
  });

  test('two columns of one name', async () => {
    const content = { nodes: [2, 0, 2, 0], buffers: [...twoInts.buffers, ...twoInts.buffers] };
    expect(await errorOf(ints(content, [int('a'), int('a')]), 'a')).toBe('there are 2 columns "a", expected one');
  });

  test('a length that is not compressed', async () => {
    const bytes = ints({ codec: 1, buffers: [none, BigInt64Array.of(-1n, 7n, 8n)] });
    expect(await readColumn(bytes, { path: ['a'], ...VALUE })).toEqual(['7', '8']);
  });
});

describe('texts', () => {
  const texts = (offsetsOfRows: Int32Array, bytes: string) =>
    stream(
      schema([field({ name: 't', type: TypeId.utf8 })]),
      batch({ rowCount: 2, nodes: [2, 0], buffers: [none, offsetsOfRows, utf8.encode(bytes)] }),
    );
  const views = (...words: number[]) =>
    stream(
      schema([field({ name: 't', type: TypeId.utf8View })]),
      batch({
        rowCount: words.length / 4,
        nodes: [words.length / 4, 0],
        buffers: [none, Int32Array.from(words), utf8.encode('x'.repeat(64))],
        viewBufferCounts: [1],
      }),
    );

  test.each([
    ['offsets that fall', texts(Int32Array.of(0, 3, 1), 'abc'), 'are malformed: 1 at entry 2, expected 3 or more'],
    ['a negative offset', texts(Int32Array.of(-1, 0, 1), 'abc'), 'are malformed: -1 at entry 0, expected 0 or more'],
    [
      'offsets past the text',
      texts(Int32Array.of(0, 3, 100), 'abc'),
      'the text of t has 3 bytes, expected 100 or more',
    ],
    ['too few offsets', texts(Int32Array.of(0, 3), 'abc'), 'the offsets of t has 8 bytes, expected 12 or more'],
    ['a negative view', views(-1, 0, 0, 0), 'the view of row 1 of t is malformed: its length is -1'],
    ['a view into no buffer', views(20, 0, 1, 0), 'it lies in buffer 1 of 1'],
    ['a view past its buffer', views(20, 0, 0, 50), 'bytes 50 to 70 of a buffer of 64'],
    [
      'views that overlap',
      views(...Array.from({ length: 32 }, (_, i) => [64 - i, 0, 0, i]).flat()),
      'the views of t overlap: 32 texts of 1552 bytes in 64 bytes of data',
    ],
  ])('%s', async (_, bytes, error) => {
    expect(await errorOf(bytes, 't')).toContain(error);
  });

  test('equal views become one text', async () => {
    const bytes = views(...Array.from({ length: 1000 }, () => [64, 0, 0, 0]).flat());
    const found = await readColumn(bytes, { path: ['t'], ...VALUE });
    expect(new Set(found)).toEqual(new Set(['x'.repeat(64)]));
  });
});

describe('lists', () => {
  const child = int('item', 8);
  const masks = (type: TypeId, buffers: readonly ArrayBufferView[], childLength = 4) =>
    stream(
      schema([list('m', type, child)]),
      batch({
        rowCount: 2,
        nodes: [2, 0, childLength, 0],
        buffers: [none, ...buffers, none, Int8Array.of(1, 0, 1, 1)],
      }),
    );

  test.each([
    ['offsets that fall', masks(TypeId.list, [Int32Array.of(0, 3, 1)]), 'are malformed: 1 at entry 2'],
    [
      'more entries than there are',
      masks(TypeId.list, [Int32Array.of(0, 3, 5)]),
      'end at entry 5, but there are 4 entries',
    ],
    [
      'entries without bytes',
      masks(TypeId.list, [Int32Array.of(0, 3, 5)], 5),
      'entries of item has 4 bytes, expected 5',
    ],
    [
      'large offsets',
      masks(TypeId.largeList, [BigInt64Array.of(0n, 1n, 2n ** 62n)]),
      'end at entry 4611686018427387904',
    ],
    [
      'a negative size',
      masks(TypeId.listView, [Int32Array.of(0, 1), Int32Array.of(1, -1)]),
      'the size of list 1 of m is -1',
    ],
    [
      'views out of order',
      masks(TypeId.listView, [Int32Array.of(2, 0), Int32Array.of(1, 1)]),
      'list views must lie in order',
    ],
    ['a negative view', masks(TypeId.listView, [Int32Array.of(-1, 0), Int32Array.of(1, 1)]), 'begins at entry -1'],
  ])('%s', async (_, bytes, error) => {
    expect(await errorOf(bytes, 'm', 'mask')).toContain(error);
  });

  test('empty views may lie anywhere', async () => {
    const bytes = masks(TypeId.listView, [Int32Array.of(-7, 1), Int32Array.of(0, 3)]);
    expect(await readColumn(bytes, { path: ['m'], ...MASK })).toEqual([
      [0, 0],
      [2, 3],
    ]);
  });
});

describe('dictionaries', () => {
  const words = (...texts: string[]) => ({
    rowCount: texts.length,
    nodes: [texts.length, 0],
    buffers: [
      none,
      Int32Array.from([0, ...texts], (_, i) => texts.slice(0, i).join('').length),
      utf8.encode(texts.join('')),
    ],
  });
  const indices = (...rows: number[]) =>
    batch({ rowCount: rows.length, nodes: [rows.length, 0], buffers: [none, Int8Array.from(rows)] });
  const column = schema([encoded('d', 3)]);

  test.each([
    [
      'past its end',
      stream(column, dictionary(3, words('a', 'b')), indices(0, 2)),
      'row 2 of column "d" has index 2 into a dictionary of 2 entries',
    ],
    [
      'negative',
      stream(column, dictionary(3, words('a', 'b')), indices(-1)),
      'has index -1 into a dictionary of 2 entries',
    ],
    ['into none', stream(column, indices(0)), 'has index 0 into a dictionary of 0 entries'],
    [
      'into a later one',
      stream(column, indices(0), dictionary(3, words('a'))),
      'has index 0 into a dictionary of 0 entries',
    ],
  ])('an index %s', async (_, bytes, error) => {
    expect(await errorOf(bytes, 'd')).toContain(error);
  });

  test('a dictionary whose own batch is malformed', async () => {
    const content = { ...words('a'), nodes: [] };
    expect(await errorOf(stream(column, dictionary(3, content), indices(0)), 'd')).toMatch(
      /^dictionary 3 at byte \d+ has 0 nodes/,
    );
  });

  test('batches read in any order see the dictionary of their place', async () => {
    const bytes = stream(
      column,
      dictionary(3, words('a')),
      indices(0),
      dictionary(3, words('b'), true),
      indices(0, 1),
      dictionary(3, words('c')),
      indices(0),
    );
    const file = memoryFile(bytes);
    const arrow = openArrow(file);
    const read = (index: number) => readRows(file, arrow, index, { path: ['d'], ...VALUE });
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 0, 1],
    ]) {
      expect(order.map(read)).toEqual(order.map((index) => [['a'], ['a', 'b'], ['c']][index]));
    }
  });

  test('an added part leaves what was read before as it was', () => {
    const bytes = stream(column, dictionary(3, words('a')), indices(0), dictionary(3, words('b'), true), indices(0, 1));
    const file = memoryFile(bytes);
    const arrow = openArrow(file);
    const [first] = readVectors(file, arrow, 0, [{ path: ['d'], ...VALUE }]);
    readVectors(file, arrow, 1, [{ path: ['d'], ...VALUE }]);
    expect(rowsOf(first, 1)).toEqual(['a']);
  });
});

test('columns of nulls alone take no bytes, but not without bound', () => {
  const nulls = (rowCount: number) =>
    stream(
      schema([field({ name: 'n', type: TypeId.null })]),
      batch({ rowCount, nodes: [rowCount, rowCount], buffers: [] }),
    );
  expect(openArrow(memoryFile(nulls(1000))).rowCount).toBe(1000);
  expect(openingError(nulls(2 ** 32))).toContain('it has 4294967296 rows, more than its body of 0 bytes can hold');
});
