/** A call that is ended by its caller: it rejects with the reason, and the engine is as before. */
import { setTimeout } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { createEngine, type Engine } from '../../src/index.ts';
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

test('a device that is lost meanwhile is not taken for the next call', async () => {
  const gpu = new FaultyGpu();
  const engine = createEngine({ backend: 'webgpu', provider: gpu });
  const controller = new AbortController();
  gpu.arm({ point: 'mapAsync', kind: 'never' });
  const call = engine.normalize(batch, { signal: controller.signal });
  while (!gpu.fired) await setTimeout(5);
  controller.abort(reason);
  gpu.devices[0].lose();
  await expect(call).rejects.toBe(reason);
  expect((await engine.normalize(batch)).advantages).toEqual(expected.advantages);
  await engine.close();
});
