/** What a batch is inside rollnorm: one flat typed array per property of a row. */
import type { IdCoder } from './ids.ts';

/** `fixedTokens` entry that says: count the row's packed loss mask. */
export const COUNT_THE_MASK = 0xffffffff;

/** Bits of a `flags` entry. */
export const REMOVED = 1;
export const KEYED_BY_INDEX = 2;
const STATUS_SHIFT = 2;

/** Statuses in the order of their code; `other` is a text that names none of the four. */
export const STATUSES = ['completed', 'truncated', 'aborted', 'failed', 'other'] as const;
export type Status = (typeof STATUSES)[number];

/**
 * Loss masks as bits, least significant first; every row starts at a word of its own. Unused bits must be 0: where the batch
 * has responseLength that is checked, and where not, they would count as trained. The
 * arrays are not copied: leave them as they are until the call has ended.
 */
export interface PackedLossMasks {
  /** u32 words of all rows, in row order. */
  readonly words: Uint32Array;
  /** Row r owns words [wordOffsets[r], wordOffsets[r + 1]), none where it has no mask; length rowCount + 1. */
  readonly wordOffsets: Uint32Array;
}

/** The rows of one batch as columns; every array has `rowCount` entries. */
export interface SampleColumns {
  readonly rowCount: number;
  /** Code of group_index, or NO_ID; null: no row has one. */
  readonly groupCodes: Uint32Array | null;
  /** Code of rollout_id, else of index, else NO_ID; null: no row has either. */
  readonly rolloutCodes: Uint32Array | null;
  /** Binary64 rewards; NaN stands for a missing one. */
  readonly rewards: Float64Array;
  /** Several rewards of a row by name, each binary64 with NaN in all of them where one is missing; null: there is one. */
  readonly rewardParts?: readonly Float64Array[] | null;
  readonly rewardNames?: readonly string[] | null;
  /** Recorded baselines, binary64; NaN stands for a missing one; null: there are none. */
  readonly baselines?: Float64Array | null;
  /** The first row without a reward and what stands there; null: every row has one. */
  readonly missingReward: { readonly row: number; readonly found: string } | null;
  /** Trainable tokens, or COUNT_THE_MASK; null: unknown for the whole batch. */
  readonly fixedTokens: Uint32Array | null;
  /** Masks still to be counted; null: every count is in `fixedTokens`. */
  readonly lossMasks: PackedLossMasks | null;
  /** REMOVED, KEYED_BY_INDEX and the status; null: all zero. */
  readonly flags: Uint8Array | null;
  readonly groupIds: IdCoder;
  readonly rolloutIds: IdCoder;
  /** The first few texts of status `other`. */
  readonly unknownStatuses: readonly string[];
  /** How an error names a row (counted from 0 here, from 1 in the text): `line 7` or `row 7`. */
  place(row: number): string;
}

export function isRemoved(flags: Uint8Array | null, row: number): boolean {
  return flags !== null && (flags[row] & REMOVED) !== 0;
}

export function statusOf(flags: Uint8Array | null, row: number): Status {
  return flags === null ? 'completed' : STATUSES[flags[row] >> STATUS_SHIFT];
}

/** The flags of a row that is removed where either entry says so, with the first status of the two that is not completed. */
export function withStatusOf(flags: number, other: number): number {
  const status = flags >> STATUS_SHIFT !== 0 ? flags >> STATUS_SHIFT : other >> STATUS_SHIFT;
  return ((flags | other) & REMOVED) | (status << STATUS_SHIFT);
}

/** The flags entry of one row. */
export function packFlags(removed: boolean, keyedByIndex: boolean, status: Status): number {
  return (removed ? REMOVED : 0) | (keyedByIndex ? KEYED_BY_INDEX : 0) | (STATUSES.indexOf(status) << STATUS_SHIFT);
}
