/** Consecutive rows of a file as columns: what a reader hands over, from its own thread if need be. */
import { packFlags, type Status } from './columns.ts';
import { growableF64, growableU8, growableU32 } from './growable.ts';
import { type IdCoder, type IdDictionary, NO_ID } from './ids.ts';

/** Codes of one id column; NO_ID where a row has none. */
export interface CodedIds {
  readonly codes: Uint32Array;
  /** What the codes mean; null: they are codes of the coder that the reader was given. */
  readonly dictionary: IdDictionary | null;
}

/** The first value of a kind in an id column, to tell where kinds mix. */
export interface KindSeen {
  readonly kind: 'a number' | 'a string';
  readonly row: number;
  readonly found: string;
}

/** Plain data, rows counted from 0 in the chunk. */
export interface RowChunk {
  readonly rowCount: number;
  /** Physical lines of text, blank ones included; rows in other formats. */
  readonly recordCount: number;
  readonly groups: CodedIds;
  /** rollout_id, else index; rows keyed by index are marked in `flags`. */
  readonly rollouts: CodedIds;
  /** index, where the output names it; null: not kept. */
  readonly indexes: CodedIds | null;
  readonly batches: CodedIds | null;
  readonly keys: CodedIds | null;
  readonly rewards: Float64Array;
  readonly tokens: Uint32Array;
  readonly flags: Uint8Array;
  readonly recorded: Float64Array | null;
  readonly facts: ChunkFacts;
  /** Record of each row, from 1: row places.rows[i] is of record places.records[i], the rows up to the next entry follow. */
  readonly places: { readonly rows: Uint32Array; readonly records: Float64Array } | null;
}

export interface ChunkFacts {
  readonly tokensKnown: boolean;
  readonly missingReward: { readonly row: number; readonly found: string } | null;
  readonly unknownStatuses: readonly string[];
  /** By the name of the id column, the first kind met. */
  readonly idKinds: Readonly<Record<string, KindSeen>>;
  /** Rewards that are objects, how many have the wanted key, and the keys of some that have not. */
  readonly rewardObjects: number;
  readonly keyedRewards: number;
  readonly rewardKeys: readonly string[];
  /** Rewards read from text. */
  readonly rewardsFromText: number;
  /** Rows in which the reward's column is not there at all, as against null. */
  readonly rewardsAbsent: number;
  /** Names met in the first record, for a layout that does not fit. */
  readonly names: readonly string[];
  /** Groups that the file itself states, by their sizes. */
  readonly promptGroupSizes?: readonly number[];
}

export interface ChunkCoders {
  readonly groups: IdCoder;
  readonly rollouts: IdCoder;
  readonly indexes: IdCoder | null;
  readonly batches: IdCoder | null;
  readonly keys: IdCoder | null;
}

/** The values of one row, reused from row to row. */
export interface RowValues {
  group: number;
  rollout: number;
  keyedByIndex: boolean;
  index: number;
  batch: number;
  key: number;
  reward: number;
  tokens: number;
  removed: boolean;
  status: Status;
  recorded: number;
}

export function emptyRow(): RowValues {
  return {
    group: NO_ID,
    rollout: NO_ID,
    keyedByIndex: false,
    index: NO_ID,
    batch: NO_ID,
    key: NO_ID,
    reward: Number.NaN,
    tokens: 0,
    removed: false,
    status: 'completed',
    recorded: Number.NaN,
  };
}

/** Collects rows one by one. */
export class ChunkBuilder {
  rowCount = 0;
  readonly #coders: ChunkCoders;
  readonly #groups = growableU32();
  readonly #rollouts = growableU32();
  readonly #indexes = growableU32();
  readonly #batches = growableU32();
  readonly #keys = growableU32();
  readonly #rewards = growableF64();
  readonly #tokens = growableU32();
  readonly #flags = growableU8();
  readonly #recorded = growableF64();
  readonly #hasRecorded: boolean;
  readonly #recordsHoldRows: boolean;
  readonly #placeRows = growableU32();
  readonly #placeRecords = growableF64();

  /** @param recordsHoldRows several rows may be of one record */
  constructor(coders: ChunkCoders, hasRecorded: boolean, recordsHoldRows: boolean) {
    this.#coders = coders;
    this.#hasRecorded = hasRecorded;
    this.#recordsHoldRows = recordsHoldRows;
  }

  /** @param record its number in the chunk, from 1 */
  push(row: RowValues, record: number): void {
    this.#groups.push(row.group);
    this.#rollouts.push(row.rollout);
    if (this.#coders.indexes) this.#indexes.push(row.index);
    if (this.#coders.batches) this.#batches.push(row.batch);
    if (this.#coders.keys) this.#keys.push(row.key);
    this.#rewards.push(row.reward);
    this.#tokens.push(row.tokens);
    this.#flags.push(packFlags(row.removed, row.keyedByIndex, row.status));
    if (this.#hasRecorded) this.#recorded.push(row.recorded);
    this.#notePlace(record);
    this.rowCount++;
  }

  /** @param shared the coders outlive the chunk, so that its codes need no dictionary */
  finish(recordCount: number, facts: ChunkFacts, shared: boolean): RowChunk {
    const coded = (codes: { view(): Uint32Array }, coder: IdCoder): CodedIds => ({
      codes: codes.view().slice(),
      dictionary: shared ? null : coder.snapshot(),
    });
    const { groups, rollouts, indexes, batches, keys } = this.#coders;
    return {
      rowCount: this.rowCount,
      recordCount,
      groups: coded(this.#groups, groups),
      rollouts: coded(this.#rollouts, rollouts),
      indexes: indexes && coded(this.#indexes, indexes),
      batches: batches && coded(this.#batches, batches),
      keys: keys && coded(this.#keys, keys),
      rewards: this.#rewards.view().slice(),
      tokens: this.#tokens.view().slice(),
      flags: this.#flags.view().slice(),
      recorded: this.#hasRecorded ? this.#recorded.view().slice() : null,
      facts,
      places: { rows: this.#placeRows.view().slice(), records: this.#placeRecords.view().slice() },
    };
  }

  /** Only where rows and records stop going hand in hand is anything kept. */
  #notePlace(record: number): void {
    const last = this.#placeRows.length - 1;
    const row = this.rowCount;
    const step = this.#recordsHoldRows || last < 0 ? 0 : row - this.#placeRows.get(last);
    if (last >= 0 && this.#placeRecords.get(last) + step === record) return;
    this.#placeRows.push(row);
    this.#placeRecords.push(record);
  }
}

/** What can be transferred to another thread rather than copied. */
export function transferablesOf(chunk: RowChunk): ArrayBuffer[] {
  const ids = [chunk.groups, chunk.rollouts, chunk.indexes, chunk.batches, chunk.keys].filter(
    (coded) => coded !== null,
  );
  const arrays: (ArrayBufferView | null)[] = [chunk.rewards, chunk.tokens, chunk.flags, chunk.recorded];
  for (const { codes, dictionary } of ids) {
    arrays.push(codes);
    if (dictionary) arrays.push(dictionary.bytes, dictionary.kinds, dictionary.offsets);
  }
  const buffers = arrays.filter((array) => array !== null).map(({ buffer }) => buffer as ArrayBuffer);
  return [...new Set(buffers)];
}
