/** The arrays of one computation on a device: uploads, dispatches, read-backs, and the slicing of what does not fit. */
import { BackendError } from '../../errors.ts';
import { type Portion, portionsOf } from '../../plan/portions.ts';
import { type ItemSlice, sliceItems } from '../../plan/slices.ts';
import { UNWRITTEN } from '../codes.ts';
import type { Bases, KernelArray, Workspace } from '../executor.ts';
import {
  allocateHost,
  type BindingMap,
  type BindingSpec,
  BYTES_PER_ELEMENT,
  DISPATCH_FIELDS,
  type ElementType,
  type HostArray,
  type Kernel,
  type Parameters,
  runTwin,
} from '../kernel.ts';
import type { ResolvedGpuLimits } from './limits.ts';
import type { GpuSession } from './session.ts';

const TRANSFER_BYTES = 32 * 2 ** 20;
const SENTINEL_BYTES = 2 ** 20;
const SMALLEST_BUFFER = 16;
const PARAMETER_BYTES = 64;
/** Elements that one invocation walks over where a kernel's items are whole segments. */
const LONGEST_WALK = 4096;

class GpuArray<T extends ElementType> implements KernelArray<T> {
  readonly type: T;
  readonly length: number;
  host: HostArray<T> | null;
  buffer: GPUBuffer | null = null;

  constructor(type: T, length: number, host: HostArray<T> | null) {
    this.type = type;
    this.length = length;
    this.host = host;
  }
}

type Arrays = Readonly<Record<string, KernelArray | null>>;

export class GpuWorkspace implements Workspace {
  readonly #session: GpuSession;
  readonly #limits: ResolvedGpuLimits;
  /** Whether whole arrays lie in the device's memory. If not, arrays are the host's and kernels get slices. */
  readonly #resident: boolean;
  readonly #buffers = new Set<GPUBuffer>();
  readonly #scopes: Promise<GPUError | null>[] = [];
  #sentinel: GPUBuffer | null = null;
  #unused: GPUBuffer | null = null;
  #elementsInFlight = 0;

  constructor(session: GpuSession, limits: ResolvedGpuLimits, resident: boolean) {
    session.requireUsable();
    this.#session = session;
    this.#limits = limits;
    this.#resident = resident;
  }

  input<T extends ElementType>(type: T, host: HostArray<T>): KernelArray<T> {
    return new GpuArray(type, host.length, host);
  }

