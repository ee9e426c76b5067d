/** A small seeded generator, and the classes of rewards on which arithmetic behaves differently. */

/** Deterministic: the same seed gives the same numbers on every host (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Uniform in [0, 1), 32 bits. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Whole number in [from, to]. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.integer(0, choices.length - 1)];
  }

  /** A new array in random order. */
  shuffled<T>(items: readonly T[]): T[] {
    const order = [...items];
    for (let i = order.length - 1; i > 0; i--) {
      const j = this.integer(0, i);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }
}

/** The rewards of one prompt group. */
export type RewardClass = (random: Random, count: number) => number[];

const each =
  (value: (random: Random) => number): RewardClass =>
  (random, count) =>
    Array.from({ length: count }, () => value(random));

/** Values that stand close to one another, wherever they stand. */
const around =
  (offset: (random: Random) => number, step: (random: Random, base: number) => number): RewardClass =>
  (random, count) => {
    const base = offset(random);
    return Array.from({ length: count }, () => step(random, base));
  };

const decimal = (random: Random) => random.integer(-20, 20) / 10;

/** Classes whose statistics stay inside binary64 and whose advantages stay inside binary32, under every rule. */
export const REWARD_CLASSES = {
  'zero and one': each((random) => random.integer(0, 1)),
  integers: each((random) => random.integer(-10, 10)),
  'decimals in steps of 0.1': each(decimal),
  'uniform binary64': each((random) => random.next() + random.next() * 2 ** -32),
  'mixed magnitudes': each((random) => (random.next() - 0.5) * 10 ** random.integer(-12, 12)),
  'signed zeros and ones': each((random) => random.pick([-0, 0, -0, 0, 1, -1])),
  'repeats that binary32 cannot hold': each((random) => random.pick([0.9, 0.9, 0.9, 0.35, 1 / 3])),
  'values in the subnormal range of binary32': each((random) => (random.next() - 0.5) * 2 ** -130),
  'neighbouring doubles': around(
    (random) => random.pick([0.1, 0.5, 0.9, -1.3, 2, -7]),
    (random, base) => base + random.integer(-3, 3) * ulpOfBinary64(base),
  ),
  'neighbours across a power of two': each((random) => 1 + random.integer(-4, 4) * 2 ** -53),
  'offset 1e6': around(
    () => 1e6,
    (random, base) => base + random.integer(0, 4),
  ),
  'offset 1e6 with decimals': around(
    () => 1e6,
    (random, base) => base + decimal(random),
  ),
  'offset 1e15': around(
    (random) => random.pick([1e15, -1e15]),
    (random, base) => base + random.integer(0, 8) / 8,
  ),
  'one outlier': (random, count) => {
    const rewards = Array.from({ length: count }, () => random.next());
    rewards[random.integer(0, count - 1)] = 1e12;
    return rewards;
  },
  'first reward far from the rest': (random, count) => [
    1e15,
    ...Array.from({ length: count - 1 }, () => random.integer(0, 1)),
  ],
} as const satisfies Record<string, RewardClass>;

/** Their squares vanish in binary64. */
export const subnormals: RewardClass = each((random) => random.integer(-1000, 1000) * 2 ** -1074);

/** Their squares overflow binary64, and they themselves binary32. */
export const huge: RewardClass = each((random) => random.integer(1, 1000) * 1e300);

/** Large, but the squares fit into binary64. */
export const large: RewardClass = each((random) => (random.next() - 0.5) * 10 ** random.integer(100, 150));

/** Distance from a positive or negative double to the next one away from zero. */
export function ulpOfBinary64(value: number): number {
  if (value === 0) return 2 ** -1074;
  const bits = new BigUint64Array(Float64Array.of(Math.abs(value)).buffer);
  bits[0] += 1n;
  return new Float64Array(bits.buffer)[0] - Math.abs(value);
}
