/** What others rely on without reading the code: no Node module where a browser runs, no work that a file can make quadratic. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { scatterBits } from '../src/plan/code-table.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const IMPORT = /(?:from|import)\s*\(?\s*'([^']+)'/g;

/** Every module that the library's entry reaches, with what it imports from outside. */
function importsFrom(entry: string, seen = new Map<string, string[]>()): Map<string, string[]> {
  if (seen.has(entry)) return seen;
  const names = [...readFileSync(entry, 'utf8').matchAll(IMPORT)].map(([, name]) => name);
  seen.set(
    entry,
    names.filter((name) => !name.startsWith('.')),
  );
  for (const name of names) if (name.startsWith('.')) importsFrom(join(dirname(entry), name), seen);
  return seen;
}

test('the library reaches no module from outside, so a browser can load it', () => {
  const modules = importsFrom(join(root, 'src', 'index.ts'));
  expect(modules.size).toBeGreaterThan(40);
  for (const [path, names] of modules) expect({ path, names }).toEqual({ path, names: [] });
});

test('codes that were chosen to collide under known constants do not collide', () => {
  const slots = new Set<number>();
  // Multiples of a power of two are what a table without a key maps to few slots.
  for (let i = 0; i < 4096; i++) slots.add(scatterBits(i << 16) & 0xffff);
  expect(slots.size).toBeGreaterThan(3000);
});
