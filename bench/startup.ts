/** What does a GPU cost before its first number, and from how many rows on is it worth that? */

import { Crossover } from '../src/crossover.ts';
import { createEngine } from '../src/engine.ts';
import { cpuExecutor } from '../src/kernels/cpu-executor.ts';
import { gpuExecutor } from '../src/kernels/webgpu/executor.ts';
import { GpuSession } from '../src/kernels/webgpu/session.ts';
import { generateBatch } from './data.ts';
import type { Measurement, Subject } from './harness.ts';
import { placeOf } from './place.ts';

export async function* startup(session: GpuSession, adapter: string | undefined): AsyncGenerator<Subject> {
  const place = placeOf(session);
  const open = async () => (await GpuSession.open({ adapter })).close();
  yield { question: 'startup', name: 'open a device', run: open, place };
  const first = async () => {
    const engine = createEngine({ backend: 'webgpu', adapter });
    await engine.normalize(generateBatch(1024, 'contiguous'));
    await engine.close();
  };
  yield { question: 'startup', name: 'open, compile, normalize 1,024 rows', run: first, place };
}

/** The crossover as an engine with `auto` would measure it here. */
export async function crossoverRows(session: GpuSession): Promise<Measurement> {
  const started = performance.now();
  const rows = await new Crossover({}).measure(cpuExecutor(), gpuExecutor(session));
  const seconds = (performance.now() - started) / 1000;
  const note = Number.isFinite(rows)
    ? `crossover at ${Math.ceil(rows)} rows`
    : 'no crossover: this adapter is slower than the CPU for any number of rows';
  return {
    question: 'startup',
    name: 'measure the crossover',
    median: seconds,
    min: seconds,
    max: seconds,
    samples: 1,
    place: placeOf(session),
    note,
  };
}
