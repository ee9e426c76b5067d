/** Parsers of option values; every refusal says what was expected and what was there. */
import { InvalidArgumentError } from 'commander';

/** What a timer can wait. */
const LONGEST_SECONDS = 2_147_483;

const wholeNumber = /^\d+$/;

export function parseCount(text: string): number {
  if (!wholeNumber.test(text) || !Number.isSafeInteger(Number(text)))
    throw new InvalidArgumentError('Expected a whole number >= 0.');
  return Number(text);
}

export function parsePositive(text: string): number {
  const value = parseCount(text);
  if (value === 0) throw new InvalidArgumentError('Expected a whole number >= 1.');
  return value;
}

/** A repeated option adds to what was given before. */
export function parseSizes(text: string, before: readonly number[] = []): number[] {
  return [...before, ...text.split(',').map((part) => parseCount(part.trim()))];
}

export function parseList(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').map((part) => part.trim())];
}

export function parseName(text: string): string {
  if (text === '') throw new InvalidArgumentError('Expected a name.');
  return text;
}

const decimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

function parseDecimal(text: string): number {
  return decimal.test(text) ? Number(text) : Number.NaN;
}

export function parseEpsilon(text: string): number {
  const value = parseDecimal(text);
  if (!(Number.isFinite(value) && value >= 0)) throw new InvalidArgumentError('Expected a finite number >= 0.');
  return value;
}

export function parseDdof(text: string): 0 | 1 {
  if (text === '0') return 0;
  if (text === '1') return 1;
  throw new InvalidArgumentError('Expected 0 or 1.');
}

export function parseSeconds(text: string): number {
  const value = parseDecimal(text);
  if (!(value > 0 && value <= LONGEST_SECONDS))
    throw new InvalidArgumentError(`Expected seconds above 0, at most ${LONGEST_SECONDS}.`);
  return value;
}

/** `a=1,b=0.5`; a name without a weight weighs 1. */
export function parseWeights(
  text: string,
  before: readonly { name: string; weight: number }[] = [],
): { name: string; weight: number }[] {
  const columns = text.split(',').map((part) => {
    const at = part.lastIndexOf('=');
    const name = (at < 0 ? part : part.slice(0, at)).trim();
    const weight = at < 0 ? 1 : parseDecimal(part.slice(at + 1).trim());
    if (name === '' || !Number.isFinite(weight))
      throw new InvalidArgumentError('Expected names with weights: a=1,b=0.5.');
    return { name, weight };
  });
  const all = [...before, ...columns];
  const twice = all.find(({ name }, i) => all.findIndex((other) => other.name === name) !== i);
  if (twice) throw new InvalidArgumentError(`${twice.name} is named twice.`);
  return all;
}

/** A repeated option adds to what was given before; each field is mapped once. */
export function parseMap(text: string, before: readonly string[] = []): string[] {
  const fieldOf = (mapping: string) => mapping.split('=', 1)[0];
  if (before.some((mapping) => fieldOf(mapping) === fieldOf(text)))
    throw new InvalidArgumentError(`${fieldOf(text)} is mapped twice.`);
  return [...before, text];
}

/** `a,b`; a repeated option adds to what was given before. */
export function parseKeys(text: string, before: readonly string[] = []): string[] {
  const keys = text.split(',').map((key) => key.trim());
  if (keys.includes('')) throw new InvalidArgumentError('Expected names: a,b.');
  return [...before, ...keys];
}

export function parseNumbers(text: string, before: readonly number[] = []): number[] {
  const numbers = text.split(',').map((part) => parseDecimal(part.trim()));
  if (!numbers.every(Number.isFinite)) throw new InvalidArgumentError('Expected numbers: 1,0.5.');
  return [...before, ...numbers];
}

export function parseRange(text: string): [number, number] {
  const numbers = parseNumbers(text);
  if (numbers.length !== 2 || numbers[0] > numbers[1])
    throw new InvalidArgumentError('Expected two numbers, the lower one first: -5,5.');
  return [numbers[0], numbers[1]];
}
