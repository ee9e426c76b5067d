/** Rational numbers in exact arithmetic; what a number of binary64 is as one, and one rounded to binary32. */

/** numerator / denominator, the denominator positive; not reduced. */
export interface Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

export const ZERO: Rational = { numerator: 0n, denominator: 1n };

/** The exact value of a finite binary64 (or binary32) number. */
export function exactly(value: number): Rational {
  if (value === 0) return ZERO;
  const { mantissa, exponent } = decompose(value);
  return scaled({ numerator: mantissa, denominator: 1n }, exponent);
}

/** Rounded once to binary32: nearest, ties to even; subnormals; an infinity past the largest. */
export function roundToBinary32(exact: Rational): number {
  if (exact.numerator === 0n) return 0;
  const quantum = Math.max(exponentOf(exact) - 23, -149);
  const { numerator, denominator } = scaled(magnitude(exact), -quantum);
  const floor = numerator / denominator;
  const twiceRest = 2n * (numerator % denominator);
  const up = twiceRest > denominator || (twiceRest === denominator && floor % 2n === 1n);
  const rounded = Number(up ? floor + 1n : floor) * 2 ** quantum;
  const limited = rounded >= 2 ** 128 ? Number.POSITIVE_INFINITY : rounded;
  return (exact.numerator < 0n ? -limited : limited) + 0;
}

/** 1 ULP of binary32 at a value: the distance of its neighbours in the value's binade, 2^-149 at the least. */
export function ulpOfBinary32(exact: Rational): Rational {
  const quantum = exact.numerator === 0n ? -149 : Math.max(exponentOf(exact) - 23, -149);
  return scaled({ numerator: 1n, denominator: 1n }, quantum);
}

/** value = mantissa * 2^exponent. */
export function decompose(value: number): { mantissa: bigint; exponent: number } {
  if (!Number.isFinite(value)) throw new RangeError(`${value} has no exact value`);
  const bits = new BigUint64Array(Float64Array.of(value).buffer)[0];
  const biased = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & (2n ** 52n - 1n);
  const mantissa = biased === 0 ? fraction : fraction + 2n ** 52n;
  return { mantissa: bits >> 63n === 1n ? -mantissa : mantissa, exponent: Math.max(biased, 1) - 1075 };
}

/** Largest e with 2^e <= |value|. */
export function exponentOf(value: Rational): number {
  const { numerator, denominator } = magnitude(value);
  const guess = bitLength(numerator) - bitLength(denominator);
  return isGreater(scaled({ numerator: 1n, denominator: 1n }, guess), { numerator, denominator }) ? guess - 1 : guess;
}

/** Newton's iteration from above. */
export function integerSquareRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let root = 1n << BigInt(Math.ceil(bitLength(value) / 2));
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

export function scaled({ numerator, denominator }: Rational, powerOfTwo: number): Rational {
  if (powerOfTwo >= 0) return { numerator: numerator << BigInt(powerOfTwo), denominator };
  return { numerator, denominator: denominator << BigInt(-powerOfTwo) };
}

export function plus(a: Rational, b: Rational): Rational {
  if (a.denominator === b.denominator) return { numerator: a.numerator + b.numerator, denominator: a.denominator };
  const numerator = a.numerator * b.denominator + b.numerator * a.denominator;
  return { numerator, denominator: a.denominator * b.denominator };
}

export function minus(a: Rational, b: Rational): Rational {
  return plus(a, times(b, -1n));
}

export function times({ numerator, denominator }: Rational, factor: bigint): Rational {
  return { numerator: numerator * factor, denominator };
}

export function product(a: Rational, b: Rational): Rational {
  return { numerator: a.numerator * b.numerator, denominator: a.denominator * b.denominator };
}

/** @throws RangeError where the divisor is 0 */
export function quotient(a: Rational, b: Rational): Rational {
  if (b.numerator === 0n) throw new RangeError('a divisor is 0');
  const sign = b.numerator < 0n ? -1n : 1n;
  return { numerator: sign * a.numerator * b.denominator, denominator: sign * a.denominator * b.numerator };
}

/** The square root to `bits` significant bits, from below; exact where the value is the square of a rational. */
export function squareRoot({ numerator, denominator }: Rational, bits: number): Rational {
  const square = numerator * denominator;
  const shift = BigInt(Math.max(bits - Math.floor(bitLength(square) / 2) + 1, 0));
  return { numerator: integerSquareRoot(square << (2n * shift)), denominator: denominator << shift };
}

/** The nearest integer in the unit 2^exponent; half way goes up. */
export function integerOf(value: Rational, exponent: number): bigint {
  const { numerator, denominator } = scaled(value, 1 - exponent);
  const twice = numerator / denominator - (numerator % denominator < 0n ? 1n : 0n);
  return (twice + 1n) >> 1n;
}

export function largest(values: readonly Rational[]): Rational {
  return values.map(magnitude).reduce((most, value) => (isGreater(value, most) ? value : most), ZERO);
}

export function magnitude({ numerator, denominator }: Rational): Rational {
  return { numerator: numerator < 0n ? -numerator : numerator, denominator };
}

export function distance(a: Rational, b: Rational): Rational {
  return magnitude(minus(a, b));
}

export function isGreater(a: Rational, b: Rational): boolean {
  if (a.denominator === b.denominator) return a.numerator > b.numerator;
  return a.numerator * b.denominator > b.numerator * a.denominator;
}

/** Bits of a natural number; 0 has none. */
function bitLength(value: bigint): number {
  const digits = value.toString(16);
  return 4 * digits.length - Math.clz32(Number.parseInt(digits[0], 16)) + 28;
}