  output<T extends ElementType>(type: T, length: number): KernelArray<T> {
    return new GpuArray(type, length, this.#resident ? null : allocateHost(type, length));
  }

  async run<B extends BindingMap, P extends string>(
    kernel: Kernel<B, P>,
    parameters: Parameters<P>,
    itemCount: number,
    arrays: { readonly [K in keyof B]: KernelArray<B[K]['type']> | null },
    { elementBase = 0 }: Bases = {},
  ): Promise<void> {
    if (itemCount === 0) return;
    if (kernel.walksWholeSegments && longestOf(boundsOf(kernel, arrays)!) > this.#longestWalk())
      return this.#runOnHost(kernel, parameters, itemCount, arrays);
    const whole = { from: 0, to: itemCount, elementFrom: elementBase, elementTo: 0, segmentFrom: 0, segmentTo: 0 };
    if (this.#resident)
      return this.#dispatch(kernel, parameters, whole, boundsOf(kernel, arrays), ({ access }, name) =>
        this.#bufferOf(arrays[name], access),
      );
    // Such kernels move numbers and compute none; the host has the tables, so it moves them.
    if (readsAnyEntry(kernel, parameters))
      return runTwin(kernel, parameters, itemCount, (name) => hostOf(arrays[name]), elementBase);
    for (const slice of this.#slices(kernel, itemCount, arrays))
      await this.#runSlice(kernel, parameters, slice, arrays, elementBase);
  }

  /** One invocation must not walk for seconds, nor can a slice hold part of what it walks over. */
  #longestWalk(): number {
    return Math.min(LONGEST_WALK, Math.floor(this.#limits.bindingBytes / 8) - 1);
  }

  /** The twin in the shader's place: the same bits, for segments that are too long for one invocation. */
  async #runOnHost(kernel: Kernel, parameters: Parameters<string>, itemCount: number, arrays: Arrays): Promise<void> {
    for (const [name, { access }] of Object.entries(kernel.bindings)) {
      const array = arrays[name] as GpuArray<ElementType> | null;
      if (array) array.host = access === 'read' ? await this.read(array) : allocateHost(array.type, array.length);
    }
    runTwin(kernel, parameters, itemCount, (name) => hostOf(arrays[name]), 0);
  }

  async read<T extends ElementType>(array: KernelArray<T>): Promise<HostArray<T>> {
    const source = array as GpuArray<T>;
    const host = source.buffer ? await this.#download(source.buffer, source.type, source.length) : source.host;
    if (!host && source.length > 0) throw new BackendError('an array was read before any kernel wrote it');
    return host ?? allocateHost(source.type, 0);
  }

  release(...arrays: (KernelArray | null)[]): void {
    for (const array of arrays) {
      const buffer = (array as GpuArray<ElementType> | null)?.buffer;
      if (!buffer) continue;
      (array as GpuArray<ElementType>).buffer = null;
      this.#destroy(buffer);
    }
  }

  close(): void {
    // Pending scopes settle by themselves; a failure that nobody waits for any more must not surface later.
    for (const scope of this.#scopes) scope.catch(() => {});
    for (const buffer of [...this.#buffers]) this.#destroy(buffer);
  }

  *#slices(kernel: Kernel, itemCount: number, arrays: Arrays): Generator<ItemSlice> {
    const entries = Math.floor(this.#limits.bindingBytes / 8);
    const limits = { maxItems: entries - 1, maxElements: entries, maxSegments: entries };
    yield* sliceItems(itemCount, boundsOf(kernel, arrays), hostOf(arrays.itemSegments) as Uint32Array | null, limits);
  }

  /** Uploads the slice's part of every array, runs, and brings the outputs back into the host arrays. */
  async #runSlice(
    kernel: Kernel,
    parameters: Parameters<string>,
    slice: ItemSlice,
    arrays: Arrays,
    elementBase: number,
  ) {
    const parts = new Map<string, GpuArray<ElementType>>();
    for (const [name, spec] of Object.entries(kernel.bindings)) {
      const array = arrays[name] as GpuArray<ElementType> | null;
      if (!array) continue;
      const [from, to] = partOf(spec, slice, elementBase);
      const host = array.host!.subarray(from, to) as HostArray;
      parts.set(name, new GpuArray(spec.type, to - from, spec.access === 'read' ? host : null));
    }
    await this.#dispatch(kernel, parameters, slice, boundsOf(kernel, arrays), ({ access }, name) =>
      this.#bufferOf(parts.get(name) ?? null, access),
    );
    for (const [name, spec] of Object.entries(kernel.bindings)) {
      const part = parts.get(name);
      if (spec.access === 'write' && part) {
        const [from] = partOf(spec, slice, elementBase);
        const data = await this.#download(part.buffer!, part.type, part.length);
        ((arrays[name] as GpuArray<ElementType>).host as HostArray<'u32'>).set(data as HostArray<'u32'>, from);
      }
    }
    this.release(...parts.values());
  }

  /** Hands a kernel's items over in portions, each a submission of its own, and waits when enough are under way. */
  async #dispatch(
    kernel: Kernel,
    parameters: Parameters<string>,
    slice: ItemSlice,
    bounds: Uint32Array | null,
    bufferFor: (spec: BindingSpec, name: string) => GPUBuffer,
  ): Promise<void> {
    const compiled = await this.#session.compiled(kernel);
    const { elementsPerDispatch, workgroupsPerDispatch } = this.#limits;
    const maxItems = workgroupsPerDispatch * this.#session.workgroupSize;
    const looks = kernel.looksPerElement ?? 1;
    const maxElements = Math.ceil(elementsPerDispatch / looks);
    const portions = [...portionsOf(slice.from, slice.to, bounds, maxItems, maxElements)];
    this.#pushScopes();
    const buffers = Object.entries(kernel.bindings).map(([name, spec]) => bufferFor(spec, name));
    const uniform = this.#parameterBuffer(kernel, parameters, slice, portions);
    const resources = [{ buffer: uniform, size: PARAMETER_BYTES }, ...buffers.map((buffer) => ({ buffer }))];
    const entries = resources.map((resource, binding) => ({ binding, resource }));
    const bindGroup = this.#session.device.createBindGroup({ label: kernel.name, layout: compiled.layout, entries });
    const outputs = buffers.filter((_, i) => Object.values(kernel.bindings)[i].access === 'write');
    this.#popScopes();
    for (const [index, portion] of portions.entries()) {
      if (this.#session.ledger.isFull) await this.#settleLedger();
      this.#submitPortion(compiled.pipeline, bindGroup, index, portion, index === 0 ? outputs : []);
      await this.#throttle(kernel.name, portion.work * looks);
    }
    this.#destroy(uniform);
  }

  /** @param unwritten outputs to be filled with the sentinel before the first portion */
  #submitPortion(
    pipeline: GPUComputePipeline,
    bindGroup: GPUBindGroup,
    index: number,
    { itemCount }: Portion,
    unwritten: readonly GPUBuffer[],
  ): void {
    const { device, workgroupSize, ledger } = this.#session;
    this.#pushScopes();
    const encoder = device.createCommandEncoder({ label: pipeline.label });
    for (const output of unwritten) this.#fillUnwritten(encoder, output);
    const pass = encoder.beginComputePass({ label: pipeline.label });
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindGroup, [index * this.#parameterStride()]);
    pass.dispatchWorkgroups(Math.ceil(itemCount / workgroupSize));
    pass.end();
    ledger.sign(encoder);
    device.queue.submit([encoder.finish()]);
    this.#popScopes();
  }

  #parameterStride(): number {
    return Math.max(PARAMETER_BYTES, this.#session.device.limits.minUniformBufferOffsetAlignment);
  }

  #parameterBuffer(
    kernel: Kernel,
    parameters: Parameters<string>,
    slice: ItemSlice,
    portions: readonly Portion[],
  ): GPUBuffer {
    const stride = this.#parameterStride();
    const words = new Uint32Array((stride / 4) * portions.length);
    const bases = { itemBase: slice.from, elementBase: slice.elementFrom, segmentBase: slice.segmentFrom };
    for (const [index, portion] of portions.entries()) {
      const { firstItem, itemCount } = portion;
      const fields: Record<string, number> = { ...parameters, ...bases, firstItem, itemCount };
      const names = [...DISPATCH_FIELDS, ...kernel.parameters];
      words.set(
        names.map((name) => fields[name]),
        (index * stride) / 4,
      );
    }
    const buffer = this.#createBuffer(words.byteLength, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    this.#session.device.queue.writeBuffer(buffer, 0, words);
    return buffer;
  }

  /** The device's copy of an array; uploaded on first use. */
  #bufferOf(array: KernelArray | null, access: BindingSpec['access']): GPUBuffer {
    const storage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    if (!array || array.length === 0) {
      // A buffer that is written may not be bound a second time.
      if (access === 'write') return this.#createBuffer(SMALLEST_BUFFER, storage);
      this.#unused ??= this.#createBuffer(SMALLEST_BUFFER, storage);
      return this.#unused;
    }
    const own = array as GpuArray<ElementType>;
    if (!own.buffer) {
      own.buffer = this.#createBuffer(own.length * BYTES_PER_ELEMENT[own.type], storage);
      if (own.host) this.#upload(own.buffer, own.host);
    }
    return own.buffer;
  }

  #upload(buffer: GPUBuffer, host: HostArray): void {
    const bytes = new Uint8Array(host.buffer as ArrayBuffer, host.byteOffset, host.byteLength);
    // Dawn ends the process where it is given memory that threads share.
    const isShared = !(host.buffer instanceof ArrayBuffer);
    for (let at = 0; at < bytes.length; at += TRANSFER_BYTES) {
      const part = bytes.subarray(at, at + TRANSFER_BYTES);
      this.#session.device.queue.writeBuffer(buffer, at, isShared ? Uint8Array.from(part) : part);
    }
  }

  #fillUnwritten(encoder: GPUCommandEncoder, buffer: GPUBuffer): void {
    if (!this.#sentinel) {
      this.#sentinel = this.#createBuffer(SENTINEL_BYTES, GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST);
      this.#session.device.queue.writeBuffer(this.#sentinel, 0, new Uint32Array(SENTINEL_BYTES / 4).fill(UNWRITTEN));
    }
    for (let at = 0; at < buffer.size; at += SENTINEL_BYTES) {
      encoder.copyBufferToBuffer(this.#sentinel, 0, buffer, at, Math.min(SENTINEL_BYTES, buffer.size - at));
    }
  }

  async #throttle(what: string, work: number): Promise<void> {
    this.#elementsInFlight += work;
    if (this.#elementsInFlight < this.#limits.elementsInFlight) return;
    this.#elementsInFlight = 0;
    await this.#session.wait(this.#session.device.queue.onSubmittedWorkDone(), what);
    await this.#checkScopes();
  }

  async #download<T extends ElementType>(buffer: GPUBuffer, type: T, length: number): Promise<HostArray<T>> {
    const host = allocateHost(type, length);
    const bytes = new Uint8Array(host.buffer as ArrayBuffer);
    for (let at = 0; at < bytes.length; at += TRANSFER_BYTES) {
      await this.#downloadPart(buffer, at, bytes.subarray(at, at + TRANSFER_BYTES));
    }
    requireWritten(host);
    return host;
  }

