/** What a terminal would obey does not reach it. */
import { expect, test } from 'vitest';
import { printable, printableLine } from '../../src/commands/printable.ts';

test('every control but a line feed is escaped, what is none stays', () => {
  for (let code = 0; code < 0x300; code++) {
    const character = String.fromCharCode(code);
    const isControl = (code < 0x20 && code !== 0x0a) || (code >= 0x7f && code < 0xa0);
    const shown = printable(character);
    expect([code, shown === character]).toEqual([code, !isControl]);
    if (isControl) expect(JSON.parse(`"${shown}"`)).toBe(character);
  }
  expect(printable('a\u001b[31m\u009b2J 😀 é\nb')).toBe('a\\u001b[31m\\u009b2J 😀 é\nb');
});

test('on one line nothing begins another', () => {
  expect(printableLine('a\nb\u2028c\u2029\u0085')).toBe('a\\nb\\u2028c\\u2029\\u0085');
});
