/** Takes the wanted values out of a sample. */
import type { VectorRequest } from '../vectors.ts';
import type { ArrayReader } from './arrays.ts';
import type { ByteWindow } from './byte-window.ts';
import { lookUp } from './containers.ts';
import { scalarOf } from './elements.ts';
import { readText } from './texts.ts';
import {
  ArrayValue,
  DictValue,
  FloatValue,
  ListValue,
  type MaskCounts,
  Node,
  NumpyScalarValue,
  ObjectValue,
  type PickleValue,
  TextValue,
  typeNameOf,
} from './values.ts';

/** A value of a sample. */
export type Value =
  | { readonly kind: 'absent' }
  | { readonly kind: 'null' }
  | { readonly kind: 'boolean'; readonly value: boolean }
  /** Exact: a bigint past 2^53 - 1. */
  | { readonly kind: 'integer'; readonly value: number | bigint }
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'text'; readonly value: string }
  | ({ readonly kind: 'mask' } & MaskCounts)
  /** Anything else; with the keys of a dict or the fields of an object, the first of them. */
  | { readonly kind: 'other'; readonly typeName: string; readonly keys: readonly string[] | null };

const ABSENT: Value = { kind: 'absent' };
const NULL: Value = { kind: 'null' };
const TRUE: Value = { kind: 'boolean', value: true };
const FALSE: Value = { kind: 'boolean', value: false };
const MOST_KEYS = 100;
/** Longer ones are of no use in a message. */
const LONGEST_KEY = 256;

export class Extractor {
  readonly #wanted: readonly VectorRequest[];
  readonly #window: ByteWindow;
  readonly #arrays: ArrayReader;

  constructor(wanted: readonly VectorRequest[], window: ByteWindow, arrays: ArrayReader) {
    this.#wanted = wanted;
    this.#window = window;
    this.#arrays = arrays;
  }

  /** By request, the values of a sample; null where it is no dict and no object with fields. */
  extract(sample: PickleValue): Value[] | null {
    const fields = fieldsOf(sample);
    if (!fields) return null;
    return this.#wanted.map(({ path, as }) => {
      const value = this.#find(fields, path);
      if (value === undefined) return ABSENT;
      return as === 'mask' ? this.#mask(value) : this.value(value);
    });
  }

  valueAt(sample: PickleValue, path: readonly string[]): Value {
    const value = this.#find(sample, path);
    return value === undefined ? ABSENT : this.value(value);
  }

  #find(sample: PickleValue, path: readonly string[]): PickleValue | undefined {
    let value: PickleValue | undefined = sample;
    for (const name of path) {
      const holder = fieldsOf(value);
      value = holder ? lookUp(this.#window, holder, name) : undefined;
      if (value === undefined) return undefined;
    }
    return value;
  }

  #mask(value: PickleValue): Value {
    if (value instanceof ListValue) {
      value.isDelivered = true;
      const { ones, length, invalidEntry, invalidFound } = value;
      const invalid = invalidEntry < 0 ? null : { entry: invalidEntry, found: invalidFound };
      return { kind: 'mask', ones, length, invalid };
    }
    if (value instanceof ArrayValue) {
      value.isDelivered = true;
      const counts = this.#arrays.countOnes(value);
      if (counts) return { kind: 'mask', ...counts };
    }
    return this.value(value);
  }

  value(value: PickleValue): Value {
    if (value === null) return NULL;
    if (typeof value === 'boolean') return value ? TRUE : FALSE;
    if (!(value instanceof Node)) return { kind: 'integer', value };
    if (value instanceof FloatValue) return { kind: 'number', value: value.value };
    if (value instanceof TextValue) return { kind: 'text', value: readText(this.#window, value) };
    value.isDelivered = true;
    if (value instanceof ObjectValue && value.text && !value.fields) return this.value(value.text);
    const number = this.#number(value);
    if (number !== undefined && number !== value) return this.value(number);
    return { kind: 'other', typeName: typeNameOf(value), keys: this.#keys(value) };
  }

  #number(value: Node): PickleValue | undefined {
    if (value instanceof NumpyScalarValue) return scalarOf(this.#window, value);
    return value instanceof ArrayValue ? this.#arrays.singleNumber(value) : undefined;
  }

  #keys(value: PickleValue): string[] | null {
    const fields = fieldsOf(value);
    if (!fields) return null;
    const keys = new Set<string>();
    for (let i = 0; i < fields.pairs.length && keys.size < MOST_KEYS; i += 2) {
      const stored = fields.pairs[i];
      if (stored instanceof TextValue && stored.byteLength > LONGEST_KEY) continue;
      const key = this.value(stored);
      keys.add('value' in key ? String(key.value) : key.kind === 'other' ? key.typeName : key.kind);
    }
    return [...keys];
  }
}

function fieldsOf(value: PickleValue | undefined): DictValue | null {
  const fields = value instanceof ObjectValue ? value.fields : value;
  if (!(fields instanceof DictValue)) return null;
  fields.isDelivered = true;
  return fields;
}
