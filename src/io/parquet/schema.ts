/** The schema of a Parquet file: its flat list of elements as a tree, and the leaves that columns are made of. */
import { InputError } from '../../errors.ts';
import { checkType, type ThriftReader, ThriftType } from './thrift.ts';

export const PHYSICAL_TYPES = [
  'boolean',
  'int32',
  'int64',
  'int96',
  'float',
  'double',
  'byte_array',
  'fixed_len_byte_array',
] as const;
export type PhysicalType = (typeof PHYSICAL_TYPES)[number];

const REPETITIONS = ['required', 'optional', 'repeated'] as const;

/** One element as the footer spells it. */
export interface SchemaElement {
  readonly name: string;
  readonly physicalType: PhysicalType | null;
  readonly typeLength: number;
  readonly repetition: (typeof REPETITIONS)[number];
  readonly childCount: number;
  /** What the values mean: `int8`, `string`, `decimal(10, 2)`, `list`; null where nothing is said. */
  readonly annotation: string | null;
}

const CONVERTED_TYPES = [
  'string',
  'map',
  'map_key_value',
  'list',
  'enum',
  'decimal',
  'date',
  'time(ms)',
  'time(us)',
  'timestamp(ms)',
  'timestamp(us)',
  'uint8',
  'uint16',
  'uint32',
  'uint64',
  'int8',
  'int16',
  'int32',
  'int64',
  'json',
  'bson',
  'interval',
];

const PLACE = 'the schema in the footer';

/** Reads one SchemaElement; the reader stands at the struct. */
export function readSchemaElement(reader: ThriftReader): SchemaElement {
  let name = '';
  let type = -1;
  let typeLength = 0;
  let repetition = 0;
  let childCount = 0;
  let converted = -1;
  let scale = 0;
  let precision = 0;
  let logical: string | null = null;
  const integer = (found: number) => {
    checkType(found, ThriftType.i32, PLACE);
    return reader.integer();
  };
  reader.struct((id, found) => {
    if (id === 1) type = integer(found);
    else if (id === 2) typeLength = integer(found);
    else if (id === 3) repetition = integer(found);
    else if (id === 4 && checkType(found, ThriftType.binary, PLACE)) name = reader.text();
    else if (id === 5) childCount = integer(found);
    else if (id === 6) converted = integer(found);
    else if (id === 7) scale = integer(found);
    else if (id === 8) precision = integer(found);
    else if (id === 10 && checkType(found, ThriftType.struct, PLACE)) logical = readLogicalType(reader);
    else return false;
    return true;
  });
  if (type >= PHYSICAL_TYPES.length) throw new InputError(`column ${JSON.stringify(name)} has unknown type ${type}`);
  if (!(repetition in REPETITIONS)) throw new InputError(`${PLACE} is corrupt: repetition type ${repetition}`);
  const old = CONVERTED_TYPES[converted] ?? null;
  return {
    name,
    physicalType: type < 0 ? null : PHYSICAL_TYPES[type],
    typeLength,
    repetition: REPETITIONS[repetition],
    childCount,
    annotation: logical ?? (old === 'decimal' ? `decimal(${precision}, ${scale})` : old),
  };
}

/** Reads the union LogicalType; a member that is not known leaves the meaning open, and says so. */
function readLogicalType(reader: ThriftReader): string {
  let annotation = 'logical type without a member';
  reader.struct((id, found) => {
    checkType(found, ThriftType.struct, PLACE);
    annotation = readLogicalMember(reader, id);
    return true;
  });
  return annotation;
}

const PLAIN_MEMBERS: Readonly<Record<number, string>> = {
  1: 'string',
  2: 'map',
  3: 'list',
  4: 'enum',
  6: 'date',
  11: 'null',
  12: 'json',
  13: 'bson',
  14: 'uuid',
  15: 'float16',
  16: 'variant',
  17: 'geometry',
  18: 'geography',
};
const UNITS: Readonly<Record<number, string>> = { 1: 'ms', 2: 'us', 3: 'ns' };

function readLogicalMember(reader: ThriftReader, member: number): string {
  let first = 0;
  let second = 0;
  let signed = true;
  let unit = '?';
  reader.struct((id, found) => {
    if (member === 5 && id <= 2 && found === ThriftType.i32) {
      if (id === 1) first = reader.integer();
      else second = reader.integer();
    } else if ((member === 7 || member === 8) && id === 2 && found === ThriftType.struct) {
      reader.struct((unitId) => {
        unit = UNITS[unitId] ?? '?';
        return false;
      });
    } else if (member === 10 && id === 1 && found === ThriftType.byte) {
      first = reader.bytes[reader.position];
      reader.skip(found);
    } else if (member === 10 && id === 2 && (found === ThriftType.true || found === ThriftType.false)) {
      signed = reader.boolean();
    } else return false;
    return true;
  });
  if (member === 5) return `decimal(${second}, ${first})`;
  if (member === 7) return `time(${unit})`;
  if (member === 8) return `timestamp(${unit})`;
  if (member === 10) return `${signed ? '' : 'u'}int${first}`;
  return PLAIN_MEMBERS[member] ?? `logical type ${member}`;
}

