import { beforeAll, describe, expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { Encoding } from '../../../src/io/parquet/encodings.ts';
import { openParquet } from '../../../src/io/parquet/metadata.ts';
import {
  type Chunk,
  Converted,
  DICTIONARY_PAGE,
  type Element,
  framed,
  handmade,
  int32s,
  type Page,
  page,
  Repetition,
  run,
  Type,
} from './handmade.ts';
import { inMemory, prepareAllCodecs, readColumn } from './support.ts';

beforeAll(prepareAllCodecs);

const { required, optional, repeated } = Repetition;
const root = (children: number): Element => ({ name: 'schema', children });
const { plain, dictionary, bitPacked, deltaByteArray, deltaBinaryPacked } = Encoding;

describe('lists of old writers', () => {
  // Rows [1, 0, 1], [], null, [1].
  const expected = [[2, 3], [0, 0], null, [1, 1]];
  const repetition = framed(...run(0, 1), ...run(1, 2), ...run(0, 3));
  const values = int32s(1, 0, 1, 1);

  const cases: [what: string, schema: Element[], path: string[], definition: number[], rows: unknown[]][] = [
    [
      'a repeated leaf inside a list group',
      [root(1), { name: 'm', repetition: optional, children: 1, converted: Converted.list }, leaf('array', repeated)],
      ['m', 'array'],
      [...run(2, 3), ...run(1, 1), ...run(0, 1), ...run(2, 1)],
      expected,
    ],
    [
      'a bag of optional elements',
      [
        root(1),
        { name: 'm', repetition: optional, children: 1, converted: Converted.list },
        { name: 'bag', repetition: repeated, children: 1 },
        leaf('array_element', optional),
      ],
      ['m', 'bag', 'array_element'],
      [...run(3, 3), ...run(1, 1), ...run(0, 1), ...run(3, 1)],
      expected,
    ],
    [
      'a repeated leaf on its own, which cannot be null',
      [root(1), leaf('m', repeated)],
      ['m'],
      [...run(1, 3), ...run(0, 2), ...run(1, 1)],
      [
        [2, 3],
        [0, 0],
        [0, 0],
        [1, 1],
      ],
    ],
  ];
  test.each(cases)('%s', (_, schema, path, definition, rows) => {
    const body = [...repetition, ...framed(...definition), ...values];
    const pages = [page({ valueCount: 6, encoding: plain, body })];
    const bytes = handmade(schema, [{ path, type: Type.int32, pages, valueCount: 6 }], 4);
    expect(readColumn(bytes, { path: ['m'], as: 'mask' })).toEqual(rows);
    expect(openParquet(inMemory(bytes)).columns).toEqual([{ path: ['m'], type: 'list<int32>', isList: true }]);
  });

  test('levels packed from the most significant bit on', () => {
    // Repetition 0 1 1 0 0 0; definition 2 2 2 1 0 2 at two bits each.
    const body = [0b0110_0000, 0b10101001, 0b0010_0000, ...values];
    const schema = [
      root(1),
      { name: 'm', repetition: optional, children: 1, converted: Converted.list },
      leaf('array', repeated),
    ];
    const pages = [page({ valueCount: 6, encoding: plain, levelEncoding: bitPacked, body })];
    const bytes = handmade(schema, [{ path: ['m', 'array'], type: Type.int32, pages, valueCount: 6 }], 4);
    expect(readColumn(bytes, { path: ['m'], as: 'mask' })).toEqual(expected);
  });

  test('a row that goes on in the next page', () => {
    const first = [...framed(...run(0, 2), ...run(1, 2)), ...framed(...run(1, 4)), ...int32s(1, 1, 0, 1)];
    const second = [...framed(...run(1, 3), ...run(0, 1)), ...framed(...run(1, 4)), ...int32s(1, 0, 1, 0)];
    const pages = [first, second].map((body) => page({ valueCount: 4, encoding: plain, body }));
    const bytes = handmade(
      [root(1), leaf('m', repeated)],
      [{ path: ['m'], type: Type.int32, pages, valueCount: 8 }],
      3,
    );
    expect(readColumn(bytes, { path: ['m'], as: 'mask' })).toEqual([
      [1, 1],
      [4, 6],
      [0, 1],
    ]);
  });

  test('a dictionary whose first entry is one, or whose only entry is', () => {
    const pages = (entries: number[], ...indices: number[]) => [
      page({ kind: DICTIONARY_PAGE, valueCount: entries.length, encoding: plain, body: int32s(...entries) }),
      page({
        valueCount: 8,
        encoding: dictionary,
        body: [...framed(...run(0, 1), ...run(1, 7)), ...framed(...run(1, 8)), ...indices],
      }),
    ];
    const read = (...args: Parameters<typeof pages>) =>
      readColumn(
        handmade(
          [root(1), leaf('m', repeated)],
          [{ path: ['m'], type: Type.int32, pages: pages(...args), valueCount: 8 }],
          1,
        ),
        { path: ['m'], as: 'mask' },
      );
    expect(read([1, 0], 1, 3, 0b00001101)).toEqual([[5, 8]]);
    expect(read([0, 1], 1, 3, 0b00001101)).toEqual([[3, 8]]);
    expect(read([1], 0, 16)).toEqual([[8, 8]]);
    expect(read([1], 1, ...run(0, 8))).toEqual([[8, 8]]);
    expect(read([7, 0, 1], 2, ...run(2, 3), ...run(1, 5))).toEqual([[3, 8]]);
    expect(() => read([1], 1, ...run(1, 8))).toThrow(/has index 1, but its dictionary has 1 entries/);
  });
});

describe('what contradicts itself is refused', () => {
  const flat = (pages: Page[], more: Partial<Chunk> = {}, rowCount = 4): Uint8Array =>
    handmade(
      [root(1), leaf('x', required)],
      [{ path: ['x'], type: Type.int32, pages: pages.map(page), valueCount: 4, ...more }],
      rowCount,
    );
  const good: Page = { valueCount: 4, encoding: plain, body: int32s(1, 2, 3, 4) };
  const list = (body: number[], valueCount: number, rowCount: number) =>
    handmade(
      [
        root(1),
        { name: 'x', repetition: optional, children: 1, converted: Converted.list },
        { name: 'list', repetition: repeated, children: 1 },
        leaf('element', optional),
      ],
      [
        {
          path: ['x', 'list', 'element'],
          type: Type.int32,
          pages: [page({ valueCount, encoding: plain, body })],
          valueCount,
        },
      ],
      rowCount,
    );
  const text = (encoding: number, body: number[]) =>
    handmade(
      [root(1), { name: 'x', type: Type.bytes, repetition: required, converted: Converted.utf8 }],
      [{ path: ['x'], type: Type.bytes, pages: [page({ valueCount: 2, encoding, body })], valueCount: 2 }],
      2,
    );
  const zeros = [128, 1, 4, 2, 0];

  test('while the good twin is read', () => {
    expect(readColumn(flat([good]), { path: ['x'], as: 'value' })).toEqual(['1', '2', '3', '4']);
  });

  const cases: [what: string, bytes: Uint8Array, as: 'value' | 'mask', message: RegExp][] = [
    ['more values in pages than in the footer', flat([good, good], { valueCount: 6 }, 6), 'value', /has 2 values more/],
    ['fewer values in pages', flat([good], { valueCount: 6 }, 6), 'value', /ends 2 values too early/],
    ['another number of values than rows', flat([good], {}, 5), 'value', /has 4 values, but its row group has 5 rows/],
    ['a page past its column', flat([{ ...good, storedLength: 99 }]), 'value', /has 99 bytes, but only 16 are left/],
    ['a page with too few values', flat([{ ...good, body: int32s(1, 2) }]), 'value', /too few for 4 values/],
    ['a negative length', flat([{ ...good, plainLength: -5 }]), 'value', /its header gives no lengths/],
    [
      'a length that compression cannot reach',
      flat([{ ...good, plainLength: 2 ** 29 }], { codec: 1 }),
      'value',
      /cannot hold 536870912/,
    ],
    ['LZO', flat([good], { codec: 3 }), 'value', /is compressed with LZO/],
    ['an unknown codec', flat([good], { codec: 42 }), 'value', /has unknown codec 42/],
    ['an unknown encoding', flat([{ ...good, encoding: 77 }]), 'value', /in encoding 77, which cannot be read/],
    [
      'indices without a dictionary',
      flat([{ ...good, encoding: dictionary }]),
      'value',
      /its column has no dictionary/,
    ],
    ['another column in the place', flat([good], { path: ['y'] }), 'value', /the row group has another column/],
    ['another type', flat([good], { type: Type.int64 }), 'value', /has physical type int64, the schema int32/],
    ['a column outside the file', flat([good], { byteOffset: 9999 }), 'value', /outside the file's data/],
    ['rows by the billion', flat([good], { valueCount: 2 ** 40 }, 2 ** 40), 'value', /has 1099511627776 rows; at most/],
    [
      'a delta block without parts',
      flat([{ ...good, encoding: deltaBinaryPacked, body: [128, 1, 0, 4, 0] }]),
      'value',
      /delta blocks of 128 values in 0 parts/,
    ],
    [
      'another number of deltas',
      flat([{ ...good, encoding: deltaBinaryPacked, body: zeros }]),
      'value',
      /has 2 delta-coded values, expected 4/,
    ],
    [
      'deltas that are cut off',
      flat([{ ...good, encoding: deltaBinaryPacked, body: [128, 1, 4, 4, 0, 2] }]),
      'value',
      /are cut off/,
    ],
    ['a text past its page', text(plain, [9, 0, 0, 0, 65]), 'value', /ends inside a text/],
    [
      'a prefix of nothing',
      text(deltaByteArray, [128, 1, 4, 2, 6, 0, 0, 0, 0, 0, ...zeros, 0, 0, 0, 0, 0]),
      'value',
      /repeats 3 bytes of one that has 0/,
    ],
    [
      'a page that begins inside a row',
      list([...framed(...run(1, 2)), ...framed(...run(3, 2)), ...int32s(1, 1)], 2, 1),
      'mask',
      /begins inside a row/,
    ],
    [
      'more rows in levels than in the footer',
      list([...framed(...run(0, 3)), ...framed(...run(3, 3)), ...int32s(1, 1, 1)], 3, 2),
      'mask',
      /has more rows than the 2/,
    ],
    [
      'fewer rows in levels',
      list([...framed(...run(0, 1), ...run(1, 2)), ...framed(...run(3, 3)), ...int32s(1, 1, 1)], 3, 2),
      'mask',
      /has 1 rows, but its row group has 2/,
    ],
    [
      'a list with and without elements',
      list([...framed(...run(0, 1), ...run(1, 1)), ...framed(...run(3, 1), ...run(1, 1)), ...int32s(1)], 2, 1),
      'mask',
      /has elements and none at once/,
    ],
    [
      'a level past the deepest',
      list([...framed(...run(0, 2)), ...framed(...run(4, 2)), ...int32s(1, 1)], 2, 2),
      'mask',
      /has a level 4, expected at most 3/,
    ],
    [
      'levels that end early',
      list([...framed(...run(0, 1)), ...framed(...run(3, 2)), ...int32s(1, 1)], 2, 2),
      'mask',
      /ends 1 entries too early/,
    ],
    ['levels past their page', list([99, 0, 0, 0, 1], 2, 2), 'mask', /levels are said to have 99/],
    ['an empty run', list([...framed(0, 0), ...framed(...run(3, 2)), ...int32s(1, 1)], 2, 2), 'mask', /a run is empty/],
  ];
  test.each(cases)('%s', (_, bytes, as, message) => {
    const read = () => readColumn(bytes, { path: ['x'], as });
    expect(read).toThrow(InputError);
    expect(read).toThrow(message);
  });

  test('schemas that are no tree', () => {
    const open = (schema: Element[]) => () => openParquet(inMemory(handmade(schema, [], 0)));
    expect(open([root(3), leaf('x', required)])).toThrow(/fewer elements than children/);
    expect(open([root(1), leaf('x', required), leaf('y', required)])).toThrow(/1 elements too many/);
    expect(
      open([root(1), ...Array.from({ length: 99 }, () => ({ name: 'g', repetition: optional, children: 1 }))]),
    ).toThrow(/nested more than 64 deep/);
  });
});

function leaf(name: string, repetition: number): Element {
  return { name, type: Type.int32, repetition };
}
