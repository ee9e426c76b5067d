/** What others rely on without reading the code: no Node module where a browser runs, no work that a file can make quadratic. */
import { execFileSync } from 'node:child_process';
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

test('the package holds what runs, the shaders and the examples, and nothing else', () => {
  const listed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
  });
  const paths: string[] = JSON.parse(listed)[0].files.map(({ path }: { path: string }) => path);
  const expected =
    /^(dist\/src\/.*\.(js|d\.ts)|shaders\/.*\.wgsl|examples\/.*\.jsonl|LICENSE|README\.md|package\.json)$/;
  expect(paths.filter((path) => !expected.test(path))).toEqual([]);
  for (const needed of [
    'dist/src/index.js',
    'dist/src/index.d.ts',
    'dist/src/main.js',
    'dist/src/io/worker.js',
    'LICENSE',
  ])
    expect(paths).toContain(needed);
});

test('codes that were chosen to collide under known constants do not collide', () => {
  const slots = new Set<number>();
  // Multiples of a power of two are what a table without a key maps to few slots.
  for (let i = 0; i < 4096; i++) slots.add(scatterBits(i << 16) & 0xffff);
  expect(slots.size).toBeGreaterThan(3000);
});
