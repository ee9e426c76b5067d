/** Time of a kernel that does nothing but move bytes. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { GpuSession } from '../src/kernels/webgpu/session.ts';

const SHADER = 'bench/shaders/copy.wgsl';
const MOST_WORKGROUPS = 65_535;
const REPEATS = 5;

/** Seconds to read half of `bytes` and write the other half; the best of a few runs. */
export async function copySeconds(session: GpuSession, bytes: number): Promise<number> {
  const { device } = session;
  const half = Math.max(16, Math.min(Math.ceil(bytes / 32) * 16, device.limits.maxStorageBufferBindingSize));
  const scale = bytes / 2 / half;
  const [source, target] = [0, 1].map(() => device.createBuffer({ size: half, usage: GPUBufferUsage.STORAGE }));
  const pipeline = await device.createComputePipelineAsync({
    layout: 'auto',
    compute: { module: device.createShaderModule({ code: readFileSync(shaderPath(), 'utf8') }), entryPoint: 'main' },
  });
  const entries = [source, target].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const bindGroup = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i <= REPEATS; i++) {
    const started = performance.now();
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindGroup);
    pass.dispatchWorkgroups(Math.min(MOST_WORKGROUPS, Math.ceil(half / 16 / 64)));
    pass.end();
    device.queue.submit([encoder.finish()]);
    await device.queue.onSubmittedWorkDone();
    if (i > 0) best = Math.min(best, performance.now() - started);
  }
  source.destroy();
  target.destroy();
  return (best / 1000) * scale;
}

/** The shader lies beside the sources; the built benchmark is two folders further down. */
function shaderPath(): string {
  const here = fileURLToPath(import.meta.url);
  const root = here.includes('/dist/')
    ? here.slice(0, here.lastIndexOf('/dist/'))
    : here.slice(0, here.lastIndexOf('/bench/'));
  return `${root}/${SHADER}`;
}
