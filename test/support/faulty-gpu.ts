/** A WebGPU provider over the run's real adapter that fails where and how it is told to, and counts what is asked of it. */
import { afterAll } from 'vitest';
import type { GpuProvider } from '../../src/kernels/webgpu/gpu-provider.ts';
import { defaultProvider } from '../../src/kernels/webgpu/provider.ts';

/** The calls that can fail, and that are counted. */
export type FaultPoint =
  | 'open'
  | 'requestAdapter'
  | 'requestDevice'
  | 'createComputePipelineAsync'
  | 'getCompilationInfo'
  | 'createBuffer'
  | 'submit'
  | 'mapAsync'
  | 'onSubmittedWorkDone'
  | 'popErrorScope';

/**
 * `fails`: throws, rejects, or gives null for an adapter. `never`: the promise stays pending. `nothing`: returns and does
 * nothing. `invalid`, `out of memory`: the object is invalid and the open error scope hears of it. `lost`: the device is
 * lost here and what was waited for rejects; `lost and silent`: it stays pending.
 */
export type FaultKind = 'fails' | 'never' | 'nothing' | 'invalid' | 'out of memory' | 'lost' | 'lost and silent';

export interface Fault {
  readonly point: FaultPoint;
  readonly kind: FaultKind;
  /** Which of the calls that it concerns fails, from 1, counted from arm(). Default the first. */
  readonly at?: number;
  /** Only calls for this kernel concern it. */
  readonly kernel?: string;
  /** Every call from `at` on. */
  readonly lasting?: boolean;
}

const never = <T>(): Promise<T> => new Promise<T>(() => {});
/** What Dawn's pending maps reject with when the device goes. */
const aborted = <T>(): Promise<T> => Promise.reject(new DOMException('', 'AbortError'));

interface SharedDevice {
  readonly adapter: GPUAdapter;
  readonly device: GPUDevice;
  readonly modules: Map<string, GPUShaderModule>;
  readonly pipelines: Map<string, Promise<GPUComputePipeline>>;
}

// One real device and one compilation per kernel serve all the devices handed out in a test file: opening takes most of
// the time of a small run, and the faults are in what lies between.
let shared: Promise<SharedDevice> | null = null;

async function openShared(): Promise<SharedDevice> {
  const gpu = await defaultProvider.open();
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw new Error('no WebGPU adapter');
  return { adapter, device: await adapter.requestDevice(), modules: new Map(), pipelines: new Map() };
}

afterAll(async () => {
  const open = await shared;
  await open?.device.queue.onSubmittedWorkDone();
  open?.device.destroy();
  shared = null;
});

export class FaultyGpu implements GpuProvider {
  /** How often each call was made since arm() or the beginning. */
  counts: Partial<Record<FaultPoint, number>> = {};
  /** Whether the armed fault has happened. */
  fired = false;
  /** Told of every call, before it is made. */
  onHit: (point: FaultPoint, count: number) => void = () => {};
  readonly devices: FaultyDevice[] = [];
  readonly #software: boolean;
  #fault: Fault | null = null;
  /** Calls that the armed fault concerns. */
  #concerned = 0;

  /** @param software whether its adapter says that it is one */
  constructor({ software = false } = {}) {
    this.#software = software;
  }

  arm(fault: Fault): void {
    this.#fault = fault;
    this.fired = false;
    this.counts = {};
    this.#concerned = 0;
  }

  async open(): Promise<GPU> {
    if (this.hit('open')) throw new Error('libvulkan.so.1: injected, cannot be loaded');
    return { requestAdapter: () => this.#requestAdapter() } as unknown as GPU;
  }

  /** Counts a call; how it is to fail, or null. */
  hit(point: FaultPoint, kernel?: string): FaultKind | null {
    const fault = this.#fault;
    const count = (this.counts[point] ?? 0) + 1;
    this.counts[point] = count;
    this.onHit(point, count);
    if (fault?.point !== point || (fault.kernel !== undefined && fault.kernel !== kernel)) return null;
    if (++this.#concerned < (fault.at ?? 1)) return null;
    this.fired = true;
    if (!fault.lasting) this.#fault = null;
    return fault.kind;
  }

  async #requestAdapter(): Promise<GPUAdapter | null> {
    const kind = this.hit('requestAdapter');
    if (kind === 'never') return never();
    if (kind !== null) return null;
    shared ??= openShared();
    const { adapter } = await shared;
    const { vendor, architecture, device, description } = adapter.info;
    const info = { vendor, architecture, device, description, isFallbackAdapter: this.#software };
    const requestDevice = () => this.#requestDevice();
    return { info, limits: adapter.limits, requestDevice } as unknown as GPUAdapter;
  }

  async #requestDevice(): Promise<GPUDevice> {
    const kind = this.hit('requestDevice');
    if (kind === 'never') return never();
    if (kind !== null) throw new DOMException('injected: no device', 'OperationError');
    const device = new FaultyDevice(this, await shared!);
    this.devices.push(device);
    return device.proxy;
  }
}

interface Scope {
  readonly filter: GPUErrorFilter;
  error: GPUError | null;
}

export class FaultyDevice {
  readonly proxy: GPUDevice;
  /** How often destroy() was called. */
  destroyed = 0;
  readonly #gpu: FaultyGpu;
  readonly #shared: SharedDevice;
  readonly #lost: Promise<GPUDeviceLostInfo>;
  #reportLoss: (info: GPUDeviceLostInfo) => void = () => {};
  #isLost = false;
  readonly #scopes: Scope[] = [];

