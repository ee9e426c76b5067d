/** The rollouts of a tile that count, each with its reward. */
import type { KernelArray } from './executor.ts';

export interface Counted {
  /** Counted rollouts of each group, from 0. */
  readonly groupOffsets: Uint32Array;
  /** Their rollouts, in order; null: all of the tile. */
  readonly rollouts: Uint32Array | null;
  /** Binary64 per counted rollout, by reward. */
  readonly values: readonly KernelArray<'f64'>[];
  readonly baselines: KernelArray<'f64'> | null;
  /** Place of the first among the counted rollouts of the batch. */
  readonly firstSlot: number;
}
