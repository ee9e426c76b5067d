/** Seeded numbers: a 32-bit splitmix generator. */

export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  word(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }

  /** A whole number in [0, limit). */
  below(limit: number): number {
    return this.word() % limit;
  }

  /** A number in [0, 1) with all its bits. */
  unit(): number {
    return this.word() / 2 ** 32 + this.word() / 2 ** 64;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)];
  }

  shuffle<T>(items: T[]): void {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [items[i], items[j]] = [items[j], items[i]];
    }
  }
}
