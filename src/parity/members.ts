/** The members of a JSON record as texts that are equal where the values are: numbers by their bits, objects by their members. */

const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?(?:\d[\d.eE+-]*|Infinity)|NaN/g;
/** Marks a number that was made text; no string of JSON begins so after it was marked itself. */
const NUMBER = '#';
const TEXT = '$';

/** @throws SyntaxError on what is no JSON object */
export function membersOf(line: string): Map<string, string> {
  const marked = line.replace(STRING_OR_NUMBER, (token) =>
    token[0] === '"' ? `"${TEXT}${token.slice(1)}` : JSON.stringify(NUMBER + normalized(token)),
  );
  const record: unknown = JSON.parse(marked);
  if (typeof record !== 'object' || record === null || Array.isArray(record)) throw new SyntaxError('no object');
  return new Map(Object.entries(record).map(([name, value]) => [name.slice(TEXT.length), canonical(value)]));
}

/** Integers that binary64 does not hold keep their digits. */
function normalized(token: string): string {
  const value = Number(token);
  if (/^-?\d+$/.test(token) && !Number.isSafeInteger(value)) return token;
  return Object.is(value, -0) ? '-0' : String(value);
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(', ')}]`;
  if (typeof value === 'string')
    return value.startsWith(NUMBER) ? value.slice(NUMBER.length) : JSON.stringify(value.slice(TEXT.length));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, own]) => [name.slice(TEXT.length), canonical(own)] as const);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, own]) => `${JSON.stringify(name)}: ${own}`).join(', ')}}`;
}
