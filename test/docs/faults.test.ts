/** Every line of docs/faults.md names tests, and they are there. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface NamedTest {
  readonly file: string;
  readonly title: string;
}

const REFERENCE = /`(test\/[^`]+\.test\.ts)`((?:,? "[^"]+")+)/g;

/** The fault of each line of a table, the tests that its last cell names, and what else is in that cell. */
function linesOf(text: string): { fault: string; tests: NamedTest[]; rest: string }[] {
  const rows = text.split('\n').filter((line) => /^\| (?!fault \||---)/.test(line));
  return rows.map((row) => {
    const [fault, , named = ''] = row.slice(2, -2).split(' | ');
    const tests = [...named.matchAll(REFERENCE)].flatMap(([, file, titles]) =>
      [...titles.matchAll(/"([^"]+)"/g)].map(([, title]) => ({ file, title })),
    );
    return { fault, tests, rest: named.replace(REFERENCE, '').replace(/[; ]/g, '') };
  });
}

/** Whether a test, or a group of them, has this title: as it is written, with its placeholders. */
function isThere({ file, title }: NamedTest): boolean {
  if (!existsSync(root + file)) return false;
  const literal = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`\\(\\s*(['"\`])${literal}\\1,`).test(readFileSync(root + file, 'utf8'));
}

const lines = linesOf(readFileSync(`${root}docs/faults.md`, 'utf8'));

test('every fault has a test, and every test that is named is there', () => {
  expect(lines.length).toBeGreaterThan(40);
  for (const { fault, tests, rest } of lines) {
    expect({ fault, hasTests: tests.length > 0, rest }).toEqual({ fault, hasTests: true, rest: '' });
    expect({ fault, missing: tests.filter((named) => !isThere(named)) }).toEqual({ fault, missing: [] });
  }
});

test('a name that nothing has is noticed', () => {
  const [{ tests }] = linesOf(
    '| a fault | an end | `test/docs/faults.test.ts` "no such title", "a name that nothing has is noticed" |',
  );
  expect(tests.map(isThere)).toEqual([false, true]);
  expect(isThere({ file: 'test/docs/none.test.ts', title: 'any' })).toBe(false);
});
