/** What others rely on without reading the code: no Node module where a browser runs, packed files and types that are whole, no work that a file can make quadratic. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scatterBits } from '../src/plan/code-table.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const COMPILER = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
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

describe('the packed files', () => {
  let folder: string;
  let tarball: Buffer;
  let paths: string[];
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'rollnorm-package-'));
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const [packed] = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8' }));
    tarball = readFileSync(join(folder, packed.filename));
    paths = packed.files.map(({ path }: { path: string }) => path);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('are what runs, the shaders, the examples and the documents, and nothing else', () => {
    const expected = [
      /^dist\/src\/.*\.(js|d\.ts)$/,
      /^shaders\/.*\.wgsl$/,
      /^examples\/.*\.jsonl$/,
      /^docs\/.*\.(md|svg)$/,
      /^conformance\/.*\.(md|json)$/,
      /^(LICENSE|README\.md|SECURITY\.md|package\.json)$/,
    ];
    expect(paths.filter((path) => !expected.some((one) => one.test(path)))).toEqual([]);
    for (const needed of [
      'dist/src/index.js',
      'dist/src/index.d.ts',
      'dist/src/main.js',
      'dist/src/io/worker.js',
      'LICENSE',
    ])
      expect(paths).toContain(needed);
  });

  test('hold every document and picture that one of their documents points to', () => {
    const documents = paths.filter((path) => path.endsWith('.md'));
    for (const document of documents) {
      const text = readFileSync(join(root, document), 'utf8');
      for (const [, target] of text.matchAll(/\]\(([^)#:]+\.(?:md|svg))[^):]*\)/g))
        expect(paths, `${document} points to ${target}`).toContain(join(dirname(document), target));
    }
    expect(documents.length).toBeGreaterThan(8);
  });

  test('leave publint nothing to say', async () => {
    const bytes = Uint8Array.from(tarball);
    const { messages, pkg } = await publint({ strict: true, pack: { tarball: bytes.buffer } });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });
});

describe('the types', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'rollnorm-types-'));
    mkdirSync(join(folder, 'node_modules', '@types'), { recursive: true });
    symlinkSync(root, join(folder, 'node_modules', 'rollnorm'));
    for (const needed of ['@types/node', 'undici-types'])
      symlinkSync(join(root, 'node_modules', needed), join(folder, 'node_modules', needed));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(folder, 'use.ts'), USE);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const USE = `import rollnorm from 'rollnorm/package.json' with { type: 'json' };
import { createEngine, type NormalizeOptions } from 'rollnorm';
const options: NormalizeOptions = { estimator: 'grpo', signal: AbortSignal.timeout(1000) };
const { advantages, report } = await createEngine({ backend: 'cpu' }).normalize({ reward: [0, 1] }, options);
const first: number = advantages[0]!;
const version: string = rollnorm.version;
// @ts-expect-error the report is typed
report.nothing;
export { first, version };
`;

  test.each([
    ['in Node', 'nodenext', 'es2023', 'node'],
    ['for a bundler', 'bundler', 'es2023,dom', ''],
  ])('are complete by themselves %s, without those of WebGPU', (_, resolution, lib, types) => {
    const module = resolution === 'bundler' ? 'esnext' : resolution;
    const flags = ['--noEmit', '--strict', '--target', 'es2023', '--module', module, '--moduleResolution', resolution];
    const compiled = spawnSync(
      process.execPath,
      [COMPILER, ...flags, '--resolveJsonModule', '--lib', lib, '--types', types, 'use.ts'],
      { cwd: folder, encoding: 'utf8' },
    );
    expect([compiled.stdout, compiled.status]).toEqual(['', 0]);
  });
});

test('codes that were chosen to collide under known constants do not collide', () => {
  const slots = new Set<number>();
  // Multiples of a power of two are what a table without a key maps to few slots.
  for (let i = 0; i < 4096; i++) slots.add(scatterBits(i << 16) & 0xffff);
  expect(slots.size).toBeGreaterThan(3000);
});
