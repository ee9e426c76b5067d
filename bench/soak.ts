/** Thousands of calls of mixed sizes on one engine: memory and handles as they go. */
import { createEngine } from '../src/engine.ts';
import type { NormalizeOptions } from '../src/options.ts';
import { generateBatch } from './data.ts';

const CALLS = Number(process.argv[2] ?? 10_000);
const BACKEND = process.argv[3] === 'cpu' ? 'cpu' : 'webgpu';
const LINES = 20;
const SIZES = [2, 7, 64, 300, 1000, 5000, 20_000];
const OPTIONS: readonly NormalizeOptions[] = [
  {},
  { estimator: 'rloo' },
  { siblings: 'max' },
  { weight: 'tokens' },
  { baseline: 'median', scale: 'mad' },
  { scale: 'batch', exclude: ['truncated'] },
];

const engine = createEngine({ backend: BACKEND });
const batches = SIZES.map((rows) => ({
  ...generateBatch(rows, 'contiguous'),
  trainableTokens: Uint32Array.from({ length: rows }, (_, row) => 2 + (row % 9)),
}));
const started = performance.now();
let settled: number | null = null;
let most = 0;
for (let call = 1; call <= CALLS; call++) {
  await engine.normalize(batches[(call * 7) % batches.length], OPTIONS[call % OPTIONS.length]);
  if (call % Math.ceil(CALLS / LINES) !== 0) continue;
  globalThis.gc?.();
  const { rss, arrayBuffers, external } = process.memoryUsage();
  const handles = process.getActiveResourcesInfo().length;
  const mega = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MB`;
  process.stdout.write(
    `${String(call).padStart(6)} calls  resident ${mega(rss)}  array buffers ${mega(arrayBuffers)}  external ${mega(external)}  handles ${handles}  ${((performance.now() - started) / 1000).toFixed(0)} s\n`,
  );
  // The first tenth fills caches and compiles.
  if (call >= CALLS / 10) settled ??= rss;
  most = Math.max(most, rss);
}
await engine.close();
process.stdout.write(
  `resident memory at most ${(most / (settled ?? most)).toFixed(2)} times that after a tenth of the calls\n`,
);
