/** The browser's WebGPU, whose software adapter says that it is hardware, so that `auto` takes it. */
import type { GpuProvider } from '../../src/kernels/webgpu/gpu-provider.ts';
import { defaultProvider } from '../../src/kernels/webgpu/provider.ts';

export const pretendHardware: GpuProvider = {
  async open() {
    const gpu = await defaultProvider.open();
    const requestAdapter = async () => {
      const adapter = await gpu.requestAdapter();
      if (adapter)
        Object.defineProperty(adapter, 'info', { value: { ...infoOf(adapter.info), isFallbackAdapter: false } });
      return adapter;
    };
    return { requestAdapter } as GPU;
  },
};

/** Its fields are getters of the prototype, which a spread would leave out. */
function infoOf({ vendor, architecture, device, description }: GPUAdapterInfo): object {
  return { vendor, architecture, device, description };
}
