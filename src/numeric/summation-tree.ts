/**
 * The order in which values are summed, a function of their number alone.
 *
 * Neighbours are paired, (v0 + v1), (v2 + v3), ...; the sums are paired again until one is left; a last one without a
 * neighbour goes up unchanged. The node at height h and place i therefore covers [i * 2^h, (i + 1) * 2^h): a piece of
 * 2^h values that starts at a multiple of 2^h is a subtree, which is why any cutting gives the same bits.
 */

/** Terms that `sumOfBlock` takes at most; full blocks are subtrees, so that their sums can be added as values are. */
export const BLOCK_LENGTH = 64;

/** The sum of the first `count` terms, which it overwrites; 0 for none. */
export function sumOfBlock(terms: Float64Array, count: number): number {
  if (count === 0) return 0;
  for (let width = count; width > 1; width = (width + 1) >> 1) {
    const pairs = width >> 1;
    for (let i = 0; i < pairs; i++) terms[i] = terms[2 * i] + terms[2 * i + 1];
    if (width % 2 === 1) terms[pairs] = terms[width - 1];
  }
  return terms[0];
}

/** More levels than any array has. */
const LEVELS = 54;

/** Sums values in tree order as they come; one pass, a stack of one partial per level. */
export class TreeAccumulator {
  readonly #partials = new Float64Array(LEVELS);
  #count = 0;

  reset(): void {
    this.#count = 0;
  }

  add(value: number): void {
    let level = 0;
    // A set bit of the count is a finished subtree that waits for its right neighbour.
    for (let waiting = this.#count; waiting % 2 === 1; waiting = (waiting - 1) / 2)
      value = this.#partials[level++] + value;
    this.#partials[level] = value;
    this.#count++;
  }

  /** The sum of what was added; 0 for nothing. */
  total(): number {
    let level = 0;
    let waiting = this.#count;
    if (waiting === 0) return 0;
    for (; waiting % 2 === 0; waiting /= 2) level++;
    let sum = this.#partials[level++];
    for (waiting = (waiting - 1) / 2; waiting > 0; waiting = Math.floor(waiting / 2), level++) {
      if (waiting % 2 === 1) sum = this.#partials[level] + sum;
    }
    return sum;
  }
}
