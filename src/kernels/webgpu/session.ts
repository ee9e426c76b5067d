/** A device with its compiled pipelines, and the rules by which its failures are noticed. */
import { BackendError } from '../../errors.ts';
import type { Kernel } from '../kernel.ts';
import { type AdapterDescription, type FoundAdapter, findAdapter } from './adapters.ts';
import { defaultProvider, type GpuProvider } from './provider.ts';
import { shaderText } from './shader-text.generated.ts';

export const DEFAULT_WORKGROUP_SIZE = 64;
/** How long one wait for the device may take. Work is handed over in portions that the slowest driver does in far less. */
export const DEFAULT_TIMEOUT_MS = 60_000;

export interface SessionOptions {
  readonly adapter?: string | undefined;
  readonly provider?: GpuProvider | undefined;
  readonly timeoutMs?: number | undefined;
  readonly workgroupSize?: number | undefined;
}

interface CompiledKernel {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

export class GpuSession {
  readonly device: GPUDevice;
  readonly adapter: AdapterDescription;
  readonly timeoutMs: number;
  readonly workgroupSize: number;
  readonly #kernels = new Map<string, Promise<CompiledKernel>>();
  #failure: string | null = null;
  #abandoned = false;
  readonly #lost: Promise<never>;

  private constructor(device: GPUDevice, { adapter: _, ...adapter }: FoundAdapter, options: SessionOptions) {
    this.device = device;
    this.adapter = adapter;
    this.timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.workgroupSize = Math.min(
      options.workgroupSize ?? DEFAULT_WORKGROUP_SIZE,
      device.limits.maxComputeInvocationsPerWorkgroup,
    );
    // After a loss Dawn goes on to accept calls and does nothing, so the flag must be ours.
    this.#lost = device.lost.then((info) => {
      this.#failure ??= `the device was lost (${info.reason}${info.message ? `: ${info.message}` : ''})`;
      throw new BackendError(this.#failure);
    });
    this.#lost.catch(() => {});
  }

  /** @throws AdapterError where there is no adapter, BackendError where its device does not open */
  static async open(options: SessionOptions = {}): Promise<GpuSession> {
    const found = await findAdapter(options.adapter, options.provider ?? defaultProvider);
    const { limits } = found.adapter;
    const requiredLimits = {
      maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
      maxBufferSize: limits.maxBufferSize,
    };
    try {
      return new GpuSession(await found.adapter.requestDevice({ requiredLimits }), found, options);
    } catch (error) {
      throw new BackendError(`${found.description}: no device opens: ${messageOf(error)}`, { cause: error });
    }
  }

  /** Why the device can no longer be used; null while it can. */
  get failure(): string | null {
    return this.#failure;
  }

  /** Waits for the device: rejects when it is lost, or gives it up when it does not answer in time. */
  async wait<T>(promise: Promise<T>, what: string): Promise<T> {
    this.requireUsable();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#abandoned = true;
        this.#failure ??= `the device did not answer within ${this.timeoutMs / 1000} s (${what})`;
        reject(new BackendError(this.#failure));
      }, this.timeoutMs);
    });
    promise.catch(() => {}); // it may reject after the race is over
    try {
      return await Promise.race([promise, late, this.#lost]);
    } catch (error) {
      if (error instanceof BackendError) throw error;
      throw new BackendError(`${what}: ${messageOf(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  requireUsable(): void {
    if (this.#failure !== null) throw new BackendError(this.#failure);
  }

  /** Pipeline and bind group layout of a kernel; compiled when it is first needed. */
  compiled(kernel: Kernel): Promise<CompiledKernel> {
    let compiled = this.#kernels.get(kernel.name);
    if (!compiled) {
      compiled = this.#compile(kernel);
      compiled.catch(() => this.#kernels.delete(kernel.name));
      this.#kernels.set(kernel.name, compiled);
    }
    return compiled;
  }

  async #compile(kernel: Kernel): Promise<CompiledKernel> {
    this.requireUsable();
    const code = shaderOf(kernel);
    const module = this.device.createShaderModule({ label: kernel.name, code });
    const entries: GPUBindGroupLayoutEntry[] = [
      { binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: 'uniform', hasDynamicOffset: true } },
    ];
    for (const { access } of Object.values(kernel.bindings)) {
      const type = access === 'read' ? 'read-only-storage' : 'storage';
      entries.push({ binding: entries.length, visibility: GPUShaderStage.COMPUTE, buffer: { type } });
    }
    const layout = this.device.createBindGroupLayout({ label: kernel.name, entries });
    const pipeline = this.device.createComputePipelineAsync({
      label: kernel.name,
      layout: this.device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module, entryPoint: 'main', constants: { workgroup_size: this.workgroupSize } },
    });
    try {
      return { pipeline: await this.wait(pipeline, `compiling ${kernel.name}`), layout };
    } catch (error) {
      if (this.#failure !== null) throw error;
      throw new BackendError(`${messageOf(error)}${await compilerMessages(module, code)}`, { cause: error });
    }
  }

  /**
   * Gives the device back. One that did not answer is left to the driver: destroy() would block until it is done, and a
   * kernel that hangs would take the process with it.
   */
  close(): void {
    this.#failure ??= 'the engine was closed';
    if (!this.#abandoned) this.device.destroy();
  }
}

/** A kernel's own file after the shared ones that it names. */
export function shaderOf(kernel: Kernel): string {
  const files = [...kernel.preludes.map((name) => `prelude/${name}.wgsl`), `${kernel.name}.wgsl`];
  return files.map((file) => shaderText[file] ?? missing(file)).join('\n');
}

function missing(file: string): never {
  throw new BackendError(`shader file ${file} is not in the build`);
}

async function compilerMessages(module: GPUShaderModule, code: string): Promise<string> {
  const { messages } = await module.getCompilationInfo();
  const lines = code.split('\n');
  return messages
    .map(({ type, lineNum, message }) => `\n  ${type}: ${message}\n  ${lineNum}: ${lines[lineNum - 1] ?? ''}`)
    .join('');
}

export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message.trim();
}
