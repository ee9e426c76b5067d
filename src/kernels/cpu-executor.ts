/** Runs the CPU twins of the kernels. */
import { requirePieceLength } from '../plan/reduction.ts';
import type { Executor, KernelArray, Workspace } from './executor.ts';
import { type ElementType, type HostArray, runTwin } from './kernel.ts';
import { SpareArrays } from './spare-arrays.ts';

export interface CpuLimits {
  /** Default: no segment is ever cut. */
  readonly pieceLength?: number;
  /** Rollouts and rows of a tile; the defaults keep a tile's arrays in a second-level cache. */
  readonly tileRollouts?: number;
  readonly tileRows?: number;
}

class CpuArray<T extends ElementType> implements KernelArray<T> {
  readonly type: T;
  readonly host: HostArray<T>;

  constructor(type: T, host: HostArray<T>) {
    this.type = type;
    this.host = host;
  }

  get length(): number {
    return this.host.length;
  }
}

export function cpuExecutor(limits: CpuLimits = {}): Executor {
  const { pieceLength = 2 ** 31, tileRollouts = 1 << 14, tileRows = 1 << 16 } = limits;
  requirePieceLength(pieceLength, 2 ** 31);
  const spare = new SpareArrays(tileRollouts);
  return {
    backend: 'cpu',
    pieceLength,
    tileRollouts,
    tileRows,
    hasTables: true,
    fits: () => false, // tiles keep the arrays between two kernels small, whatever the batch
    workspace: () => cpuWorkspace(spare),
  };
}

const hostOf = <T extends ElementType>(array: KernelArray<T>) => (array as CpuArray<T>).host;

function cpuWorkspace(spare: SpareArrays): Workspace {
  const outputs: HostArray[] = [];
  return {
    input: (type, host) => new CpuArray(type, host),
    output(type, length) {
      const host = spare.take(type, length);
      outputs.push(host);
      return new CpuArray(type, host);
    },
    async run(kernel, parameters, itemCount, arrays, { elementBase = 0 } = {}) {
      runTwin(kernel, parameters, itemCount, (name) => arrays[name] && hostOf(arrays[name]), elementBase);
    },
    read: async (array) => hostOf(array),
    release() {},
    close: () => spare.give(outputs.splice(0)),
  };
}
