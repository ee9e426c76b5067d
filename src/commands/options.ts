/** Parsers of option values; every refusal says what was expected and what was there. */
import { InvalidArgumentError } from 'commander';

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

export function parseSizes(text: string): number[] {
  return text.split(',').map((part) => parseCount(part.trim()));
}

export function parseList(text: string): string[] {
  return text.split(',').map((part) => part.trim());
}

export function parseEpsilon(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!(Number.isFinite(value) && value >= 0)) throw new InvalidArgumentError('Expected a finite number >= 0.');
  return value;
}

export function parseDdof(text: string): 0 | 1 {
  if (text === '0') return 0;
  if (text === '1') return 1;
  throw new InvalidArgumentError('Expected 0 or 1.');
}

export function parseSeconds(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!(value > 0 && Number.isFinite(value))) throw new InvalidArgumentError('Expected a number of seconds above 0.');
  return value;
}
