/** One base for the ids of a batch in all threads that read it, so that their codes need no translation. */
import { type IdCoder, newSharedBase, type SharedBase } from '../samples/ids.ts';
import type { ChunkCoders } from '../samples/row-chunk.ts';

export type IdBases = Readonly<Record<keyof ChunkCoders, SharedBase>>;

/** @param coders of the batch, whose base is taken where there is one already */
export function sharedBases(coders: Readonly<Record<keyof ChunkCoders, IdCoder>>): IdBases {
  const { groups, rollouts, indexes, batches, keys } = coders;
  return {
    groups: newSharedBase(groups.base),
    rollouts: newSharedBase(rollouts.base),
    indexes: newSharedBase(indexes.base),
    batches: newSharedBase(batches.base),
    keys: newSharedBase(keys.base),
  };
}
