/** Where a WebGPU implementation comes from: the browser's own, or Dawn through the npm package `webgpu`. */
import type { GpuProvider } from './gpu-provider.ts';

/** WebGPU cannot be had here at all; the message says why. */
export class NoWebGpuError extends Error {}

// Dawn ends the process if the object of create() is collected while a device of it lives, so none is ever let go; there
// is one for every adapter text that was asked for.
const instances = new Map<string, GPU>();

export const defaultProvider = {
  async open(adapterText?: string): Promise<GPU> {
    const own = globalThis.navigator?.gpu;
    if (own) return own;
    const { create, globals } = await loadDawn();
    for (const [name, value] of Object.entries(globals)) (globalThis as Record<string, unknown>)[name] ??= value;
    const options = adapterText === undefined ? [] : [`adapter=${adapterText}`];
    const key = options.join();
    const gpu = instances.get(key) ?? create(options);
    instances.set(key, gpu);
    return gpu;
  },
} satisfies GpuProvider;

async function loadDawn(): Promise<{ create(options: string[]): GPU; globals: object }> {
  // Only browsers know this, and to them a package of Node is nothing.
  if (globalThis.isSecureContext === false)
    throw new NoWebGpuError('this page is not a secure context (https, or localhost), so it has no WebGPU');
  if (globalThis.isSecureContext) throw new NoWebGpuError('this browser has no WebGPU (navigator.gpu is not there)');
  // A variable keeps bundlers from pulling a Node package into a page.
  const packageName = 'webgpu';
  try {
    return await import(/* @vite-ignore */ /* webpackIgnore: true */ packageName);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
    throw new NoWebGpuError(`the npm package webgpu does not load: ${reason}`);
  }
}
