/** JSON that a person can read: what fits on a line stays on it. */

const WIDTH = 120;

export function readableJson(value: unknown, indent = ''): string {
  const short = onOneLine(value);
  if (typeof value !== 'object' || value === null || indent.length + short.length <= WIDTH) return short;
  const deeper = `${indent}  `;
  if (Array.isArray(value))
    return `[\n${value.map((entry) => deeper + readableJson(entry, deeper)).join(',\n')}\n${indent}]`;
  const lines = membersOf(value).map(
    ([name, member]) => `${deeper}${JSON.stringify(name)}: ${readableJson(member, deeper)}`,
  );
  return `{\n${lines.join(',\n')}\n${indent}}`;
}

function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{ ${membersOf(value)
    .map(([name, member]) => `${JSON.stringify(name)}: ${onOneLine(member)}`)
    .join(', ')} }`;
}

const membersOf = (value: object) => Object.entries(value).filter(([, member]) => member !== undefined);