  /** Reads bytes back, and with them the proof that everything submitted before did run. */
  async #downloadPart(buffer: GPUBuffer, at: number, target: Uint8Array): Promise<void> {
    const { device, ledger } = this.#session;
    const { pendingBytes } = ledger;
    this.#pushScopes();
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const staging = this.#createBuffer(target.length + pendingBytes, usage, true);
    // If the copies below do nothing, what is read is the sentinel and not a plausible zero.
    new Uint8Array(staging.getMappedRange()).fill(0xff);
    staging.unmap();
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, at, staging, 0, target.length);
    ledger.copyPending(encoder, staging, target.length);
    device.queue.submit([encoder.finish()]);
    this.#popScopes();
    await this.#mapped(staging);
    // What the device reports is why a submission did not run, so it is told before that.
    await this.#checkScopes();
    const bytes = staging.getMappedRange();
    target.set(new Uint8Array(bytes, 0, target.length));
    ledger.verify(new Uint32Array(bytes, target.length, pendingBytes / 4));
    staging.unmap();
    this.#destroy(staging);
  }

  /** A failed map says little; the scopes around the copy say why. */
  async #mapped(staging: GPUBuffer): Promise<void> {
    this.#pushScopes();
    const mapping = staging.mapAsync(GPUMapMode.READ);
    mapping.catch(() => {}); // the scopes may be refused before it is waited for
    this.#popScopes();
    try {
      await this.#session.wait(mapping, 'reading results back');
    } catch (error) {
      if (this.#session.failure === null) await this.#checkScopes();
      throw error;
    }
  }

  async #settleLedger(): Promise<void> {
    await this.#downloadPart(this.#bufferOf(null, 'read'), 0, new Uint8Array(SMALLEST_BUFFER));
  }

  #createBuffer(byteLength: number, usage: number, mappedAtCreation = false): GPUBuffer {
    const size = Math.max(SMALLEST_BUFFER, Math.ceil(byteLength / 4) * 4);
    const buffer = this.#session.device.createBuffer({
      size: mappedAtCreation ? byteLength : size,
      usage,
      mappedAtCreation,
    });
    this.#buffers.add(buffer);
    return buffer;
  }

  #destroy(buffer: GPUBuffer): void {
    this.#buffers.delete(buffer);
    buffer.destroy();
  }

  #pushScopes(): void {
    this.#session.requireUsable();
    for (const filter of ['internal', 'out-of-memory', 'validation'] as const)
      this.#session.device.pushErrorScope(filter);
  }

  #popScopes(): void {
    for (let i = 0; i < 3; i++) {
      const scope = this.#session.device.popErrorScope();
      scope.catch(() => {});
      this.#scopes.push(scope);
    }
  }

  async #checkScopes(): Promise<void> {
    const errors = await this.#session.wait(Promise.all(this.#scopes.splice(0)), 'checking for errors');
    // Whatever uses a buffer that could not be had is an error too; the want of memory is the one to tell.
    const error =
      errors.find((found) => found instanceof GPUOutOfMemoryError) ?? errors.find((found) => found !== null);
    if (error) throw new BackendError(`the GPU reported: ${describeError(error)}`);
  }
}

