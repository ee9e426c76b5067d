import { describe, expect, test } from 'vitest';
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
import { encapsulate } from '../../../src/io/arrow/schema-message.ts';
import { HeaderType, METADATA_V5, TypeId } from '../../../src/io/arrow/slots.ts';
import { batch, dictionary, encoded, field, int, ints, schema, stream, TWO_INTS } from './handmade.ts';
import { fixtureBytes, memoryFile, openingError } from './support.ts';

const utf8 = new TextEncoder();
const none = new Uint8Array(0);

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
    ['a batch first', batch(TWO_INTS), 'expected an Arrow stream that begins with a schema message'],
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
    ['more rows than bytes', ints({ rowCount: 2 ** 40 }), 'it has 1099511627776 rows, expected 2147483647 or fewer'],
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

test('columns of nulls alone take no bytes, but not without bound', () => {
  const nulls = (rowCount: number) =>
    stream(
      schema([field({ name: 'n', type: TypeId.null })]),
      batch({ rowCount, nodes: [rowCount, rowCount], buffers: [] }),
    );
  expect(openArrow(memoryFile(nulls(1000))).rowCount).toBe(1000);
  expect(openingError(nulls(2 ** 30))).toContain('it has 1073741824 rows, more than its body of 0 bytes can hold');
});
