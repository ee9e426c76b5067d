/** Interprets the few classes and functions whose meaning is known; every other one stays a name. Nothing is called. */
import { addEntries } from './containers.ts';
import type { Machine } from './machine.ts';
import { readName } from './texts.ts';
import {
  BytesValue,
  DictValue,
  DtypeValue,
  GlobalValue,
  ListValue,
  NumpyArrayValue,
  NumpyScalarValue,
  ObjectValue,
  OpaqueValue,
  type PickleValue,
  StorageValue,
  TensorValue,
  TextValue,
  typeNameOf,
} from './values.ts';

/** Makes a value of the arguments; null where they are not what is expected. */
type Reduction = (machine: Machine, args: readonly PickleValue[]) => PickleValue;

const REDUCTIONS = new Map<string, Reduction>([
  ['torch._utils._rebuild_tensor_v2', (_, args) => tensor(args)],
  ['torch._utils._rebuild_tensor', (_, args) => tensor(args)],
  ['torch._utils._rebuild_parameter', (_, [data]) => (data instanceof TensorValue ? data : null)],
  ['numpy.dtype', dtype],
  ['_codecs.encode', latin1Bytes],
  ...inEither('numpy.core.multiarray.scalar', 'numpy._core.multiarray.scalar', numpyScalar),
  ...inEither('numpy.core.multiarray._reconstruct', 'numpy._core.multiarray._reconstruct', () => new NumpyArrayValue()),
  ...inEither('numpy.core.numeric._frombuffer', 'numpy._core.numeric._frombuffer', (_, [bytes, type, shape]) =>
    filledArray(new NumpyArrayValue(), shape, type, bytes),
  ),
  ...inEither('__builtin__.bytes', 'builtins.bytes', (_, args) => (args.length === 0 ? new BytesValue(0, 0) : null)),
  ...inEither('__builtin__.getattr', 'builtins.getattr', attribute),
  ...inEither('copy_reg._reconstructor', 'copyreg._reconstructor', (_, [type]) => new ObjectValue(classNameOf(type))),
]);
const LONGEST_QUALIFIED_NAME = 1000;
const MOST_DIMENSIONS = 64;
const DICT_CLASSES = ['collections.OrderedDict', 'collections.defaultdict'];

function inEither(name: string, otherName: string, reduction: Reduction): [string, Reduction][] {
  return [
    [name, reduction],
    [otherName, reduction],
  ];
}

/** The result of a call, which is not made. */
export function reduce(machine: Machine, callable: PickleValue, args: PickleValue): PickleValue {
  const items = itemsOf(args);
  if (!items) throw machine.error(`REDUCE needs a tuple of arguments, found ${typeNameOf(args)}`);
  if (callable instanceof GlobalValue) {
    const result = REDUCTIONS.get(callable.fullName)?.(machine, items) ?? null;
    if (result !== null) return result;
  }
  return makeObject(callable, args);
}

/** An object of a class that is not interpreted, but for dicts. */
export function makeObject(callable: PickleValue, args: PickleValue): PickleValue {
  const name = classNameOf(callable);
  const items = itemsOf(args) ?? [];
  const isEmpty = items.length === 0 || name === 'collections.defaultdict';
  if (isEmpty && DICT_CLASSES.includes(name)) return new DictValue(false);
  const [text] = items;
  return new ObjectValue(name, items.length === 1 && text instanceof TextValue ? text : null);
}

function classNameOf(callable: PickleValue): string {
  return callable instanceof GlobalValue ? callable.fullName : typeNameOf(callable);
}

function itemsOf(value: PickleValue): readonly PickleValue[] | null {
  return value instanceof ListValue && value.isTuple ? value.items : null;
}

/** Handles BUILD: what an object is filled with. */
export function build(machine: Machine, target: PickleValue, state: PickleValue): void {
  const items = itemsOf(state);
  if (target instanceof DtypeValue) {
    const order = items?.[1];
    target.isBigEndian = order instanceof TextValue && readName(machine.window, order) === '>';
  } else if (target instanceof NumpyArrayValue) {
    machine.requireChangeable(target);
    if (items) filledArray(target, items[1], items[2], items[4]);
  } else if (target instanceof ObjectValue) {
    machine.requireChangeable(target);
    // Slots come in a second dict.
    for (const fields of items ?? [state]) {
      if (!(fields instanceof DictValue)) continue;
      if (target.fields) addEntries(machine, target.fields, fields.pairs);
      else target.fields = fields;
    }
  }
}

/** What a persistent id stands for: a storage beside the pickle. */
export function persistentValue(machine: Machine, id: PickleValue): PickleValue {
  const [kind, type, key, , count] = itemsOf(id) ?? [];
  const isStorage = kind instanceof TextValue && readName(machine.window, kind) === 'storage';
  const name = key instanceof TextValue ? readName(machine.window, key) : null;
  if (!isStorage || !(type instanceof GlobalValue) || name === null || typeof count !== 'number')
    return new OpaqueValue('persistent object');
  return new StorageValue(type.name, name, count);
}

function tensor([storage, offset, size, stride]: readonly PickleValue[]): TensorValue | null {
  const shape = countsOf(size);
  const strides = countsOf(stride);
  if (!(storage instanceof StorageValue) || !isCount(offset) || shape?.length !== strides?.length) return null;
  return shape && strides && new TensorValue(storage, offset, shape, strides);
}

function isCount(value: PickleValue | undefined): value is number {
  return typeof value === 'number' && value >= 0;
}

function countsOf(value: PickleValue | undefined): readonly number[] | null {
  const items = itemsOf(value ?? null);
  return items && items.length <= MOST_DIMENSIONS && items.every(isCount) ? items : null;
}

function filledArray(
  array: NumpyArrayValue,
  shape: PickleValue | undefined,
  dtype: PickleValue | undefined,
  bytes: PickleValue | undefined,
): NumpyArrayValue {
  array.shape = countsOf(shape) ?? [];
  array.dtype = dtype instanceof DtypeValue ? dtype : null;
  array.bytes = bytes instanceof BytesValue ? bytes : null;
  return array;
}

function numpyScalar(_machine: Machine, [dtype, bytes]: readonly PickleValue[]): NumpyScalarValue | null {
  return dtype instanceof DtypeValue && bytes instanceof BytesValue ? new NumpyScalarValue(dtype, bytes) : null;
}

function dtype(machine: Machine, [code]: readonly PickleValue[]): DtypeValue | null {
  const name = code instanceof TextValue ? readName(machine.window, code) : null;
  return name === null ? null : new DtypeValue(name);
}

/** Protocol 2 has no bytes and spells them as text. */
function latin1Bytes(machine: Machine, [text, encoding]: readonly PickleValue[]): BytesValue | null {
  if (!(text instanceof TextValue && encoding instanceof TextValue)) return null;
  return readName(machine.window, encoding) === 'latin1' ? new BytesValue(text.position, text.byteLength, text) : null;
}

/** A class inside a class, as protocols before 4 spell it. */
function attribute(machine: Machine, [holder, name]: readonly PickleValue[]): GlobalValue | null {
  if (!(holder instanceof GlobalValue && name instanceof TextValue)) return null;
  const text = readName(machine.window, name);
  if (text === null || holder.name.length > LONGEST_QUALIFIED_NAME) return null;
  return new GlobalValue(holder.module, `${holder.name}.${text}`);
}
