/** A call that is ended by its caller: it rejects with the reason, and the engine is as before. */
import { afterAll, describe, expect, test } from 'vitest';
import { createEngine, type Engine } from '../../src/index.ts';
import { cpuExecutor } from '../../src/kernels/cpu-executor.ts';
import type { Executor } from '../../src/kernels/executor.ts';
import { runProgram } from '../../src/kernels/program.ts';
import { checkOptions } from '../../src/options.ts';
import { adjustBatch, prepareBatch } from '../../src/prepare.ts';
import { columnsOfBatch } from '../../src/samples/batch.ts';
import { bitsOf, callOn, PORTIONS, RULES, TILES } from '../support/cut-batches.ts';
import { FaultyGpu } from '../support/faulty-gpu.ts';

const rows = 40_000;
const batch = {
  groupIndex: Int32Array.from({ length: rows }, (_, row) => row >> 3),
  reward: Float64Array.from({ length: rows }, (_, row) => (row * 7919) % 101),
};
const reason = new Error('enough');

const engines: Record<string, Engine> = {
  'the CPU in tiles': createEngine({ backend: 'cpu', cpuLimits: { tileRows: 64, tileRollouts: 64 } }),
  'a GPU': createEngine({ backend: 'webgpu' }),
  'a GPU in slices': createEngine({ backend: 'webgpu', gpuLimits: { pieceLength: 8, bindingBytes: 4096 } }),
  'auto, which must not fall back': createEngine({ backend: 'auto', gpuMinRows: 0, provider: new FaultyGpu() }),
};
afterAll(async () => {
  for (const engine of Object.values(engines)) await engine.close();
});

const expected = await createEngine({ backend: 'cpu' }).normalize(batch);

describe.each(Object.entries(engines))('on %s', (name, engine) => {
  test('before it begins', async () => {
    await expect(engine.normalize(batch, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  test('in its midst, and the next call is right', async () => {
    const controller = new AbortController();
    const call = engine.normalize(batch, { signal: controller.signal });
    const queued = engine.normalize(batch);
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect((await queued).advantages).toEqual(expected.advantages);
    const { advantages, report } = await engine.normalize(batch);
    expect(advantages).toEqual(expected.advantages);
    expect(report.backend).toBe(name === 'the CPU in tiles' ? 'cpu' : 'webgpu');
    expect(report.warning_codes).not.toContain('backend');
  });

  test('while it waits for its turn, without waiting on', async () => {
    const controller = new AbortController();
    const order: string[] = [];
    const running = engine.normalize(batch).then(() => order.push('the running call'));
    const waiting = engine.normalize(batch, { signal: controller.signal }).catch((error: unknown) => {
      order.push('the waiting call');
      return error;
    });
    controller.abort(reason);
    expect(await waiting).toBe(reason);
    await running;
    expect(order).toEqual(['the waiting call', 'the running call']);
    expect((await engine.normalize(batch)).advantages).toEqual(expected.advantages);
  });

  test('after its end it changes nothing', async () => {
    const controller = new AbortController();
    const { advantages } = await engine.normalize(batch, { signal: controller.signal });
    controller.abort(reason);
    expect(advantages).toEqual(expected.advantages);
  });
});

/** The executor, telling of every kernel that it is about to run. */
function watched(executor: Executor, onRun: () => void): Executor {
  return {
    ...executor,
    workspace(bytes) {
      const workspace = executor.workspace(bytes);
      const run: typeof workspace.run = (...args) => {
        onRun();
        return workspace.run(...args);
      };
      return { ...workspace, run };
    },
  };
}

describe('in the midst of any stage', () => {
  const names = Object.keys(RULES);

  test.each(names)('%s, on the CPU in tiles: at every kernel', async (name) => {
    const { batch: own, options } = RULES[name];
    const prepared = prepareBatch(columnsOfBatch(own), options);
    const settings = checkOptions(options);
    const { columns } = adjustBatch(prepared, settings);
    /** Ends at the kernel of this number, if there are so many; how many were begun. */
    const runUntil = async (last: number) => {
      const controller = new AbortController();
      let begun = 0;
      const executor = watched(cpuExecutor({ tileRollouts: 2, tileRows: 2, pieceLength: 2 }), () => {
        if (++begun === last) controller.abort(reason);
      });
      const work = { columns, plan: prepared.plan, ...settings, signal: controller.signal };
      const ended = await runProgram(executor, work, new Float32Array(columns.rowCount)).catch((error) => error);
      return { begun, ended };
    };
    const { begun: kernels } = await runUntil(Number.POSITIVE_INFINITY);
    // After the last kernel there is nothing left to end.
    for (let last = 1; last < kernels; last++) expect(await runUntil(last)).toEqual({ begun: last, ended: reason });
    expect(kernels).toBeGreaterThan(name === 'raw' ? 0 : 10);
  });

  test.each([
    ['grpo', TILES],
    ['gdpo', TILES],
    ['token weights', TILES],
    ['median and mad', PORTIONS],
  ] as const)('%s, on a GPU: at every submission, and the device is kept', async (name, gpuLimits) => {
    const gpu = new FaultyGpu();
    const engine = createEngine({ backend: 'webgpu', provider: gpu, gpuLimits });
    const right = bitsOf(await callOn(engine, RULES[name]));
    gpu.counts = {};
    await callOn(engine, RULES[name]);
    const submissions = gpu.counts.submit!;
    for (let last = 1; last <= submissions; last++) {
      const controller = new AbortController();
      gpu.counts = {};
      gpu.onHit = (point, count) => {
        if (point === 'submit' && count === last) controller.abort(reason);
      };
      await expect(callOn(engine, RULES[name], { signal: controller.signal })).rejects.toBe(reason);
      if (last % 6 === 1) expect(bitsOf(await callOn(engine, RULES[name]))).toEqual(right);
    }
    expect(submissions).toBeGreaterThan(20);
    await engine.close();
    expect(gpu.devices.map(({ destroyed }) => destroyed)).toEqual([1]);
  });

  test.each(['requestAdapter', 'requestDevice', 'createComputePipelineAsync'] as const)(
    'while a GPU is made ready, at %s',
    async (point) => {
      const gpu = new FaultyGpu();
      const engine = createEngine({ backend: 'webgpu', provider: gpu, gpuLimits: TILES });
      const controller = new AbortController();
      gpu.onHit = (hit) => {
        if (hit === point) controller.abort(reason);
      };
      await expect(callOn(engine, RULES.grpo, { signal: controller.signal })).rejects.toBe(reason);
      expect((await callOn(engine, RULES.grpo)).report.backend).toBe('webgpu');
      await engine.close();
    },
  );
});

test.each([
  ['is lost', 'lost', 1],
  ['no longer answers', 'never', 0],
] as const)('a call that is ended while its device %s leaves a new device to the next', async (_, kind, destroyed) => {
  const gpu = new FaultyGpu();
  const engine = createEngine({ backend: 'webgpu', provider: gpu, gpuLimits: TILES, timeoutMs: 1000 });
  const controller = new AbortController();
  gpu.arm({ point: 'mapAsync', kind, at: 3 });
  gpu.onHit = (point, count) => {
    if (point === 'mapAsync' && count === 3) controller.abort(reason);
  };
  await expect(callOn(engine, RULES.grpo, { signal: controller.signal })).rejects.toBe(reason);
  expect((await callOn(engine, RULES.grpo)).report.backend).toBe('webgpu');
  expect(gpu.devices.map((device) => device.destroyed)).toEqual([destroyed, 0]);
  await engine.close();
});
