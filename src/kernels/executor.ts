/** What the program of a batch needs of a place where kernels run; the CPU and WebGPU each implement it. */
import type { BindingMap, ElementType, HostArray, Kernel, Parameters } from './kernel.ts';

/** An array that kernels can use. Where its numbers lie is the workspace's affair. */
export interface KernelArray<T extends ElementType = ElementType> {
  readonly type: T;
  readonly length: number;
}

/** Elements and segments may be numbered from more than 0 in `bounds` and `itemSegments`; arrays begin at the base. */
export interface Bases {
  readonly elementBase?: number;
}

/** Arrays of one computation; everything it made is released by close(). */
export interface Workspace {
  /** Gives kernels a host array to read; the caller must not change it before close(). */
  input<T extends ElementType>(type: T, host: HostArray<T>): KernelArray<T>;
  /** An array for a kernel to fill, every entry of it. Until then a device's holds no plausible number. */
  output<T extends ElementType>(type: T, length: number): KernelArray<T>;
  /** Runs a kernel over the items [0, itemCount). A null array is one that the parameters say is unused. */
  run<B extends BindingMap, P extends string>(
    kernel: Kernel<B, P>,
    parameters: Parameters<P>,
    itemCount: number,
    arrays: { readonly [K in keyof B]: KernelArray<B[K]['type']> | null },
    bases?: Bases,
  ): Promise<void>;
  /** The numbers of an array on the host; throws BackendError if a kernel left one unwritten. */
  read<T extends ElementType>(array: KernelArray<T>): Promise<HostArray<T>>;
  /** Gives the memory of arrays back before close(). */
  release(...arrays: (KernelArray | null)[]): void;
  close(): void;
}

export interface Executor {
  readonly backend: 'cpu' | 'webgpu';
  /** Elements that one item of a reduction handles at most; a power of two. */
  readonly pieceLength: number;
  /** Whether all these arrays (bytes each) fit at once, so that a batch needs no tiles. */
  fits(arrayBytes: readonly number[]): boolean;
  /** Rollouts, and rows, that a tile of whole groups should hold at most. */
  readonly tileRollouts: number;
  readonly tileRows: number;
  /** Whether kernels can look up any entry of an array however long; if not, tiles get rows packed in order. */
  readonly hasTables: boolean;
  /** @param arrayBytes sizes that the workspace will hold together, so that it can choose how to hold them */
  workspace(arrayBytes: readonly number[]): Workspace;
}
