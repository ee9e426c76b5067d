/** A device with its compiled pipelines, and the rules by which its failures are noticed. */
import { BackendError } from '../../errors.ts';
import type { Kernel } from '../kernel.ts';
import type { AdapterDescription } from './adapter-description.ts';
import { type FoundAdapter, findAdapter, findHardwareAdapter } from './adapters.ts';
import type { GpuProvider } from './gpu-provider.ts';
import { defaultProvider } from './provider.ts';
import { changedText, type ShaderChange } from './shader-change.ts';
import { shaderText } from './shader-text.generated.ts';
import { SubmitLedger } from './submit-ledger.ts';
import { withinTime } from './within-time.ts';

export const DEFAULT_WORKGROUP_SIZE = 64;
/** How long one wait for the device may take. Between two waits it gets work for a few seconds of the slowest driver. */
export const DEFAULT_TIMEOUT_MS = 60_000;

export interface SessionOptions {
  readonly adapter?: string | undefined;
  readonly provider?: GpuProvider | undefined;
  /** Without an adapter text: look past a software adapter for a hardware one. */
  readonly preferHardware?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  readonly workgroupSize?: number | undefined;
  /** Faults planted in shaders, to see whether they are noticed. */
  readonly shaderChanges?: readonly ShaderChange[] | undefined;
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
  readonly ledger: SubmitLedger;
  readonly #shaderChanges: readonly ShaderChange[];
  readonly #kernels = new Map<string, Promise<CompiledKernel>>();
  #failure: string | null = null;
  #abandoned = false;
  /** Rejects whoever waits when the device is lost. A promise shared by all waits would keep every one of them. */
  readonly #waiting = new Set<(error: BackendError) => void>();

  private constructor(device: GPUDevice, { adapter: _, ...adapter }: FoundAdapter, options: SessionOptions) {
    this.device = device;
    this.ledger = new SubmitLedger(device);
    this.adapter = adapter;
    this.#shaderChanges = options.shaderChanges ?? [];
    this.timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.workgroupSize = Math.min(
      options.workgroupSize ?? DEFAULT_WORKGROUP_SIZE,
      device.limits.maxComputeInvocationsPerWorkgroup,
    );
    // After a loss Dawn goes on to accept calls and does nothing, so the flag must be ours.
    void device.lost.then((info) => {
      this.#failure ??= `the device was lost (${info.reason}${info.message ? `: ${info.message}` : ''})`;
      const error = new BackendError(this.#failure);
      for (const reject of this.#waiting) reject(error);
    });
  }

  /** @throws AdapterError where there is no adapter, BackendError where its device does not open */
  static async open(options: SessionOptions = {}): Promise<GpuSession> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    const find = options.preferHardware ? findHardwareAdapter : findAdapter;
    const finding = find(options.adapter, options.provider ?? defaultProvider);
    const found = await withinTime(finding, timeoutMs, 'looking for an adapter');
    const { limits } = found.adapter;
    const requiredLimits = {
      maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
      maxBufferSize: limits.maxBufferSize,
    };
    try {
      const opening = found.adapter.requestDevice({ requiredLimits });
      const device = await withinTime(opening, timeoutMs, 'opening a device', () => {
        opening.then(
          (late) => late.destroy(),
          () => {},
        );
      });
      return new GpuSession(device, found, options);
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
    let reject: (error: BackendError) => void = () => {};
    const settled = new Promise<T>((resolve, rejectWait) => {
      reject = rejectWait;
      this.#waiting.add(reject);
      promise.then(resolve, rejectWait);
    });
    try {
      return await withinTime(settled, this.timeoutMs, what, (reason) => {
        this.#abandoned = true;
        this.#failure ??= reason;
      });
    } catch (error) {
      if (error instanceof BackendError) throw error;
      throw new BackendError(`${what}: ${messageOf(error)}`, { cause: error });
    } finally {
      this.#waiting.delete(reject);
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
    const code = shaderOf(kernel, this.#shaderChanges);
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
      throw new BackendError(`${messageOf(error)}${await this.#compilerMessages(module, code)}`, { cause: error });
    }
  }

  async #compilerMessages(module: GPUShaderModule, code: string): Promise<string> {
    const { messages } = await this.wait(module.getCompilationInfo(), 'asking for compiler messages');
    const lines = code.split('\n');
    const quoted = messages.map(
      ({ type, lineNum, message }) => `\n  ${type}: ${message}\n  ${lineNum}: ${lines[lineNum - 1] ?? ''}`,
    );
    return quoted.join('');
  }

  /**
   * Gives the device back. One that did not answer is left to the driver: destroy() would block until it is done, and a
   * kernel that hangs would take the process with it.
   */
  close(): void {
    this.#failure ??= 'the engine was closed';
    if (this.#abandoned) return;
    this.ledger.close();
    this.device.destroy();
  }
}

/** A kernel's own file after the shared ones that it names. */
export function shaderOf(kernel: Kernel, changes: readonly ShaderChange[] = []): string {
  const files = [...kernel.preludes.map((name) => `prelude/${name}.wgsl`), `${kernel.name}.wgsl`];
  return files.map((file) => changedText(file, shaderText[file] ?? missing(file), changes)).join('\n');
}

function missing(file: string): never {
  throw new BackendError(`shader file ${file} is not in the build`);
}

export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message.trim();
}
