/** Typed arrays that grow: a builder does not know its row count beforehand. */

type Growing = Uint32Array | Float64Array;

const FIRST_LENGTH = 1024;

/** Appends numbers to a typed array; growth is by half, so that the peak stays near what is kept. */
export class Growable<T extends Growing> {
  length = 0;
  #array: T;
  readonly #make: (length: number) => T;

  constructor(make: (length: number) => T, firstLength: number = FIRST_LENGTH) {
    this.#make = make;
    this.#array = make(firstLength);
  }

  push(value: number): void {
    if (this.length === this.#array.length) this.#grow();
    this.#array[this.length++] = value;
  }

  /** An entry that was pushed before. */
  get(index: number): number {
    return this.#array[index];
  }

  /** The entries so far, as a view of exactly that length. */
  view(): T {
    return this.#array.subarray(0, this.length) as T;
  }

  #grow(): void {
    const wider = this.#make(Math.ceil(this.#array.length * 1.5));
    wider.set(this.#array);
    this.#array = wider;
  }
}

export const growableU32 = () => new Growable((length) => new Uint32Array(length));
export const growableF64 = (firstLength?: number) => new Growable((length) => new Float64Array(length), firstLength);
