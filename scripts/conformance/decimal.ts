/** A rational as a decimal of a given number of significant digits. */
import type { Rational } from '../../test/support/rational.ts';

/** Rounded half away from zero, in which no exact tie of so many digits occurs but where it is exact; zeros at the end left out. */
export function decimalOf({ numerator, denominator }: Rational, digits: number): string {
  if (numerator === 0n) return '0';
  const sign = numerator < 0n ? '-' : '';
  const magnitude = numerator < 0n ? -numerator : numerator;
  // An estimate that is right or one too small or too large; the quotient's length says which.
  let exponent = magnitude.toString().length - denominator.toString().length;
  let rounded = roundedAt(magnitude, denominator, digits - 1 - exponent);
  while (rounded.toString().length !== digits) {
    exponent += rounded.toString().length > digits ? 1 : -1;
    rounded = roundedAt(magnitude, denominator, digits - 1 - exponent);
  }
  const text = rounded.toString().replace(/0+$/, '');
  if (exponent < -7 || exponent >= digits) {
    const fraction = text.length > 1 ? `.${text.slice(1)}` : '';
    return `${sign}${text[0]}${fraction}e${exponent}`;
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${text}`;
  const whole = text.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  const fraction = text.slice(exponent + 1);
  return sign + whole + (fraction && `.${fraction}`);
}

/** The value of a decimal, exactly. */
export function rationalOf(decimal: string): Rational {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e(-?\d+))?$/.exec(decimal);
  if (!match) throw new RangeError(`'${decimal}' is no decimal`);
  const [, sign, whole, fraction = '', exponent = '0'] = match;
  const numerator = BigInt(`${sign}${whole}${fraction}`);
  const power = Number(exponent) - fraction.length;
  return power >= 0
    ? { numerator: numerator * 10n ** BigInt(power), denominator: 1n }
    : { numerator, denominator: 10n ** BigInt(-power) };
}

/** |value| x 10^places to the nearest integer. */
function roundedAt(numerator: bigint, denominator: bigint, places: number): bigint {
  const [above, below] =
    places >= 0 ? [numerator * 10n ** BigInt(places), denominator] : [numerator, denominator * 10n ** BigInt(-places)];
  return (2n * above + below) / (2n * below);
}
