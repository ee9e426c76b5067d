/** Runs the kernels on a WebGPU device, with whole arrays in its memory where they fit and slice by slice where not. */
import type { Executor, Workspace } from '../executor.ts';
import { type GpuLimits, resolveLimits } from './limits.ts';
import type { GpuSession } from './session.ts';
import { GpuWorkspace } from './workspace.ts';

/** A tile holds at most about this many bytes for a row or rollout, all arrays together. */
const TILE_BYTES_PER_ITEM = 8;

/** @throws UsageError where the limits leave no room for one piece */
export function gpuExecutor(session: GpuSession, requested: GpuLimits = {}): Executor {
  const limits = resolveLimits(session.device.limits, requested);
  const tileItems = Math.floor(limits.bindingBytes / TILE_BYTES_PER_ITEM) - 1;
  const fits = (arrayBytes: readonly number[]) =>
    arrayBytes.every((bytes) => bytes <= limits.bindingBytes) &&
    arrayBytes.reduce((sum, bytes) => sum + bytes, 0) <= limits.memoryBytes;
  return {
    backend: 'webgpu',
    pieceLength: limits.pieceLength,
    tileRollouts: tileItems,
    tileRows: tileItems,
    hasTables: false,
    fits,
    workspace: (arrayBytes): Workspace => new GpuWorkspace(session, limits, fits(arrayBytes)),
  };
}
