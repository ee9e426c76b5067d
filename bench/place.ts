/** How a measurement names its device. */
import type { GpuSession } from '../src/kernels/webgpu/session.ts';

export function placeOf({ adapter }: GpuSession): string {
  return `${adapter.description}${adapter.software ? ', a SOFTWARE adapter: not the speed of a GPU' : ''}`;
}
