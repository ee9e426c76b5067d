/** The memo of a pickle, of which only what may still be asked for is kept. */
import { InputError } from '../../errors.ts';
import type { PickleValue } from './values.ts';

/** A value was asked for that has been dropped: the pickle must be read again, keeping what is asked for. */
export class ForgottenValue extends Error {}

/**
 * Picklers memoize every string, list and dict, and ask for few of them again, mostly soon. Values live for one to two
 * periods after they were stored or asked for; or, where the indexes that the pickle asks for are known, those for good.
 */
export class Memo {
  /** What was stored in order in this period and the one before: values under `base`, `base` + 1, ... */
  #young: Stretch = { base: 0, values: [] };
  #old: Stretch = { base: 0, values: [] };
  /** What was stored out of order or asked for in this period and the one before. */
  #youngOthers = new Map<number, PickleValue>();
  #oldOthers = new Map<number, PickleValue>();
  #lasting = new Map<number, PickleValue>();
  readonly #asked: ReadonlySet<number> | null;
  /** The lowest free index while indexes are stored in order. */
  #nextIndex = 0;
  #isInOrder = true;

  /** @param asked the indexes that the pickle asks for, where they are known */
  constructor(asked: ReadonlySet<number> | null) {
    this.#asked = asked;
  }

  /** @param lasts keeps the value for good, as callers do with few */
  store(index: number, value: PickleValue, lasts: boolean): void {
    if (index === this.#nextIndex && this.#isInOrder) {
      this.#nextIndex++;
      if (this.#asked) {
        if (this.#asked.has(index)) this.#lasting.set(index, value);
        return;
      }
      this.#young.values.push(value);
      if (lasts) this.#lasting.set(index, value);
    } else this.#storeOutOfOrder(index, value);
  }

  /** Under the lowest index that is free. @throws InputError where indexes were given before, out of order */
  storeNext(value: PickleValue, lasts: boolean): void {
    if (!this.#isInOrder) throw new InputError('MEMOIZE after memo indexes that are out of order');
    this.store(this.#nextIndex, value, lasts);
  }

  /** undefined: nothing was stored under the index. @throws ForgottenValue */
  get(index: number): PickleValue | undefined {
    let value = within(this.#young, index);
    if (value !== undefined) return value;
    value = this.#lasting.get(index);
    if (value !== undefined) return value;
    value = this.#youngOthers.get(index);
    if (value !== undefined) return value;
    value = this.#oldOthers.get(index);
    if (value === undefined) value = within(this.#old, index);
    if (value !== undefined) this.#youngOthers.set(index, value);
    else if (!this.#asked && this.#old.base > 0 && (index < this.#nextIndex || !this.#isInOrder))
      throw new ForgottenValue();
    return value;
  }

  /** Ends a period. */
  age(): void {
    if (this.#asked) return;
    this.#old = this.#young;
    this.#young = { base: this.#nextIndex, values: [] };
    this.#oldOthers = this.#youngOthers;
    this.#youngOthers = new Map();
  }

  *kept(): Iterable<PickleValue> {
    yield* this.#lasting.values();
    yield* this.#youngOthers.values();
    yield* this.#oldOthers.values();
    yield* this.#young.values;
    yield* this.#old.values;
  }

  /** Takes the place of an earlier value, or leaves a gap, which no pickler does: such values last. */
  #storeOutOfOrder(index: number, value: PickleValue): void {
    if (index > this.#nextIndex) this.#isInOrder = false;
    for (const stretch of [this.#young, this.#old]) {
      if (within(stretch, index) !== undefined) stretch.values[index - stretch.base] = value;
    }
    this.#youngOthers.delete(index);
    this.#oldOthers.delete(index);
    if (!this.#asked || this.#asked.has(index)) this.#lasting.set(index, value);
  }
}

interface Stretch {
  readonly base: number;
  readonly values: PickleValue[];
}

function within({ base, values }: Stretch, index: number): PickleValue | undefined {
  return index >= base && index - base < values.length ? values[index - base] : undefined;
}
