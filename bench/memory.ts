/** How many bytes a row does a batch cost, beside the caller's own arrays? Run by itself, in a fresh process. */
import { createEngine } from '../src/engine.ts';
import type { Batch } from '../src/samples/batch.ts';
import { generateBatch } from './data.ts';

const rows = Number(process.argv[2] ?? 1e7);
const kind = process.argv[3] ?? 'integers';
const generated = generateBatch(rows, 'contiguous');
const batch: Batch =
  kind === 'strings'
    ? { ...generated, rolloutId: Array.from(generated.rolloutId, (id) => `rollout-${id}`) }
    : generated;
const before = process.memoryUsage().rss;
const engine = createEngine({ backend: 'cpu' });
const { report } = await engine.normalize(batch);
const bytes = process.resourceUsage().maxRSS * 1024 - before;
process.stdout.write(
  `${rows} rows, ${report.rollouts} rollouts, ids as ${kind}: peak ${Math.round(bytes / rows)} bytes a row over the input's\n`,
);
