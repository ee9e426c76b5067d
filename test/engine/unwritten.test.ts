/** A result that the GPU did not write is an error: the sentinels under outputs and read-backs are what shows it. */
import { afterEach, describe, expect, test } from 'vitest';
import { BackendError, createEngine, type GpuProvider, InputError } from '../../src/index.ts';
import { KERNELS } from '../../src/kernels/table.ts';
import { defaultProvider } from '../../src/kernels/webgpu/provider.ts';
import { shaderText } from '../../src/kernels/webgpu/shader-text.generated.ts';
import { runOf } from '../support/kernel-options.ts';

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
    ['round-advantages.wgsl', { estimator: 'raw' }, /left 1 of 40 results unwritten/],
    ['round-advantages.wgsl', {}, /left 1 of 40 results unwritten/],
    ['scatter-advantages.wgsl', {}, /left 1 of 40 results unwritten/],
    ['group-divisor.wgsl', {}, /left 1 of 10 results unwritten/],
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
      await expect(engine.normalize(batch)).rejects.toThrow(BackendError);
      await engine.close();
    },
  );
});

test('a copy into the read-back that does nothing is an error', async () => {
  const engine = createEngine({ backend: 'webgpu', provider: withoutResultCopies() });
  await expect(engine.normalize(batch, { estimator: 'raw' })).rejects.toThrow(/left 40 of 40 results unwritten/);
  await engine.close();
});

/** Rollouts of several pieces, groups of several pieces, masks of several pieces: every kernel of an estimator runs. */
const everyKernel = {
  groupIndex: Int32Array.from({ length: 60 }, (_, row) => Math.floor(row / 20)),
  rolloutId: Int32Array.from({ length: 60 }, (_, row) => Math.floor(row / 4)),
  reward: Float64Array.from({ length: 60 }, (_, row) => (row * 7) % 11),
  lossMask: Array.from({ length: 60 }, (_, row) =>
    Array.from({ length: 100 }, (_, i) => (i % (row + 2) === 0 ? 1 : 0)),
  ),
};

describe('a dispatch that does nothing while all else runs', () => {
  const kernels = Object.values(KERNELS).map(({ name }) => name);

  test.each(kernels)('%s: webgpu is an error that blames the GPU, auto is the CPU with the reason', async (kernel) => {
    const { batch: own, options } = runOf(kernel, everyKernel);
    const expected = await createEngine({ backend: 'cpu' }).normalize(own, options);
    const provider = withoutDispatches(kernel);
    const gpuLimits = { pieceLength: 2 };
    const strict = createEngine({ backend: 'webgpu', provider, gpuLimits });
    await expect(strict.normalize(own, options)).rejects.toThrow(BackendError);
    await strict.close();
    const auto = createEngine({ backend: 'auto', provider, gpuLimits, gpuMinRows: 0 });
    const { advantages, report } = await auto.normalize(own, options);
    expect(report.backend).toBe('cpu');
    expect(report.backend_reason).toMatch(/the GPU/);
    expect(new Uint32Array(advantages.buffer)).toEqual(new Uint32Array(expected.advantages.buffer));
    await auto.close();
  });

  test('input that overflows is still the fault of the input', async () => {
    const engine = createEngine({ backend: 'webgpu' });
    await expect(engine.normalize({ reward: [1e200, -1e200] })).rejects.toThrow(InputError);
    await expect(engine.normalize({ reward: [0, 1e39] }, { estimator: 'dr_grpo' })).rejects.toThrow(InputError);
    await engine.close();
  });
});

test('more submissions than the ledger has slots are all proved', async () => {
  const reward = Float64Array.from({ length: 17_000 }, (_, row) => row);
  const engine = createEngine({ backend: 'webgpu', gpuLimits: { elementsPerDispatch: 1, elementsInFlight: 1000 } });
  const { advantages } = await engine.normalize({ reward }, { estimator: 'raw' });
  expect(Float64Array.from(advantages)).toEqual(reward);
  await engine.close();
});

/** Passes everything on to an object but what is replaced. */
function forward<T extends object>(target: T, replaced: Record<string, unknown>): T {
  return new Proxy(target, {
    get(object, name) {
      if (typeof name === 'string' && Object.hasOwn(replaced, name)) return replaced[name];
      const value = Reflect.get(object, name, object);
      return typeof value === 'function' ? value.bind(object) : value;
    },
  });
}

/** The real WebGPU with other encoders, on an adapter that says it is hardware. */
function withEncoders(encoderOf: (encoder: GPUCommandEncoder) => GPUCommandEncoder): GpuProvider {
  return {
    async open(text) {
      const gpu = await defaultProvider.open(text);
      return forward(gpu, {
        async requestAdapter(options: GPURequestAdapterOptions) {
          const adapter = await gpu.requestAdapter(options);
          if (!adapter) return null;
          return forward(adapter, {
            info: forward(adapter.info, { isFallbackAdapter: false }),
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

/** One kernel's dispatches do nothing; the copies and the marks of their submissions are made all the same. */
function withoutDispatches(kernel: string): GpuProvider {
  return withEncoders((encoder) =>
    forward(encoder, {
      beginComputePass(descriptor: GPUComputePassDescriptor) {
        const pass = encoder.beginComputePass(descriptor);
        return descriptor.label === kernel ? forward(pass, { dispatchWorkgroups() {} }) : pass;
      },
    }),
  );
}

/** WebGPU whose encoders drop every copy of a whole result into a buffer that the host maps. */
function withoutResultCopies(): GpuProvider {
  return withEncoders((encoder) =>
    forward(encoder, {
      copyBufferToBuffer(source: GPUBuffer, from: number, target: GPUBuffer, to: number, size: number) {
        const isResult = (target.usage & GPUBufferUsage.MAP_READ) !== 0 && to === 0;
        if (!isResult) encoder.copyBufferToBuffer(source, from, target, to, size);
      },
    }),
  );
}
