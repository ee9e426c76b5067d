/** How much of a device is used at once. */
import { UsageError } from '../../errors.ts';
import { requirePieceLength } from '../../plan/reduction.ts';

/** Bounds on what the device is asked for at once. All have defaults; tests inject small ones. */
export interface GpuLimits {
  /** Bytes of one storage binding. Default: the device's limit. */
  readonly bindingBytes?: number | undefined;
  /** Bytes of all arrays of a batch that is worked on without tiles. */
  readonly memoryBytes?: number | undefined;
  /** Elements that one invocation handles at most; a power of two. */
  readonly pieceLength?: number | undefined;
  readonly workgroupsPerDispatch?: number | undefined;
  /** Elements that one dispatch handles at most, so that none takes longer than a driver allows. */
  readonly elementsPerDispatch?: number | undefined;
  /** Elements handed over before the host waits for the device. */
  readonly elementsInFlight?: number | undefined;
}

export type ResolvedGpuLimits = { readonly [K in keyof GpuLimits]-?: number };

const DEFAULTS = {
  memoryBytes: 2 ** 32,
  pieceLength: 64,
  // SwiftShader takes up to a second for 2^20 elements of the slowest kernel.
  elementsPerDispatch: 2 ** 20,
  elementsInFlight: 2 ** 22,
};

/** Those of a GPUDevice that bound a computation. */
export type DeviceLimits = Readonly<
  Record<'maxStorageBufferBindingSize' | 'maxBufferSize' | 'maxComputeWorkgroupsPerDimension', number>
>;

/** @throws UsageError where the limits leave no room for one piece */
export function resolveLimits(device: DeviceLimits, requested: GpuLimits): ResolvedGpuLimits {
  for (const [name, value] of Object.entries(requested)) requireCount(name, value);
  const within = (wanted: number | undefined, most: number) => Math.min(wanted ?? most, most);
  const { pieceLength = DEFAULTS.pieceLength } = requested;
  const limits = {
    bindingBytes: within(requested.bindingBytes, Math.min(device.maxStorageBufferBindingSize, device.maxBufferSize)),
    memoryBytes: requested.memoryBytes ?? DEFAULTS.memoryBytes,
    pieceLength,
    workgroupsPerDispatch: within(requested.workgroupsPerDispatch, device.maxComputeWorkgroupsPerDimension),
    elementsPerDispatch: requested.elementsPerDispatch ?? DEFAULTS.elementsPerDispatch,
    elementsInFlight: requested.elementsInFlight ?? DEFAULTS.elementsInFlight,
  };
  requirePieceLength(pieceLength, 2 ** 20);
  if (limits.bindingBytes < pieceLength * 16) {
    throw new UsageError(
      `bindingBytes must be at least 16 times pieceLength (${pieceLength * 16}), got ${limits.bindingBytes}`,
    );
  }
  return limits;
}

/** @throws UsageError unless the value, where there is one, is a whole number above 0 */
export function requireCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value > 0)) return;
  throw new UsageError(`${name} must be a whole number above 0, got ${value}`);
}

/** The longest time that a timer can wait; longer ones would end at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export function requireTimeout(milliseconds: number | undefined): void {
  if (milliseconds === undefined || (milliseconds > 0 && milliseconds <= LONGEST_TIMEOUT_MS)) return;
  throw new UsageError(`the GPU timeout must be above 0 and at most ${LONGEST_TIMEOUT_MS} ms, got ${milliseconds}`);
}
