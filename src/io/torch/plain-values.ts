/** Makes plain values of what a torch file says about itself beside its samples. */
import { InputError } from '../../errors.ts';
import type { ByteWindow } from './byte-window.ts';
import { textPairs } from './containers.ts';
import type { Extractor } from './extract.ts';
import { DictValue, ListValue, type PickleValue } from './values.ts';

/** What is no number, text, list or dict is given by the name of its type. */
export type PlainValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly PlainValue[]
  | ReadonlyMap<string, PlainValue>
  | { readonly typeName: string };

const DEEPEST = 32;
const MOST_VALUES = 1 << 22;

export class PlainReader {
  readonly #window: ByteWindow;
  readonly #extractor: Extractor;
  #valuesLeft = MOST_VALUES;

  constructor(window: ByteWindow, extractor: Extractor) {
    this.#window = window;
    this.#extractor = extractor;
  }

  /** Keys that are no text are left out. @throws InputError where the value is too deep or too large */
  read(value: PickleValue, depth = 0): PlainValue {
    if (depth > DEEPEST || --this.#valuesLeft < 0)
      throw new InputError('values beside the samples are too deep or too many');
    if (value instanceof ListValue && value.items) return value.items.map((item) => this.read(item, depth + 1));
    if (value instanceof DictValue) {
      const plain = new Map<string, PlainValue>();
      for (const [key, item] of textPairs(this.#window, value)) plain.set(key, this.read(item, depth + 1));
      return plain;
    }
    const found = this.#extractor.value(value);
    if (found.kind === 'other') return { typeName: found.typeName };
    return 'value' in found ? found.value : null;
  }
}
