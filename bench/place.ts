/** How a measurement names its device, and how much it may be asked for. */
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { GpuSession } from '../src/kernels/webgpu/session.ts';

export function placeOf({ adapter }: GpuSession): string {
  return `${adapter.description}${adapter.software ? ', a SOFTWARE adapter: not the speed of a GPU' : ''}`;
}

/** A software adapter takes minutes for what a GPU does in seconds. */
const MOST_ROWS_IN_SOFTWARE = 1e6;

export function mostRows({ adapter }: GpuSession): number {
  return adapter.software ? MOST_ROWS_IN_SOFTWARE : Number.POSITIVE_INFINITY;
}

/** A folder whose files are in memory, where the system has one: what is measured is then not the disk. */
export function memoryFolder(): string {
  return existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
}
