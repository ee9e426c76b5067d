/** Fills lists and dicts. */

import type { ByteWindow } from './byte-window.ts';
import { scalarOf } from './elements.ts';
import type { Machine } from './machine.ts';
import { readText } from './texts.ts';
import {
  DictValue,
  FloatValue,
  ListValue,
  NumpyScalarValue,
  ObjectValue,
  OpaqueValue,
  type PickleValue,
  TextValue,
  typeNameOf,
} from './values.ts';

/** Longer lists outside of samples are only counted. */
const MOST_ITEMS = 1 << 20;
const LONGEST_KEY = 1 << 12;
/** Keys and values of a dict that is worth an index. */
const LARGE_DICT = 128;

export function addItems(machine: Machine, target: PickleValue, items: readonly PickleValue[]): void {
  if (target instanceof OpaqueValue || target instanceof ObjectValue) return;
  if (!(target instanceof ListValue)) throw machine.error(`entries are added to a ${typeNameOf(target)}`);
  if (target.isStreamed) {
    machine.samples.append(target, items);
    return;
  }
  machine.requireChangeable(target);
  for (const item of items) countItem(machine, target, item);
  if (target.items) target.items = target.length > MOST_ITEMS ? null : joined(target.items, items);
}

/** Takes over the added array, which no one else keeps, where it is the first. */
function joined(items: readonly PickleValue[], added: readonly PickleValue[]): readonly PickleValue[] {
  if (items.length === 0) return added;
  const all = items as PickleValue[];
  for (const item of added) all.push(item);
  return all;
}

function countItem(machine: Machine, list: ListValue, item: PickleValue): void {
  const value = item instanceof NumpyScalarValue ? scalarOf(machine.window, item) : item;
  const number = value instanceof FloatValue ? value.value : value;
  if (number === 1 || number === true) list.ones++;
  else if (number !== 0 && number !== false && list.invalidEntry < 0) {
    list.invalidEntry = list.length;
    list.invalidFound = describe(machine, value);
  }
  list.length++;
}

function describe(machine: Machine, value: PickleValue): string {
  if (value instanceof FloatValue) return String(value.value);
  if (typeof value === 'number' || typeof value === 'bigint') return String(value).slice(0, 40);
  if (value instanceof TextValue && value.byteLength <= 40) return JSON.stringify(readText(machine.window, value));
  return typeNameOf(value);
}

/** @param items keys and values in turn; of equal keys the last counts */
export function addEntries(machine: Machine, target: PickleValue, items: readonly PickleValue[]): void {
  if (target instanceof OpaqueValue) return;
  // An object of a class that derives from dict.
  if (target instanceof ObjectValue) target.fields ??= new DictValue();
  const dict = target instanceof ObjectValue ? target.fields : target;
  if (!(dict instanceof DictValue)) throw machine.error(`keys are set in a ${typeNameOf(target)}`);
  if (items.length % 2 !== 0) throw machine.error('a key of a dict has no value');
  if (items.length === 0) return;
  machine.requireChangeable(dict);
  dict.pairs = joined(dict.pairs, items);
  dict.byText = null;
}

/** The value under a text; undefined where there is none. */
export function lookUp(window: ByteWindow, dict: DictValue, name: string): PickleValue | undefined {
  const { pairs } = dict;
  if (pairs.length > LARGE_DICT) {
    dict.byText ??= new Map(textPairs(window, dict));
    return dict.byText.get(name);
  }
  for (let i = pairs.length - 2; i >= 0; i -= 2) {
    const key = pairs[i];
    if (key instanceof TextValue && mayBe(key, name) && readText(window, key) === name) return pairs[i + 1];
  }
  return undefined;
}

/** Keys that are text, with their values. */
export function* textPairs(window: ByteWindow, { pairs }: DictValue): Generator<[string, PickleValue]> {
  for (let i = 0; i < pairs.length; i += 2) {
    const key = pairs[i];
    if (key instanceof TextValue && key.byteLength <= LONGEST_KEY) yield [readText(window, key), pairs[i + 1]];
  }
}

/** A character takes one to three bytes. */
function mayBe({ byteLength }: TextValue, name: string): boolean {
  return byteLength >= name.length && byteLength <= 3 * name.length;
}
