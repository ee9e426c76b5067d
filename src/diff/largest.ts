/** Keeps the largest few of many; of equal ones those that came first. */

interface Entry<T> {
  readonly value: number;
  readonly item: T;
}

export class Largest<T> {
  readonly #count: number;
  readonly #entries: Entry<T>[] = [];
  /** Values up to this one have no place any more. */
  #threshold = Number.NEGATIVE_INFINITY;

  constructor(count: number) {
    this.#count = count;
  }

  /** Whether an item of that value would have a place, so that it is worth making. */
  takes(value: number): boolean {
    return this.#count > 0 && value > this.#threshold;
  }

  offer(value: number, item: T): void {
    if (!this.takes(value)) return;
    this.#entries.push({ value, item });
    // Sorted once in a while, so that a long list costs no more by entry than a short one.
    if (this.#entries.length >= 2 * this.#count + 16) this.#cut();
  }

  /** The largest first. */
  list(): T[] {
    this.#cut();
    return this.#entries.map(({ item }) => item);
  }

  #cut(): void {
    this.#entries.sort((a, b) => (a.value === b.value ? 0 : b.value - a.value));
    if (this.#entries.length > this.#count) this.#entries.length = this.#count;
    if (this.#count > 0 && this.#entries.length === this.#count) this.#threshold = this.#entries[this.#count - 1].value;
  }
}
