import { expect, test } from 'vitest';
import { FlatBuffer } from '../../../src/io/arrow/flatbuffer-reader.ts';
import { parseSchema } from '../../../src/io/arrow/schema.ts';
import {
  encapsulate,
  extendSchemaMessage,
  type NewField,
  newSchemaFlatBuffer,
} from '../../../src/io/arrow/schema-message.ts';
import { MessageSlot } from '../../../src/io/arrow/slots.ts';
import { typeName } from '../../../src/io/arrow/types.ts';
import { fixtureBytes } from './support.ts';

const ADDED: readonly NewField[] = [
  { name: 'raw_reward', type: 'double', nullable: true },
  { name: 'größe', type: 'utf8', nullable: true },
];

/** Names and types of an encapsulated schema message. */
function fieldsOf(message: Uint8Array): string[] {
  const view = new DataView(message.buffer, message.byteOffset);
  const bytes = message.subarray(8, 8 + view.getUint32(4, true));
  const schema = new FlatBuffer(bytes, 'the schema').root().table(MessageSlot.header);
  if (schema === null) throw new Error('no schema');
  return parseSchema(schema, 4).fields.map((field) => `${field.name}: ${typeName(field)}`);
}

const original = encapsulate(newSchemaFlatBuffer([{ name: 'id', type: 'int64', nullable: false }]), 8);

test('fields are added at the end and removed by name', () => {
  expect(fieldsOf(extendSchemaMessage(original, ADDED))).toEqual(['id: int64', 'raw_reward: float64', 'größe: utf8']);
  const twice = extendSchemaMessage(extendSchemaMessage(original, ADDED), [ADDED[0]], ['raw_reward', 'id']);
  expect(fieldsOf(twice)).toEqual(['größe: utf8', 'raw_reward: float64']);
});

test('every type that a new field can have', () => {
  const types = ['double', 'float', 'int64', 'uint64', 'int32', 'utf8', 'bool'] as const;
  const fields = types.map((type) => ({ name: type, type, nullable: true }));
  expect(fieldsOf(extendSchemaMessage(original, fields, ['id']))).toEqual([
    'double: float64',
    'float: float32',
    'int64: int64',
    'uint64: uint64',
    'int32: int32',
    'utf8: utf8',
    'bool: bool',
  ]);
});

test('a message of old framing, without the continuation marker', () => {
  expect(fieldsOf(extendSchemaMessage(original.subarray(4), ADDED))).toEqual(
    fieldsOf(extendSchemaMessage(original, ADDED)),
  );
});

test('types of any other kind are kept', () => {
  const stream = fixtureBytes('types.arrows');
  const before = fieldsOf(stream);
  expect(before).toContain('dictionary_int8: dictionary<values=utf8, indices=int8>');
  expect(fieldsOf(extendSchemaMessage(stream, ADDED))).toEqual([...before, 'raw_reward: float64', 'größe: utf8']);
});

test('the message is a multiple of 8 bytes long and says so', () => {
  const extended = extendSchemaMessage(original, ADDED);
  expect(extended.length % 8).toBe(0);
  expect(new DataView(extended.buffer, extended.byteOffset).getUint32(4, true)).toBe(extended.length - 8);
});

test.each([
  ['no bytes', new Uint8Array(0), 'is cut off: has 0 bytes, expected 8 or more'],
  ['a length without bytes', original.subarray(0, 8), 'is cut off: has 0 bytes of'],
  ['a cut message', original.subarray(0, 40), 'is cut off: has 32 bytes of'],
  ['a record batch', recordBatch(), 'is malformed: it holds no schema'],
])('%s', (_, message, error) => {
  expect(() => extendSchemaMessage(message, ADDED)).toThrow(error);
});

function recordBatch(): Uint8Array {
  const stream = fixtureBytes('plain.arrows');
  const view = new DataView(stream.buffer);
  return stream.subarray(8 + view.getUint32(4, true));
}
