import { beforeAll, describe, expect, test } from 'vitest';
import { openArrow } from '../../../src/io/arrow/arrow-file.ts';
import { readVectors } from '../../../src/io/arrow/read-vectors.ts';
import { TypeId } from '../../../src/io/arrow/slots.ts';
import { prepareBlockCodecs } from '../../../src/io/codecs/block.ts';
import { batch, dictionary, encoded, field, int, ints, list, schema, stream, TWO_INTS } from './handmade.ts';
import { errorOf, memoryFile, readColumn, readRows, rowsOf } from './support.ts';

beforeAll(() => prepareBlockCodecs(['zstd', 'lz4_frame']));

const utf8 = new TextEncoder();
const none = new Uint8Array(0);
const VALUE = { as: 'value' } as const;
const MASK = { as: 'mask' } as const;

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
    const content = { nodes: [2, 0, 2, 0], buffers: [...TWO_INTS.buffers, ...TWO_INTS.buffers] };
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
    ['large offsets', masks(TypeId.largeList, [BigInt64Array.of(0n, 1n, 2n ** 40n)]), 'end at entry 1099511627776'],
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