/** A leaf of the schema: one column in every row group. */
export interface SchemaLeaf {
  /** Names as the file spells them, list wrappers included. */
  readonly storedPath: readonly string[];
  /** Names from the root without the inner names of lists. */
  readonly path: readonly string[];
  readonly element: SchemaElement;
  /** `list<int8>` and the like, for messages. */
  readonly type: string;
  readonly maxDefinition: number;
  readonly maxRepetition: number;
  /** Definition level of an entry that is an element of the innermost list, null elements included; 0 outside lists. */
  readonly elementDefinition: number;
  /** Whether a map is around it, whose entries are keys and values. */
  readonly isInMap: boolean;
}

interface Around {
  readonly storedPath: readonly string[];
  readonly path: readonly string[];
  readonly definition: number;
  readonly repetition: number;
  readonly elementDefinition: number;
  readonly isInMap: boolean;
}

const ROOT: Around = {
  storedPath: [],
  path: [],
  definition: 0,
  repetition: 0,
  elementDefinition: 0,
  isInMap: false,
};

/** Groups inside one another; deeper schemas than this are not made for people. */
const DEEPEST = 64;

/** The leaves in the order of the columns. @throws InputError where child counts do not describe one tree */
export function schemaLeaves(elements: readonly SchemaElement[]): SchemaLeaf[] {
  const leaves: SchemaLeaf[] = [];
  if (elements.length === 0) throw new InputError(`${PLACE} is empty`);
  let next = 1;
  const readChildren = (parent: SchemaElement, count: number, around: Around, wrapper: Wrapper): void => {
    if (around.storedPath.length > DEEPEST) throw new InputError(`${PLACE} is nested more than ${DEEPEST} deep`);
    for (let i = 0; i < count; i++) {
      if (next >= elements.length) throw new InputError(`${PLACE} is corrupt: fewer elements than children`);
      const element = elements[next++];
      const inside = stepInto(element, around, wrapper);
      if (element.physicalType === null) {
        if (element.childCount < 0) throw new InputError(`${PLACE} is corrupt: ${element.childCount} children`);
        readChildren(element, element.childCount, inside, wrapperOf(element, wrapper, elements[next]));
      } else {
        if (element.childCount > 0)
          throw new InputError(`${PLACE} is corrupt: ${parent.name} has a leaf with children`);
        leaves.push(makeLeaf(element, inside));
      }
    }
  };
  readChildren(elements[0], elements[0].childCount, ROOT, 'none');
  if (next !== elements.length)
    throw new InputError(`${PLACE} is corrupt: ${elements.length - next} elements too many`);
  return leaves;
}

/** What the children of a group are named for: nothing, a repeated wrapper inside a list, an element inside it. */
type Wrapper = 'none' | 'repeated' | 'element';

function wrapperOf(group: SchemaElement, own: Wrapper, firstChild: SchemaElement | undefined): Wrapper {
  if (own === 'repeated') return isElementItself(group) ? 'none' : 'element';
  const isCollection =
    group.annotation === 'list' || group.annotation === 'map' || group.annotation === 'map_key_value';
  if (isCollection && group.childCount === 1 && firstChild?.repetition === 'repeated') return 'repeated';
  return 'none';
}

/** The format's rules for old two-level lists: such a repeated group is the element and not a wrapper around it. */
function isElementItself(repeated: SchemaElement): boolean {
  return repeated.childCount !== 1 || repeated.name === 'array' || repeated.name.endsWith('_tuple');
}

function stepInto(element: SchemaElement, around: Around, wrapper: Wrapper): Around {
  const definition = around.definition + (element.repetition === 'required' ? 0 : 1);
  const isRepeated = element.repetition === 'repeated';
  const isMap = element.annotation === 'map' || element.annotation === 'map_key_value';
  // The key and value of a map keep their names, so that they can be told apart.
  const isNamed = wrapper === 'none' || (wrapper === 'element' && around.isInMap);
  return {
    storedPath: [...around.storedPath, element.name],
    path: isNamed ? [...around.path, element.name] : around.path,
    definition,
    repetition: around.repetition + (isRepeated ? 1 : 0),
    elementDefinition: isRepeated ? definition : around.elementDefinition,
    isInMap: around.isInMap || isMap,
  };
}

function makeLeaf(element: SchemaElement, inside: Around): SchemaLeaf {
  const scalar = scalarType(element);
  const lists = inside.repetition;
  return {
    storedPath: inside.storedPath,
    path: inside.path,
    element,
    type: inside.isInMap ? `map entry ${scalar}` : `${'list<'.repeat(lists)}${scalar}${'>'.repeat(lists)}`,
    maxDefinition: inside.definition,
    maxRepetition: inside.repetition,
    elementDefinition: inside.elementDefinition,
    isInMap: inside.isInMap,
  };
}

function scalarType(element: SchemaElement): string {
  if (element.annotation !== null) return element.annotation;
  if (element.physicalType === 'byte_array') return 'binary';
  if (element.physicalType === 'fixed_len_byte_array') return `fixed_len_byte_array(${element.typeLength})`;
  return element.physicalType ?? 'group';
}
