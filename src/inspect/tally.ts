/** Counts of sizes and of values as they come, small however many there are. */

/** `from` and `to` both belong to a bin of sizes; `to` does not belong to a bin of values unless it is `from`. */
export interface Bin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** Whole numbers from 1: rows of a rollout, rollouts of a group. */
export class SizeTally {
  readonly #counts = new Map<number, number>();
  count = 0;
  total = 0;

  add(size: number): void {
    this.#counts.set(size, (this.#counts.get(size) ?? 0) + 1);
    this.count++;
    this.total += size;
  }

  countOf(size: number): number {
    return this.#counts.get(size) ?? 0;
  }

  /** Each size by itself, or 1, 2, 3 to 4, 5 to 8 and so on where there are more sizes than `most`. */
  bins(most: number): Bin[] {
    const sizes = [...this.#counts].sort(([a], [b]) => a - b);
    if (sizes.length <= most) return sizes.map(([size, count]) => ({ from: size, to: size, count }));
    const counts = new Map<number, number>();
    for (const [size, count] of sizes) {
      const power = Math.ceil(Math.log2(size));
      counts.set(power, (counts.get(power) ?? 0) + count);
    }
    return [...counts].map(([power, count]) => ({ from: Math.floor(2 ** (power - 1)) + 1, to: 2 ** power, count }));
  }

  get smallest(): number {
    return Math.min(...this.#counts.keys());
  }

  get largest(): number {
    return Math.max(...this.#counts.keys());
  }
}

/** Values that are told apart before only their bins are kept. */
const DISTINCT_VALUES = 64;
const BINS = 32;
/** As a power of two, so that no width is 0. */
const SMALLEST_WIDTH = -1000;

/** Finite numbers. Bins are multiples of a power of two, so that they merge when the range grows. */
export class ValueTally {
  count = 0;
  positive = 0;
  smallest = Number.POSITIVE_INFINITY;
  largest = Number.NEGATIVE_INFINITY;
  #sum = 0;
  #distinct: Map<number, number> | null = new Map();
  #width = 0;
  #counts = new Map<number, number>();

  add(value: number): void {
    this.count++;
    this.#sum += value;
    if (value > 0) this.positive++;
    const widened = value < this.smallest || value > this.largest;
    if (value < this.smallest) this.smallest = value;
    if (value > this.largest) this.largest = value;
    if (this.#distinct) this.#addDistinct(value + 0);
    else this.#addToBin(value, 1, widened);
  }

  /** Null: none, or their sum is past binary64. */
  get mean(): number | null {
    return this.count > 0 && Number.isFinite(this.#sum) ? this.#sum / this.count : null;
  }

  /** Values in ascending order and how many there are of each; null: too many to tell apart. */
  get distinct(): [value: number, count: number][] | null {
    return this.#distinct && [...this.#distinct].sort(([a], [b]) => a - b);
  }

  /** Each value by itself, or bins of equal width. */
  bins(most: number): Bin[] {
    const values = this.distinct;
    if (values && values.length <= most) return values.map(([value, count]) => ({ from: value, to: value, count }));
    if (values) this.#widthFor(values);
    const found = values ? binned(values, this.#width) : this.#counts;
    let width = this.#width;
    let counts = new Map(found);
    while (span(counts) > most) {
      counts = halved(counts);
      width *= 2;
    }
    const [low, high] = rangeOf(counts);
    return Array.from({ length: high - low + 1 }, (_, i) => ({
      from: (low + i) * width,
      to: (low + i + 1) * width,
      count: counts.get(low + i) ?? 0,
    }));
  }

  #addDistinct(value: number): void {
    const values = this.#distinct!;
    values.set(value, (values.get(value) ?? 0) + 1);
    if (values.size <= DISTINCT_VALUES) return;
    this.#widthFor([...values]);
    this.#distinct = null;
    for (const [own, count] of values) this.#addToBin(own, count, false);
    this.#widen();
  }

  #widthFor(values: readonly (readonly [number, number])[]): void {
    const range = this.largest / BINS - this.smallest / BINS;
    this.#width = values.length < 2 ? 1 : 2 ** Math.max(SMALLEST_WIDTH, Math.ceil(Math.log2(range)));
  }

  #addToBin(value: number, count: number, widened: boolean): void {
    const bin = Math.floor(value / this.#width);
    this.#counts.set(bin, (this.#counts.get(bin) ?? 0) + count);
    if (widened) this.#widen();
  }

  #widen(): void {
    while (span(this.#counts) > BINS + 1) {
      this.#counts = halved(this.#counts);
      this.#width *= 2;
    }
  }
}

function binned(values: readonly (readonly [number, number])[], width: number): Map<number, number> {
  const counts = new Map<number, number>();
  for (const [value, count] of values) {
    const bin = Math.floor(value / width);
    counts.set(bin, (counts.get(bin) ?? 0) + count);
  }
  return counts;
}

function halved(counts: ReadonlyMap<number, number>): Map<number, number> {
  const wider = new Map<number, number>();
  for (const [bin, count] of counts) {
    const into = Math.floor(bin / 2);
    wider.set(into, (wider.get(into) ?? 0) + count);
  }
  return wider;
}

function rangeOf(counts: ReadonlyMap<number, number>): [low: number, high: number] {
  return [Math.min(...counts.keys()), Math.max(...counts.keys())];
}

function span(counts: ReadonlyMap<number, number>): number {
  const [low, high] = rangeOf(counts);
  return high - low + 1;
}
