/** The fields of an Arrow schema as a tree, with the places of their nodes and buffers in a record batch. */
import { InputError } from '../../errors.ts';
import { type FlatBuffer, FlatTable } from './flatbuffer-reader.ts';
import { DictionaryEncodingSlot, FieldSlot, OLDEST_METADATA, SchemaSlot, TypeId } from './slots.ts';
import { bufferCount, isView, type TypeParameters, typeParameters } from './types.ts';

export interface ArrowField {
  readonly name: string;
  readonly typeId: TypeId;
  readonly parameters: TypeParameters;
  readonly children: readonly ArrowField[];
  /** The encoding, where a batch holds indices and a dictionary of its own the values. */
  readonly dictionary: FieldDictionary | null;
  /** The first of its entries in a batch's nodes and buffers, counted without the data buffers of view columns. */
  readonly nodeIndex: number;
  readonly bufferIndex: number;
  /** View columns before it: each has a number of data buffers that only the batch knows. */
  readonly viewIndex: number;
}

export interface FieldDictionary {
  /** A 64-bit number as text. */
  readonly id: string;
  readonly indexBits: number;
  readonly indexSigned: boolean;
  /** The values, placed as in a dictionary batch. */
  readonly values: ArrowField;
}

/** Fields that are laid out one after another, with what they fill of a batch. */
export interface ArrowLayout {
  readonly fields: readonly ArrowField[];
  readonly nodeCount: number;
  readonly bufferCount: number;
  readonly viewCount: number;
}

const DEEPEST = 64;
const BIG_ENDIAN = 1;

/** @throws InputError also where no reader should go on: big-endian data, nesting past all use */
export function parseSchema(schema: FlatTable, metadataVersion: number): ArrowLayout {
  if (schema.int16(SchemaSlot.endianness) === BIG_ENDIAN)
    throw new InputError('Arrow data is big-endian, expected little-endian');
  const parser = new SchemaParser(schema.buffer, metadataVersion);
  return parser.layout(schema.tablePositions(SchemaSlot.fields), 0);
}

/** Every dictionary that the fields need, those inside other dictionaries' values included. */
export function dictionariesOf(fields: readonly ArrowField[], found = new Map<string, FieldDictionary>()) {
  for (const { dictionary, children } of fields) {
    if (dictionary !== null) {
      found.set(dictionary.id, dictionary);
      dictionariesOf(dictionary.values.children, found);
    } else dictionariesOf(children, found);
  }
  return found;
}

/** What one field, or the value of one dictionary, fills of a batch. */
export function layoutOf(field: ArrowField, metadataVersion: number): ArrowLayout {
  const counts = { nodeCount: 0, bufferCount: 0, viewCount: 0 };
  const add = ({ typeId, parameters, dictionary, children }: ArrowField) => {
    counts.nodeCount++;
    counts.bufferCount +=
      dictionary === null ? bufferCount(typeId, parameters, metadataVersion === OLDEST_METADATA) : 2;
    if (dictionary !== null) return;
    if (isView(typeId)) counts.viewCount++;
    for (const child of children) add(child);
  };
  add(field);
  return { fields: [field], ...counts };
}

class SchemaParser {
  readonly #buffer: FlatBuffer;
  readonly #isV4: boolean;
  /** Tables may be shared between vectors, so that small bytes could describe a tree without end. */
  #fieldsLeft: number;
  #nodes = 0;
  #buffers = 0;
  #views = 0;

  constructor(buffer: FlatBuffer, metadataVersion: number) {
    this.#buffer = buffer;
    this.#isV4 = metadataVersion === OLDEST_METADATA;
    this.#fieldsLeft = buffer.bytes.length / 8;
  }

  layout(positions: readonly number[], depth: number): ArrowLayout {
    const fields = positions.map((position) => this.#field(position, depth));
    return { fields, nodeCount: this.#nodes, bufferCount: this.#buffers, viewCount: this.#views };
  }

  #field(position: number, depth: number): ArrowField {
    if (depth > DEEPEST) throw new InputError(`the Arrow schema is nested deeper than ${DEEPEST} levels`);
    if (--this.#fieldsLeft < 0) throw this.#buffer.malformed('its schema has more fields than its bytes can hold');
    const field = new FlatTable(this.#buffer, position);
    const encoding = field.table(FieldSlot.dictionary);
    if (encoding === null) return this.#plainField(field, depth);
    const place = { nodeIndex: this.#nodes++, bufferIndex: this.#buffers, viewIndex: this.#views };
    this.#buffers += 2;
    const outer = { nodes: this.#nodes, buffers: this.#buffers, views: this.#views };
    this.#nodes = this.#buffers = this.#views = 0;
    const values = this.#plainField(field, depth);
    this.#nodes = outer.nodes;
    this.#buffers = outer.buffers;
    this.#views = outer.views;
    return { ...values, ...place, dictionary: this.#dictionary(encoding, values) };
  }

  #plainField(field: FlatTable, depth: number): ArrowField {
    const name = field.text(FieldSlot.name) ?? '';
    const typeId = field.uint8(FieldSlot.typeType);
    const type = field.table(FieldSlot.type);
    if (type === null) throw this.#buffer.malformed(`its field ${JSON.stringify(name)} has no type`);
    const parameters = typeParameters(typeId, type, name);
    const place = { nodeIndex: this.#nodes++, bufferIndex: this.#buffers, viewIndex: this.#views };
    this.#buffers += bufferCount(typeId as TypeId, parameters, this.#isV4);
    if (isView(typeId as TypeId)) this.#views++;
    const { fields: children } = this.layout(field.tablePositions(FieldSlot.children), depth + 1);
    const expected = CHILD_COUNTS.get(typeId as TypeId) ?? 0;
    if (expected !== ANY && children.length !== expected)
      throw this.#buffer.malformed(
        `its field ${JSON.stringify(name)} has ${children.length} child fields, expected ${expected}`,
      );
    return { name, typeId: typeId as TypeId, parameters, children, dictionary: null, ...place };
  }

  #dictionary(encoding: FlatTable, values: ArrowField): FieldDictionary {
    const index = encoding.table(DictionaryEncodingSlot.indexType);
    // Without an index type the format's default holds, which is int32.
    const { bits, isSigned } =
      index === null ? { bits: 32, isSigned: true } : typeParameters(TypeId.int, index, values.name);
    return { id: `${encoding.bigInt64(DictionaryEncodingSlot.id)}`, indexBits: bits, indexSigned: isSigned, values };
  }
}

const ANY = -1;
const CHILD_COUNTS = new Map<TypeId, number>([
  [TypeId.list, 1],
  [TypeId.largeList, 1],
  [TypeId.fixedSizeList, 1],
  [TypeId.listView, 1],
  [TypeId.largeListView, 1],
  [TypeId.map, 1],
  [TypeId.runEndEncoded, 2],
  [TypeId.struct, ANY],
  [TypeId.union, ANY],
]);
