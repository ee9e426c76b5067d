/** A result that the GPU did not write is an error: the sentinels under outputs and read-backs are what shows it. */
import { afterEach, describe, expect, test } from 'vitest';
import { BackendError, createEngine, type GpuProvider } from '../../src/index.ts';
import { defaultProvider } from '../../src/kernels/webgpu/provider.ts';
import { shaderText } from '../../src/kernels/webgpu/shader-text.generated.ts';

const texts = shaderText as Record<string, string>;
const originals = { ...texts };
afterEach(() => {
  Object.assign(texts, originals);
});

/** Makes one kernel leave its fourth item out. */
function skipItem(file: string): void {
  const line = '  let at = item - parameters.item_base;\n';
  expect(texts[file]).toContain(line);
  texts[file] = texts[file].replace(line, `${line}  if (item == 3u) { return; }\n`);
}

const batch = {
  groupIndex: Int32Array.from({ length: 40 }, (_, row) => row >> 2),
  reward: Float64Array.from({ length: 40 }, (_, row) => (row * 7) % 5),
  trainableTokens: Uint32Array.from({ length: 40 }, (_, row) => row),
};

describe('an item that a kernel leaves out', () => {
  test.each([
    ['pass-through.wgsl', { estimator: 'raw' }, /left 1 of 40 results unwritten/],
    ['scatter-advantages.wgsl', {}, /left 1 of 40 results unwritten/],
    ['group-deviation.wgsl', {}, /left 1 of 10 results unwritten/],
    ['group-mean.wgsl', { estimator: 'dr_grpo' }, /left 1 of 10 results unwritten/],
    ['select-representative.wgsl', { exclude: ['untrainable'] }, /left 1 of 40 results unwritten/],
  ] as const)('%s is an error', async (file, options, message) => {
    skipItem(file);
    const engine = createEngine({ backend: 'webgpu' });
    const call = engine.normalize(batch, options);
    await expect(call).rejects.toThrow(BackendError);
    await expect(call).rejects.toThrow(message);
    await engine.close();
  });

  test.each(['sum-deviations.wgsl', 'gather-rewards.wgsl', 'normalize.wgsl'])(
    '%s never becomes an advantage',
    async (file) => {
      skipItem(file);
      const engine = createEngine({ backend: 'webgpu' });
      await expect(engine.normalize(batch)).rejects.toThrow();
      await engine.close();
    },
  );
});

test('a copy into the read-back that does nothing is an error', async () => {
  const engine = createEngine({ backend: 'webgpu', provider: withoutResultCopies() });
  await expect(engine.normalize(batch, { estimator: 'raw' })).rejects.toThrow(/left 40 of 40 results unwritten/);
  await engine.close();
});

/** WebGPU whose encoders drop every copy of a whole result into a buffer that the host maps. */
function withoutResultCopies(): GpuProvider {
  const forward = <T extends object>(target: T, replaced: Record<string, unknown>): T =>
    new Proxy(target, {
      get(object, name) {
        if (typeof name === 'string' && Object.hasOwn(replaced, name)) return replaced[name];
        const value = Reflect.get(object, name, object);
        return typeof value === 'function' ? value.bind(object) : value;
      },
    });
  const encoderOf = (encoder: GPUCommandEncoder) =>
    forward(encoder, {
      copyBufferToBuffer(source: GPUBuffer, from: number, target: GPUBuffer, to: number, size: number) {
        const isResult = (target.usage & GPUBufferUsage.MAP_READ) !== 0 && to === 0;
        if (!isResult) encoder.copyBufferToBuffer(source, from, target, to, size);
      },
    });
  return {
    async open(text) {
      const gpu = await defaultProvider.open(text);
      return forward(gpu, {
        async requestAdapter(options: GPURequestAdapterOptions) {
          const adapter = await gpu.requestAdapter(options);
          if (!adapter) return null;
          return forward(adapter, {
            async requestDevice(descriptor: GPUDeviceDescriptor) {
              const device = await adapter.requestDevice(descriptor);
              return forward(device, { createCommandEncoder: () => encoderOf(device.createCommandEncoder()) });
            },
          });
        },
      });
    },
  };
}
