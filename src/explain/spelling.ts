/** Numbers and formulas as text. */

/** The shortest decimal that reads back to the same binary64. */
export function spell(value: number | null): string {
  return value === null ? 'none' : String(value + 0);
}

/** For a place in a formula where a sign would be misread. */
export function operand(value: number): string {
  return value < 0 ? `(${spell(value)})` : spell(value);
}

export function plural(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

export function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
