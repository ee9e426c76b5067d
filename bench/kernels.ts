/** How near does each kernel come to the speed at which the device moves bytes? */
import { resolveEstimator } from '../src/estimators/estimators.ts';
import { resolvePolicies } from '../src/estimators/policies.ts';
import type { Executor, KernelArray, Workspace } from '../src/kernels/executor.ts';
import { bytesOf } from '../src/kernels/kernel.ts';
import { runProgram } from '../src/kernels/program.ts';
import { gpuExecutor } from '../src/kernels/webgpu/executor.ts';
import type { GpuSession } from '../src/kernels/webgpu/session.ts';
import type { Work } from '../src/kernels/work.ts';
import { planBatch } from '../src/plan/plan.ts';
import { columnsOfBatch } from '../src/samples/batch.ts';
import { packLossMasks } from '../src/samples/loss-masks.ts';
import { copySeconds } from './copy-kernel.ts';
import { generateBatch } from './data.ts';
import type { Measurement, Plan } from './harness.ts';
import { mostRows, placeOf } from './place.ts';

const REPEATS = 5;
const MASK_TOKENS = 512;

interface Timing {
  readonly bytes: number;
  readonly seconds: number[];
}

/** Runs a whole batch with masks a few times and times every kernel alone. */
export async function kernelTimes({ rows: allRows }: Plan, session: GpuSession): Promise<Measurement[]> {
  const found: Measurement[] = [];
  for (const rows of allRows.filter((count) => count <= Math.min(1e6, mostRows(session)))) {
    const timings = new Map<string, Timing>();
    const executor = timed(gpuExecutor(session), session, timings);
    const work = batchWithMasks(rows);
    const output = new Float32Array(rows);
    await runProgram(executor, work, output); // compiles
    timings.clear();
    for (let i = 0; i < REPEATS; i++) await runProgram(executor, work, output);
    for (const [name, { bytes, seconds }] of timings) {
      const sorted = seconds.toSorted((a, b) => a - b);
      const median = sorted[Math.floor(sorted.length / 2)];
      const [min, max] = [sorted[0], sorted[sorted.length - 1]];
      const fractionOfCopy = (await copySeconds(session, bytes)) / median;
      const place = placeOf(session);
      found.push({
        question: 'kernels',
        name: `${name}, ${rows} rows`,
        median,
        min,
        max,
        samples: seconds.length,
        bytes,
        fractionOfCopy,
        place,
      });
    }
  }
  return found;
}

function batchWithMasks(rows: number): Work {
  const { groupIndex, rolloutId, reward } = generateBatch(rows, 'contiguous');
  const mask = new Uint8Array(MASK_TOKENS).map((_, i) => i & 1);
  const lossMask = packLossMasks(Array.from({ length: rows }, (_, row) => mask.subarray(0, (row * 37) % MASK_TOKENS)));
  const columns = columnsOfBatch({ groupIndex, rolloutId, reward, lossMask });
  return { columns, plan: planBatch(columns), estimator: resolveEstimator({}), policies: resolvePolicies({}) };
}

/** An executor that waits for the device before and after every kernel. Filling outputs with the sentinel is part of the time. */
function timed(executor: Executor, session: GpuSession, timings: Map<string, Timing>): Executor {
  const idle = () => session.device.queue.onSubmittedWorkDone();
  const wrap = (workspace: Workspace): Workspace => ({
    input: (type, host) => workspace.input(type, host),
    output: (type, length) => workspace.output(type, length),
    read: (array) => workspace.read(array),
    release: (...arrays) => workspace.release(...arrays),
    close: () => workspace.close(),
    async run(kernel, parameters, itemCount, arrays, bases) {
      // The first run uploads the inputs; outputs are other arrays, so a second one does the same work again.
      await workspace.run(kernel, parameters, itemCount, arrays, bases);
      await idle();
      const started = performance.now();
      await workspace.run(kernel, parameters, itemCount, arrays, bases);
      await idle();
      const seconds = (performance.now() - started) / 1000;
      const used = Object.values(arrays) as (KernelArray | null)[];
      const bytes = used.reduce((sum, array) => sum + (array ? bytesOf(array) : 0), 0);
      const name = `${kernel.name} (${itemCount} items)`;
      const timing = timings.get(name) ?? { bytes, seconds: [] };
      timing.seconds.push(seconds);
      timings.set(name, timing);
    },
  });
  return { ...executor, workspace: (bytes) => wrap(executor.workspace(bytes)) };
}