  constructor(gpu: FaultyGpu, shared: SharedDevice) {
    this.#gpu = gpu;
    this.#shared = shared;
    this.#lost = new Promise((resolve) => {
      this.#reportLoss = resolve;
    });
    const { device } = shared;
    const queue = overriding(device.queue, {
      submit: (buffers: GPUCommandBuffer[]) => this.#submit(buffers),
      writeBuffer: (...args: Parameters<GPUQueue['writeBuffer']>) => {
        if (!this.#isLost) device.queue.writeBuffer(...args);
      },
      onSubmittedWorkDone: () => this.#promise('onSubmittedWorkDone', () => device.queue.onSubmittedWorkDone()),
    });
    this.proxy = overriding(device, {
      queue,
      lost: this.#lost,
      destroy: () => {
        this.destroyed++;
        this.lose('destroyed');
      },
      createBuffer: (descriptor: GPUBufferDescriptor) => this.#createBuffer(descriptor),
      createShaderModule: (descriptor: GPUShaderModuleDescriptor) => this.#createShaderModule(descriptor),
      createComputePipelineAsync: (descriptor: GPUComputePipelineDescriptor) => this.#createPipeline(descriptor),
      pushErrorScope: (filter: GPUErrorFilter) => {
        device.pushErrorScope(filter);
        this.#scopes.push({ filter, error: null });
      },
      popErrorScope: () => {
        const { error } = this.#scopes.pop()!;
        const real = device.popErrorScope();
        return this.#promise('popErrorScope', async () => (this.#isLost ? null : (error ?? (await real))));
      },
    });
  }

  /** From here on every call returns and does nothing, as a lost device of Dawn does. */
  lose(reason: GPUDeviceLostReason = 'unknown'): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#reportLoss({ reason, message: 'injected' } as GPUDeviceLostInfo);
  }

  #submit(buffers: GPUCommandBuffer[]): void {
    const kind = this.#gpu.hit('submit');
    if (kind === 'lost') this.lose();
    if (kind === null && !this.#isLost) this.#shared.device.queue.submit(buffers);
  }

  #createBuffer(descriptor: GPUBufferDescriptor): GPUBuffer {
    const { device } = this.#shared;
    const kind = this.#gpu.hit('createBuffer');
    if (kind === 'lost') this.lose();
    if (kind === 'out of memory') this.#report('out-of-memory', new GPUOutOfMemoryError('injected: no memory left'));
    const isInvalid = kind === 'out of memory' || kind === 'invalid';
    const buffer = device.createBuffer(isInvalid ? { ...descriptor, usage: 0 } : descriptor);
    const mapAsync = buffer.mapAsync.bind(buffer);
    // Buffers go back into Dawn, which takes only its own objects: the method is replaced, not the buffer.
    const replacement = (mode: number) =>
      this.#promise('mapAsync', () => (this.#isLost ? aborted<undefined>() : mapAsync(mode)));
    Object.defineProperty(buffer, 'mapAsync', { value: replacement });
    return buffer;
  }

  /** Gives an error to the innermost scope that asks for its kind. */
  #report(filter: GPUErrorFilter, error: GPUError): void {
    const scope = this.#scopes.findLast((open) => open.filter === filter);
    if (scope) scope.error ??= error;
  }

  #createShaderModule(descriptor: GPUShaderModuleDescriptor): GPUShaderModule {
    const { device, modules } = this.#shared;
    const module = modules.get(descriptor.code) ?? device.createShaderModule(descriptor);
    modules.set(descriptor.code, module);
    const info = Object.getPrototypeOf(module).getCompilationInfo.bind(module);
    const value = () => this.#promise<GPUCompilationInfo>('getCompilationInfo', info);
    Object.defineProperty(module, 'getCompilationInfo', { value, configurable: true });
    return module;
  }

  #createPipeline(descriptor: GPUComputePipelineDescriptor): Promise<GPUComputePipeline> {
    const { device, pipelines } = this.#shared;
    const key = `${descriptor.label} ${JSON.stringify(descriptor.compute.constants)}`;
    const compile = () => {
      const known = pipelines.get(key) ?? device.createComputePipelineAsync(descriptor);
      pipelines.set(key, known);
      return known;
    };
    return this.#promise('createComputePipelineAsync', compile, descriptor.label);
  }

  async #promise<T>(point: FaultPoint, real: () => Promise<T>, kernel?: string): Promise<T> {
    const kind = this.#gpu.hit(point, kernel);
    if (kind === null) return real();
    if (kind === 'never') return never();
    if (kind === 'fails') throw new DOMException(`injected: ${point}`, 'OperationError');
    this.lose();
    return kind === 'lost' ? aborted() : never();
  }
}

/** The object with some of its members replaced; the others are called on the object itself. */
function overriding<T extends object>(target: T, members: Readonly<Record<string, unknown>>): T {
  return new Proxy(target, {
    get(object, name) {
      if (typeof name === 'string' && Object.hasOwn(members, name)) return members[name];
      const value = Reflect.get(object, name, object);
      return typeof value === 'function' ? value.bind(object) : value;
    },
  });
}
