/** Where the values of flat columns are put, by physical type and meaning. */
import { InputError } from '../../errors.ts';
import type { Presence, Vector } from '../vectors.ts';
import { decodeBooleans } from './boolean-values.ts';
import type { DataPage, DictionaryPage } from './chunk-pages.ts';
import { type ByteWidth, decodeFixed, decodeFixedDictionary, type FixedDictionary, wordsOf } from './fixed-values.ts';
import type { SchemaLeaf } from './schema.ts';
import type { Scratch } from './scratch.ts';
import { TextStore } from './text-values.ts';

/** Takes the present values of pages, close together, and moves them apart where some are absent. */
export interface ValueSink {
  setDictionary(page: DictionaryPage): void;
  decode(page: DataPage, at: number, presentCount: number): void;
  /** Moves the values at [at..at + present ones) to where presence[at..at + count) is 1. */
  spread(presence: Uint8Array, at: number, count: number, presentCount: number): void;
  vector(present: Presence): Vector;
}

/** The sink for a column that `checkReadable` lets pass. */
export function makeSink(leaf: SchemaLeaf, rowCount: number, name: string, scratch: Scratch): ValueSink {
  const { physicalType, annotation, typeLength } = leaf.element;
  const words = (bytes: 4 | 8) => new Int32Array(scratch.take(rowCount, bytes));
  if (annotation === 'null') return new NullSink(name);
  if (physicalType === 'boolean') return new BooleanSink(rowCount, scratch);
  if (physicalType === 'byte_array') return new TextSink(rowCount, name, scratch);
  if (physicalType === 'double') return new WordSink(words(8), 8, (w, present) => numbers(asFloat64(w), present));
  if (physicalType === 'float') return new NarrowFloatSink(rowCount, scratch, 4, float32Of);
  if (annotation === 'float16' && typeLength === 2) return new NarrowFloatSink(rowCount, scratch, 2, float16Of);
  const isUnsigned = annotation?.startsWith('u') ?? false;
  if (physicalType === 'int32') {
    return new WordSink(words(4), 4, (w, present) => ({
      kind: 'integers',
      values: isUnsigned ? new Uint32Array(w.buffer) : w,
      present,
    }));
  }
  return new WordSink(words(8), 8, (w, present) => ({
    kind: 'integers',
    values: isUnsigned ? new BigUint64Array(w.buffer) : new BigInt64Array(w.buffer),
    present,
  }));
}

function numbers(values: Float64Array, present: Presence): Vector {
  return { kind: 'numbers', values, present };
}

function asFloat64(words: Int32Array): Float64Array {
  return new Float64Array(words.buffer, words.byteOffset, words.length / 2);
}

/** Values that stay as their words are in the file. */
class WordSink implements ValueSink {
  readonly #words: Int32Array;
  readonly #width: ByteWidth;
  readonly #make: (words: Int32Array<ArrayBuffer>, present: Presence) => Vector;
  #dictionary: FixedDictionary | null = null;

  constructor(
    words: Int32Array<ArrayBuffer>,
    width: ByteWidth,
    make: (words: Int32Array<ArrayBuffer>, present: Presence) => Vector,
  ) {
    this.#words = words;
    this.#width = width;
    this.#make = make;
  }

  setDictionary(page: DictionaryPage): void {
    this.#dictionary = decodeFixedDictionary(page.values, page.entryCount, this.#width, page.place);
  }