const hostOf = (array: KernelArray | null | undefined): HostArray | null =>
  (array as GpuArray<ElementType> | null)?.host ?? null;

function describeError(error: GPUError): string {
  const kind = error instanceof GPUOutOfMemoryError ? 'out of memory' : 'error';
  return `${kind}: ${error.message.split('\n', 1)[0]}`;
}

/** Where the part of an array for a slice lies. Arrays of elements begin at `elementBase`. */
function partOf({ extent }: BindingSpec, slice: ItemSlice, elementBase: number): [number, number] {
  if (extent === 'item') return [slice.from, slice.to];
  if (extent === 'bounds') return [slice.from, slice.to + 1];
  if (extent === 'element' || extent === 'row') return [slice.elementFrom - elementBase, slice.elementTo - elementBase];
  return [slice.segmentFrom, slice.segmentTo];
}

/** Offsets of the elements that each item walks over; null: items walk over none. */
function boundsOf(kernel: Kernel, arrays: Arrays): Uint32Array | null {
  const walks = Object.values(kernel.bindings).some(({ extent }) => extent === 'element' || extent === 'row');
  return walks ? (hostOf(arrays.bounds) as Uint32Array | null) : null;
}

function longestOf(bounds: Uint32Array): number {
  let longest = 0;
  for (let item = 1; item < bounds.length; item++) longest = Math.max(longest, bounds[item] - bounds[item - 1]);
  return longest;
}

function readsAnyEntry(kernel: Kernel, parameters: Parameters<string>): boolean {
  const scattered = parameters.rowsInOrder === 0;
  return Object.values(kernel.bindings).some(({ extent }) => extent === 'table' || (extent === 'row' && scattered));
}

function requireWritten(host: HostArray): void {
  const words = new Uint32Array(host.buffer, host.byteOffset, host.byteLength / 4);
  const step = host.BYTES_PER_ELEMENT / 4;
  let unwritten = 0;
  for (let i = 0; i < words.length; i += step)
    if (words[i] === UNWRITTEN && words[i + step - 1] === UNWRITTEN) unwritten++;
  if (unwritten > 0) throw new BackendError(`the GPU left ${unwritten} of ${host.length} results unwritten`);
}
