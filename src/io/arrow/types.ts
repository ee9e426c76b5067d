/** Arrow's types: their parameters, their buffers, and how they are spelled in messages. */
import { InputError } from '../../errors.ts';
import type { FlatTable } from './flatbuffer-reader.ts';
import type { ArrowField } from './schema.ts';
import { TypeId } from './slots.ts';

/** The parameters of every type in one shape; what a type does not have is 0, false or empty. */
export interface TypeParameters {
  /** Bits of an integer, a float, a decimal, a date or a time. */
  readonly bits: number;
  readonly isSigned: boolean;
  /** Entries of a fixed_size_list, or bytes of a fixed_size_binary. */
  readonly size: number;
  readonly isDense: boolean;
  /** What stands in brackets or parentheses behind the name. */
  readonly detail: string;
}

const NONE: TypeParameters = { bits: 0, isSigned: false, size: 0, isDense: false, detail: '' };
const UNITS = ['s', 'ms', 'us', 'ns'];
const MILLISECOND = 1;
const INTERVALS = ['months', 'days, milliseconds', 'months, days, nanoseconds'];

/** @throws InputError for a type that this program does not know, or parameters that no type has */
export function typeParameters(typeId: number, type: FlatTable, name: string): TypeParameters {
  const oneOf = <T>(what: string, value: number, known: readonly T[]): T => {
    if (value < 0 || value >= known.length)
      throw new InputError(`Arrow field ${JSON.stringify(name)} has the unknown ${what} ${value}`);
    return known[value];
  };
  const width = (what: string, bits: number, known: readonly number[]) => {
    if (known.includes(bits)) return bits;
    throw new InputError(
      `Arrow field ${JSON.stringify(name)} has ${what} of ${bits} bits, expected ${known.join(', ')}`,
    );
  };
  const size = (value: number) => {
    if (value >= 0) return value;
    throw new InputError(`Arrow field ${JSON.stringify(name)} has the size ${value}`);
  };
  switch (typeId) {
    case TypeId.int:
      return { ...NONE, bits: width('integers', type.int32(0), [8, 16, 32, 64]), isSigned: type.uint8(1) !== 0 };
    case TypeId.float:
      return { ...NONE, bits: oneOf('precision', type.int16(0), [16, 32, 64]) };
    case TypeId.decimal: {
      const bits = width('a decimal', type.int32(2, 128), [32, 64, 128, 256]);
      return { ...NONE, bits, detail: `(${type.int32(0)}, ${type.int32(1)})` };
    }
    case TypeId.date:
      return { ...NONE, bits: oneOf('unit', type.int16(0, MILLISECOND), [32, 64]) };
    case TypeId.time:
      return {
        ...NONE,
        bits: width('a time', type.int32(1, 32), [32, 64]),
        detail: `[${oneOf('unit', type.int16(0, MILLISECOND), UNITS)}]`,
      };
    case TypeId.timestamp: {
      const zone = type.text(1);
      const unit = oneOf('unit', type.int16(0), UNITS);
      return { ...NONE, bits: 64, detail: zone === null ? `[${unit}]` : `[${unit}, ${zone}]` };
    }
    case TypeId.duration:
      return { ...NONE, bits: 64, detail: `[${oneOf('unit', type.int16(0, MILLISECOND), UNITS)}]` };
    case TypeId.interval:
      return { ...NONE, detail: `[${oneOf('unit', type.int16(0), INTERVALS)}]` };
    case TypeId.fixedSizeBinary:
    case TypeId.fixedSizeList:
      return { ...NONE, size: size(type.int32(0)), detail: `[${type.int32(0)}]` };
    case TypeId.union:
      return { ...NONE, isDense: oneOf('union mode', type.int16(0), [false, true]) };
    default:
      if (typeId in NAMES) return NONE;
      throw new InputError(`Arrow field ${JSON.stringify(name)} has the unknown type number ${typeId}`);
  }
}

