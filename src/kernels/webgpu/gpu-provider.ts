/** What a caller hands in who has a WebGPU implementation of its own. Names no type that only some compilers know. */

/** The part of `GPU` (of lib.dom or @webgpu/types) by which it is recognized; the rest is as the standard says. */
export interface WebGpu {
  requestAdapter(options?: object): Promise<object | null>;
}

/** The part of WebGPU that rollnorm needs to begin with; tests hand in one that fails. */
export interface GpuProvider {
  /** @param adapterText part of the name of the adapter wanted */
  open(adapterText?: string): Promise<WebGpu>;
}
