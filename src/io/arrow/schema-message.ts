/** Arrow schemas with fields added or removed: new tables in front of the old bytes, everything else as it was. */
import { InputError } from '../../errors.ts';
import { FlatBuffer, type FlatTable } from './flatbuffer-reader.ts';
import {
  alignUp,
  type FlatNode,
  int8,
  int16,
  int32,
  int64,
  kept,
  offset,
  offsets,
  old,
  serialize,
  table,
  text,
} from './flatbuffer-writer.ts';
import { FieldSlot, HeaderType, METADATA_V5, MessageSlot, SchemaSlot, TypeId } from './slots.ts';

export interface NewField {
  readonly name: string;
  readonly type: 'double' | 'float' | 'int64' | 'uint64' | 'int32' | 'utf8' | 'bool';
  readonly nullable: boolean;
}

export const CONTINUATION = 0xffffffff;

/**
 * The schema message with `fields` at its end and without the top-level fields named in `removed`. Both are encapsulated,
 * as in a stream or under Parquet's ARROW:schema: a continuation marker (which old writers leave out), the length, the
 * FlatBuffer, padding to 8 bytes.
 */
export function extendSchemaMessage(
  message: Uint8Array,
  fields: readonly NewField[],
  removed: readonly string[] = [],
): Uint8Array {
  const place = 'the Arrow schema message';
  if (message.length < 8) throw new InputError(`${place} is cut off: has ${message.length} bytes, expected 8 or more`);
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const prefix = view.getUint32(0, true) === CONTINUATION ? 8 : 4;
  const length = view.getUint32(prefix - 4, true);
  if (length > message.length - prefix)
    throw new InputError(`${place} is cut off: has ${message.length - prefix} bytes of ${length}`);
  const flat = new FlatBuffer(message.subarray(prefix, prefix + length), place);
  return encapsulate(extendSchemaFlatBuffer(flat, fields, removed), 8);
}

/** The same for the bare FlatBuffer of a schema message. */
export function extendSchemaFlatBuffer(
  flat: FlatBuffer,
  fields: readonly NewField[],
  removed: readonly string[],
): Uint8Array {
  const root = flat.root();
  const schema = root.table(MessageSlot.header);
  if (root.uint8(MessageSlot.headerType) !== HeaderType.schema || schema === null)
    throw flat.malformed('it holds no schema');
  refuseUnknownSlots(root, MessageSlot);
  const extended = table(
    int16(root.int16(MessageSlot.version)),
    int8(HeaderType.schema),
    offset(extendedSchema(schema, fields, removed)),
    int64(0),
    kept(root.target(MessageSlot.customMetadata)),
  );
  return serialize(extended, flat.bytes);
}

/** A Schema table over the fields of an old one. */
export function extendedSchema(schema: FlatTable, fields: readonly NewField[], removed: readonly string[]): FlatNode {
  refuseUnknownSlots(schema, SchemaSlot);
  const entries: FlatNode[] = [];
  for (const position of schema.tablePositions(SchemaSlot.fields)) {
    const name = schema.at(position).text(FieldSlot.name);
    if (!removed.includes(name ?? '')) entries.push(old(position));
  }
  return table(
    int16(schema.int16(SchemaSlot.endianness)),
    offset(offsets([...entries, ...fields.map(newField)])),
    kept(schema.target(SchemaSlot.customMetadata)),
    kept(schema.target(SchemaSlot.features)),
  );
}

/** A Message of a schema that consists of new fields. */
export function newSchemaFlatBuffer(fields: readonly NewField[]): Uint8Array {
  return serialize(table(int16(METADATA_V5), int8(HeaderType.schema), offset(newSchema(fields)), int64(0)));
}

export function newSchema(fields: readonly NewField[]): FlatNode {
  return table(int16(0), offset(offsets(fields.map(newField))));
}

/** A rewritten table must lose nothing: one that a newer Arrow has made larger is not rewritten. */
export function refuseUnknownSlots(found: FlatTable, known: Readonly<Record<string, number>>): void {
  for (let slot = Object.keys(known).length; slot < found.slotCount; slot++) {
    if (found.has(slot))
      throw new InputError(
        `a table of the Arrow metadata has a field number ${slot} of a newer Arrow format, which would be lost in rewriting it`,
      );
  }
}

/** The FlatBuffer of a message with its prefix, padded so that what follows starts at a multiple of `alignment`. */
export function encapsulate(flatBytes: Uint8Array, alignment: number, position = 0): Uint8Array {
  const end = alignUp(position + 8 + flatBytes.length, alignment);
  const message = new Uint8Array(end - position);
  const view = new DataView(message.buffer);
  view.setUint32(0, CONTINUATION, true);
  view.setInt32(4, message.length - 8, true);
  message.set(flatBytes, 8);
  return message;
}

function newField({ name, type, nullable }: NewField): FlatNode {
  const [typeId, typeTable] = TYPES[type];
  return table(offset(text(name)), int8(nullable ? 1 : 0), int8(typeId), offset(typeTable), null, offset(offsets([])));
}

/** Precisions of FloatingPoint. */
const SINGLE = 1;
const DOUBLE = 2;

const TYPES: Readonly<Record<NewField['type'], readonly [TypeId, FlatNode]>> = {
  double: [TypeId.float, table(int16(DOUBLE))],
  float: [TypeId.float, table(int16(SINGLE))],
  int64: [TypeId.int, table(int32(64), int8(1))],
  uint64: [TypeId.int, table(int32(64), int8(0))],
  int32: [TypeId.int, table(int32(32), int8(1))],
  utf8: [TypeId.utf8, table()],
  bool: [TypeId.bool, table()],
};