/** How many buffers a field has of its own, the data buffers of views left out. */
export function bufferCount(typeId: TypeId, { isDense }: TypeParameters, isV4: boolean): number {
  switch (typeId) {
    case TypeId.null:
    case TypeId.runEndEncoded:
      return 0;
    case TypeId.struct:
    case TypeId.fixedSizeList:
      return 1;
    case TypeId.binary:
    case TypeId.utf8:
    case TypeId.largeBinary:
    case TypeId.largeUtf8:
    case TypeId.listView:
    case TypeId.largeListView:
      return 3;
    case TypeId.union:
      // Unions lost their validity bitmap with metadata version 5.
      return (isV4 ? 1 : 0) + (isDense ? 2 : 1);
    default:
      return 2;
  }
}

export function isView(typeId: TypeId): boolean {
  return typeId === TypeId.utf8View || typeId === TypeId.binaryView;
}

export function isList(field: ArrowField): boolean {
  return field.dictionary === null && LISTS.has(field.typeId);
}

/** As Arrow's documentation spells it: `large_list<int8>`. */
export function typeName(field: ArrowField): string {
  const name = plainTypeName(field);
  if (field.dictionary === null) return name;
  const { indexBits, indexSigned } = field.dictionary;
  return `dictionary<values=${name}, indices=${indexSigned ? '' : 'u'}int${indexBits}>`;
}

function plainTypeName({ typeId, parameters, children }: ArrowField): string {
  const { bits, isSigned, isDense, detail } = parameters;
  switch (typeId) {
    case TypeId.int:
      return `${isSigned ? '' : 'u'}int${bits}`;
    case TypeId.float:
    case TypeId.decimal:
    case TypeId.date:
    case TypeId.time:
      return `${NAMES[typeId]}${bits}${detail}`;
    case TypeId.struct:
      return `struct<${children.map((child) => `${child.name}: ${typeName(child)}`).join(', ')}>`;
    case TypeId.union:
      return `${isDense ? 'dense' : 'sparse'}_union<${children.map(typeName).join(', ')}>`;
    case TypeId.map:
      return `map<${children[0].children.map(typeName).join(', ')}>`;
    default:
      if (children.length > 0) return `${NAMES[typeId]}<${children.map(typeName).join(', ')}>${detail}`;
      return `${NAMES[typeId]}${detail}`;
  }
}

/** The type of a list whose entries have the type `inner`. */
export function listTypeName({ typeId, parameters }: ArrowField, inner: string): string {
  return `${NAMES[typeId]}<${inner}>${parameters.detail}`;
}

const LISTS = new Set<TypeId>([
  TypeId.list,
  TypeId.largeList,
  TypeId.fixedSizeList,
  TypeId.listView,
  TypeId.largeListView,
]);

const NAMES: Readonly<Record<TypeId, string>> = {
  [TypeId.null]: 'null',
  [TypeId.int]: 'int',
  [TypeId.float]: 'float',
  [TypeId.binary]: 'binary',
  [TypeId.utf8]: 'utf8',
  [TypeId.bool]: 'bool',
  [TypeId.decimal]: 'decimal',
  [TypeId.date]: 'date',
  [TypeId.time]: 'time',
  [TypeId.timestamp]: 'timestamp',
  [TypeId.interval]: 'interval',
  [TypeId.list]: 'list',
  [TypeId.struct]: 'struct',
  [TypeId.union]: 'union',
  [TypeId.fixedSizeBinary]: 'fixed_size_binary',
  [TypeId.fixedSizeList]: 'fixed_size_list',
  [TypeId.map]: 'map',
  [TypeId.duration]: 'duration',
  [TypeId.largeBinary]: 'large_binary',
  [TypeId.largeUtf8]: 'large_utf8',
  [TypeId.largeList]: 'large_list',
  [TypeId.runEndEncoded]: 'run_end_encoded',
  [TypeId.binaryView]: 'binary_view',
  [TypeId.utf8View]: 'utf8_view',
  [TypeId.listView]: 'list_view',
  [TypeId.largeListView]: 'large_list_view',
};
