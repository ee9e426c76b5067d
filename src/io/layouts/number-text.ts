/** Rewards that a framework wrote as text: numpy's numbers become strings where a dump does not convert them. */
import { InputError } from '../../errors.ts';

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const SPECIAL: Readonly<Record<string, number>> = {
  nan: Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  '-inf': Number.NEGATIVE_INFINITY,
  infinity: Number.POSITIVE_INFINITY,
  '-infinity': Number.NEGATIVE_INFINITY,
  true: 1,
  false: 0,
};

/** @throws InputError where the text spells no number */
export function numberFromText(field: string, text: string): number {
  const trimmed = text.trim();
  if (NUMBER.test(trimmed)) return Number(trimmed);
  const special = SPECIAL[trimmed.toLowerCase()];
  if (special !== undefined) return special;
  throw new InputError(`${field} must be a number, found ${JSON.stringify(text.slice(0, 40))}`);
}
