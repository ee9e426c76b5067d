/** Numbers and formulas as text. */

/** The shortest decimal that reads back to the same binary64. */
export function spell(value: number | null): string {
  return value === null ? 'none' : String(value + 0);
}

/** For a place in a formula where a sign would be misread. */
export function operand(value: number): string {
  return value < 0 ? `(${spell(value)})` : spell(value);
}

/** `formula = value, remark`: a remark stands after the value, or the value would read as its own. */
export function equation(formula: string, value: number | null, remark: string | null = null): string {
  const told = value === null || formula === spell(value) ? formula : `${formula} = ${spell(value)}`;
  return remark === null ? told : `${told}, ${remark}`;
}

/** Whether a text of a step is an equation, which has the step's value in it. */
export function isEquation(text: string): boolean {
  return /^[(\d.-]/.test(text) && !text.startsWith('0:');
}

export function plural(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

export function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
