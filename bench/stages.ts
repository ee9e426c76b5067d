/** How long do ids, plan, and computation take, on the CPU and on the adapter? */
import { createEngine } from '../src/engine.ts';
import { resolveEstimator } from '../src/estimators/estimators.ts';
import { resolvePolicies } from '../src/estimators/policies.ts';
import { cpuExecutor } from '../src/kernels/cpu-executor.ts';
import type { Executor } from '../src/kernels/executor.ts';
import { runProgram } from '../src/kernels/program.ts';
import { gpuExecutor } from '../src/kernels/webgpu/executor.ts';
import type { GpuSession } from '../src/kernels/webgpu/session.ts';
import type { Work } from '../src/kernels/work.ts';
import { planBatch } from '../src/plan/plan.ts';
import { columnsOfBatch } from '../src/samples/batch.ts';
import { ARRANGEMENTS, generateBatch } from './data.ts';
import type { Plan, Subject } from './harness.ts';
import { mostRows, placeOf } from './place.ts';

export async function* stages(plan: Plan, sessions: readonly GpuSession[]): AsyncGenerator<Subject> {
  for (const rows of plan.rows) {
    for (const arrangement of ARRANGEMENTS) {
      const batch = generateBatch(rows, arrangement);
      const label = `${rows} rows, ${arrangement}`;
      const subject = (stage: string, run: () => unknown, place = 'CPU'): Subject => ({
        ...{ question: 'stages', name: `${stage}, ${label}`, rows, run, place },
      });
      const columns = columnsOfBatch(batch);
      const work: Work = {
        columns,
        plan: planBatch(columns),
        estimator: resolveEstimator({}),
        policies: resolvePolicies({}),
      };
      const output = new Float32Array(rows);
      yield subject('ids', () => columnsOfBatch(batch));
      yield subject('plan', () => planBatch(columns));
      const compute = (executor: Executor) => () => runProgram(executor, work, output);
      yield subject('compute', compute(cpuExecutor()));
      for (const session of sessions) {
        if (rows <= mostRows(session)) yield subject('compute', compute(gpuExecutor(session)), placeOf(session));
      }
      const engine = createEngine({ backend: 'cpu' });
      yield subject('ids to advantages', () => engine.normalize(batch, { output }));
    }
  }
}