  decode(page: DataPage, at: number, presentCount: number): void {
    decodeFixed(page.encoding, page.values, this.#width, presentCount, this.#dictionary, this.#words, at, page.place);
  }

  spread(presence: Uint8Array, at: number, count: number, presentCount: number): void {
    spreadValues(this.#words, wordsOf(this.#width), presence, at, count, presentCount);
  }

  vector(present: Presence): Vector {
    return this.#make(this.#words as Int32Array<ArrayBuffer>, present);
  }
}

/** binary16 and binary32, widened page by page. */
class NarrowFloatSink implements ValueSink {
  readonly #values: Float64Array;
  readonly #width: 2 | 4;
  readonly #widen: (words: Int32Array<ArrayBuffer>, target: Float64Array, at: number) => void;
  #dictionary: FixedDictionary | null = null;

  constructor(
    rowCount: number,
    scratch: Scratch,
    width: 2 | 4,
    widen: (words: Int32Array<ArrayBuffer>, target: Float64Array, at: number) => void,
  ) {
    this.#values = new Float64Array(scratch.take(rowCount, 8));
    this.#width = width;
    this.#widen = widen;
  }

  setDictionary(page: DictionaryPage): void {
    this.#dictionary = decodeFixedDictionary(page.values, page.entryCount, this.#width, page.place);
  }

  decode(page: DataPage, at: number, presentCount: number): void {
    const words = new Int32Array(presentCount);
    decodeFixed(page.encoding, page.values, this.#width, presentCount, this.#dictionary, words, 0, page.place);
    this.#widen(words, this.#values, at);
  }

  spread(presence: Uint8Array, at: number, count: number, presentCount: number): void {
    const words = new Int32Array(this.#values.buffer);
    spreadValues(words, 2, presence, at, count, presentCount);
  }

  vector(present: Presence): Vector {
    return numbers(this.#values, present);
  }
}

function float32Of(words: Int32Array<ArrayBuffer>, target: Float64Array, at: number): void {
  target.set(new Float32Array(words.buffer, words.byteOffset, words.length), at);
}

function float16Of(words: Int32Array<ArrayBuffer>, target: Float64Array, at: number): void {
  for (let i = 0; i < words.length; i++) {
    const bits = words[i];
    const exponent = (bits >>> 10) & 0x1f;
    const fraction = bits & 0x3ff;
    let value: number;
    if (exponent === 0) value = fraction * 2 ** -24;
    else if (exponent === 31) value = fraction === 0 ? Infinity : NaN;
    else value = (1 + fraction / 1024) * 2 ** (exponent - 15);
    target[at + i] = bits & 0x8000 ? -value : value;
  }
}

class BooleanSink implements ValueSink {
  readonly #values: Uint8Array;

  constructor(rowCount: number, scratch: Scratch) {
    this.#values = new Uint8Array(scratch.take(rowCount, 1));
  }

  setDictionary(page: DictionaryPage): void {
    throw new InputError(`${page.place}: is a dictionary of booleans, which cannot be read`);
  }

  decode(page: DataPage, at: number, presentCount: number): void {
    decodeBooleans(page.encoding, page.values, presentCount, this.#values, at, page.place);
  }

  spread(presence: Uint8Array, at: number, count: number, presentCount: number): void {
    spreadValues(this.#values, 1, presence, at, count, presentCount);
  }

  vector(present: Presence): Vector {
    return { kind: 'booleans', values: this.#values, present };
  }
}

class TextSink implements ValueSink {
  readonly #codes: Int32Array<ArrayBuffer>;
  readonly #store: TextStore;

  constructor(rowCount: number, name: string, scratch: Scratch) {
    this.#codes = new Int32Array(scratch.take(rowCount, 4));
    this.#store = new TextStore(name);
  }

  setDictionary(page: DictionaryPage): void {
    this.#store.setDictionary(page);
  }

  decode(page: DataPage, at: number, presentCount: number): void {
    this.#store.decode(page, presentCount, this.#codes, at);
  }

  spread(presence: Uint8Array, at: number, count: number, presentCount: number): void {
    spreadValues(this.#codes, 1, presence, at, count, presentCount);
  }

  vector(present: Presence): Vector {
    return { kind: 'texts', codes: new Uint32Array(this.#codes.buffer), ...this.#store.texts(), present };
  }
}

/** A column of the null type, which has no values at all. */
class NullSink implements ValueSink {
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  setDictionary(): void {}

  decode(page: DataPage, _at: number, presentCount: number): void {
    if (presentCount > 0) throw new InputError(`${page.place}: ${this.#name} is of the null type but has values`);
  }

  spread(): void {}

  vector(): Vector {
    return { kind: 'nulls' };
  }
}

/** From the last row back, so that nothing is overwritten before it has moved; absent rows become 0. */
function spreadValues(
  words: Int32Array | Uint8Array,
  wordsPerValue: 1 | 2,
  presence: Uint8Array,
  at: number,
  count: number,
  presentCount: number,
): void {
  let from = at + presentCount;
  for (let to = at + count - 1; to >= at && from <= to; to--) {
    const isPresent = presence[to] === 1;
    if (isPresent) from--;
    if (wordsPerValue === 1) {
      words[to] = isPresent ? words[from] : 0;
    } else {
      words[2 * to] = isPresent ? words[2 * from] : 0;
      words[2 * to + 1] = isPresent ? words[2 * from + 1] : 0;
    }
  }
}
