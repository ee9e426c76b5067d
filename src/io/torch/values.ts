/** The inert values that a pickle's opcodes build: what they are called and where their bytes lie, never live objects. */

/** Integers are numbers up to 2^53 - 1 in magnitude, else bigints; every other number is a FloatValue. */
export type PickleValue = null | boolean | number | bigint | Node;

const NO_ITEMS: readonly PickleValue[] = [];

/** Base of what can be memoized. */
export abstract class Node {
  /** The last survey of kept values that met this one. */
  surveyed = 0;
  /** Set once a visitor was given this value: it may not change any more. */
  isDelivered = false;
  /** The name for messages. */
  abstract readonly typeName: string;

  /** Calls `visit` with each value below. */
  forEachChild(_visit: (child: PickleValue) => void): void {}
}

export class FloatValue extends Node {
  get typeName(): string {
    return 'float';
  }

  constructor(readonly value: number) {
    super();
  }
}

/** A span of the pickle that holds text (UTF-8, lone surrogates included) or bytes; read when it is asked for. */
export class TextValue extends Node {
  get typeName(): string {
    return 'str';
  }

  /** Decoded, where that has happened. */
  text: string | null = null;

  constructor(
    readonly position: number,
    readonly byteLength: number,
  ) {
    super();
  }
}

export class BytesValue extends Node {
  get typeName(): string {
    return 'bytes';
  }

  /** @param latin1 the text whose characters are the bytes, as protocol 2 spells them; null: the span itself */
  constructor(
    readonly position: number,
    readonly byteLength: number,
    readonly latin1: TextValue | null = null,
  ) {
    super();
  }
}

/** A list or a tuple. Plain numbers in long lists are only counted. */
export class ListValue extends Node {
  length = 0;
  ones = 0;
  /** The first entry that is neither 0, 1 nor a boolean, counted from 0, and its text; -1: there is none. */
  invalidEntry = -1;
  invalidFound = '';
  /** All entries, in a list that has not been cut down to its counts. */
  items: readonly PickleValue[] | null = NO_ITEMS;
  /** Its entries are handed out as samples as they come. */
  isStreamed = false;
  readonly isTuple: boolean;

  constructor(isTuple = false) {
    super();
    this.isTuple = isTuple;
  }

  get typeName(): string {
    return this.isTuple ? 'tuple' : 'list';
  }

  override forEachChild(visit: (child: PickleValue) => void): void {
    this.items?.forEach(visit);
  }
}

export class DictValue extends Node {
  /** Keys and values in turn, as they were set; of equal keys the last counts. */
  pairs: readonly PickleValue[] = NO_ITEMS;
  /** Of a large dict, made when it is first asked for. */
  byText: Map<string, PickleValue> | null = null;

  /** @param isPlain false: made by calling a class, which can still be followed by more of its state */
  constructor(readonly isPlain = true) {
    super();
  }

  get typeName(): string {
    return 'dict';
  }

  override forEachChild(visit: (child: PickleValue) => void): void {
    this.pairs.forEach(visit);
  }
}

/** The name of a class or function. */
export class GlobalValue extends Node {
  constructor(
    readonly module: string,
    readonly name: string,
  ) {
    super();
  }

  get typeName(): string {
    return `the class or function ${this.fullName}`;
  }

  get fullName(): string {
    return `${this.module}.${this.name}`;
  }
}

/** An object of a class that is not interpreted: its class's name, its fields where it has a dict of them. */
export class ObjectValue extends Node {
  fields: DictValue | null = null;

  /** @param text the only argument of its making, as a member of a text enum has it */
  constructor(
    readonly className: string,
    readonly text: TextValue | null = null,
  ) {
    super();
  }

  get typeName(): string {
    return `object of ${this.className}`;
  }

  override forEachChild(visit: (child: PickleValue) => void): void {
    visit(this.text);
    visit(this.fields);
  }
}

/** Something of which only the name is known. */
export class OpaqueValue extends Node {
  constructor(readonly typeName: string) {
    super();
  }
}

/** numpy's description of the elements of an array. */
export class DtypeValue extends Node {
  get typeName(): string {
    return 'numpy.dtype';
  }

  isBigEndian = false;

  /** @param code kind and width in bytes: `f8` */
  constructor(readonly code: string) {
    super();
  }
}

/** A storage of a torch file: an entry `data/<key>` of its archive. */
export class StorageValue extends Node {
  get typeName(): string {
    return 'torch storage';
  }

  constructor(
    readonly elementType: string,
    readonly key: string,
    readonly elementCount: number,
  ) {
    super();
  }
}

export interface MaskCounts {
  readonly ones: number;
  readonly length: number;
  readonly invalid: { readonly entry: number; readonly found: string } | null;
}

/** Numbers in a storage or in the pickle itself. */
export abstract class ArrayValue extends Node {
  abstract readonly shape: readonly number[];
  /** Counted once, however many samples share it. */
  counts: MaskCounts | null = null;
}

export class TensorValue extends ArrayValue {
  /** Offset and strides count elements. */
  constructor(
    readonly storage: StorageValue,
    readonly offset: number,
    readonly shape: readonly number[],
    readonly strides: readonly number[],
  ) {
    super();
  }

  get typeName(): string {
    return `tensor of ${this.storage.elementType}, shape (${this.shape.join(', ')})`;
  }

  override forEachChild(visit: (child: PickleValue) => void): void {
    visit(this.storage);
  }
}

export class NumpyArrayValue extends ArrayValue {
  shape: readonly number[] = [];
  dtype: DtypeValue | null = null;
  bytes: BytesValue | null = null;

  get typeName(): string {
    return `numpy array of ${this.dtype?.code ?? 'objects'}, shape (${this.shape.join(', ')})`;
  }

  override forEachChild(visit: (child: PickleValue) => void): void {
    visit(this.dtype);
    visit(this.bytes);
  }
}

/** A number of numpy, read when it is asked for. */
export class NumpyScalarValue extends Node {
  constructor(
    readonly dtype: DtypeValue,
    readonly bytes: BytesValue,
  ) {
    super();
  }

  get typeName(): string {
    return `numpy scalar of ${this.dtype.code}`;
  }

  override forEachChild(visit: (child: PickleValue) => void): void {
    visit(this.dtype);
    visit(this.bytes);
  }
}

/** How messages call a value. */
export function typeNameOf(value: PickleValue): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'object' ? value.typeName : 'int';
}
