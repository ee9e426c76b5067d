/** One WebGPU device per test file, held and destroyed the way Dawn needs it. */
import { afterAll } from 'vitest';

const instances: GPU[] = []; // Dawn aborts the process if the object of create() is collected while a device lives

/** A device of the run's adapter with all its limits; destroyed after the file's last test. */
export async function testDevice(): Promise<GPUDevice> {
  const { create, globals } = await import('webgpu');
  Object.assign(globalThis, globals);
  const gpu = create([]);
  instances.push(gpu);
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw new Error('no WebGPU adapter');
  const device = await adapter.requestDevice({
    requiredLimits: {
      maxStorageBufferBindingSize: adapter.limits.maxStorageBufferBindingSize,
      maxBufferSize: adapter.limits.maxBufferSize,
    },
  });
  afterAll(async () => {
    await device.queue.onSubmittedWorkDone();
    device.destroy();
    if (instances.length === 0) throw new Error('unreachable: keeps the registry in use');
  });
  return device;
}
