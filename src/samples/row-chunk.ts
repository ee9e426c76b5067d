/** Consecutive rows of a file as columns: what a reader hands over, from its own thread if need be. */
import { packFlags, type Status } from './columns.ts';
import { growableF64, growableU32 } from './growable.ts';
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
  /** Binary64 of the numbers beside the reward, in the layout's order; NaN where one is missing. */
  readonly numbers: readonly Float64Array[];
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
  /** Rows in which each of several reward columns, and then each of the numbers, is there, be it null. */
  readonly met: readonly number[];
  /** Of the columns that must be met, those that some row has. */
  readonly columnsMet: readonly string[];
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
  readonly numbers: number[];
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
    numbers: [],
  };
}

const FIRST_CAPACITY = 1024;

/** Collects rows one by one. All columns grow together, so that a row costs one look at the capacity. */
export class ChunkBuilder {
  rowCount = 0;
  readonly #coders: ChunkCoders;
  readonly #hasIndexes: boolean;
  readonly #hasBatches: boolean;
  readonly #hasKeys: boolean;
  readonly #hasRecorded: boolean;
  #numbers: Float64Array[];
  readonly #recordsHoldRows: boolean;
  #capacity = FIRST_CAPACITY;
  #groups = new Uint32Array(FIRST_CAPACITY);
  #rollouts = new Uint32Array(FIRST_CAPACITY);
  #rewards = new Float64Array(FIRST_CAPACITY);
  #tokens = new Uint32Array(FIRST_CAPACITY);
  #flags = new Uint8Array(FIRST_CAPACITY);
  // Columns that most layouts do not have stay empty.
  #indexes = new Uint32Array(0);
  #batches = new Uint32Array(0);
  #keys = new Uint32Array(0);
  #recorded = new Float64Array(0);
  readonly #placeRows = growableU32();
  readonly #placeRecords = growableF64();
  /** Row and record of the last place. */
  #lastRow = -1;
  #lastRecord = -1;

  /** @param recordsHoldRows several rows may be of one record */
  constructor(coders: ChunkCoders, hasRecorded: boolean, recordsHoldRows: boolean, numberCount = 0) {
    this.#coders = coders;
    this.#numbers = Array.from({ length: numberCount }, () => new Float64Array(0));
    this.#hasIndexes = coders.indexes !== null;
    this.#hasBatches = coders.batches !== null;
    this.#hasKeys = coders.keys !== null;
    this.#hasRecorded = hasRecorded;
    this.#recordsHoldRows = recordsHoldRows;
    this.#resizeOptional(FIRST_CAPACITY);
  }

  /** @param record its number in the chunk, from 1 */
  push(row: RowValues, record: number): void {
    const at = this.rowCount;
    if (at === this.#capacity) this.#grow();
    this.#groups[at] = row.group;
    this.#rollouts[at] = row.rollout;
    this.#rewards[at] = row.reward;
    this.#tokens[at] = row.tokens;
    this.#flags[at] = packFlags(row.removed, row.keyedByIndex, row.status);
    if (this.#hasIndexes) this.#indexes[at] = row.index;
    if (this.#hasBatches) this.#batches[at] = row.batch;
    if (this.#hasKeys) this.#keys[at] = row.key;
    if (this.#hasRecorded) this.#recorded[at] = row.recorded;
    for (let k = 0; k < this.#numbers.length; k++) this.#numbers[k][at] = row.numbers[k];
    this.#notePlace(record);
    this.rowCount = at + 1;
  }

  /** @param shared the coders outlive the chunk, so that its codes need no dictionary */
  finish(recordCount: number, facts: ChunkFacts, shared: boolean): RowChunk {
    const { rowCount } = this;
    const coded = (codes: Uint32Array, coder: IdCoder): CodedIds => ({
      codes: codes.slice(0, rowCount),
      dictionary: shared ? null : coder.snapshot(),
    });
    const { groups, rollouts, indexes, batches, keys } = this.#coders;
    return {
      rowCount,
      recordCount,
      groups: coded(this.#groups, groups),
      rollouts: coded(this.#rollouts, rollouts),
      indexes: indexes && coded(this.#indexes, indexes),
      batches: batches && coded(this.#batches, batches),
      keys: keys && coded(this.#keys, keys),
      rewards: this.#rewards.slice(0, rowCount),
      tokens: this.#tokens.slice(0, rowCount),
      flags: this.#flags.slice(0, rowCount),
      recorded: this.#hasRecorded ? this.#recorded.slice(0, rowCount) : null,
      numbers: this.#numbers.map((column) => column.slice(0, rowCount)),
      facts,
      places: { rows: this.#placeRows.view().slice(), records: this.#placeRecords.view().slice() },
    };
  }

  /** By half, so that the peak stays near what is kept. */
  #grow(): void {
    this.#capacity = Math.ceil(this.#capacity * 1.5);
    this.#groups = widened(this.#groups, new Uint32Array(this.#capacity));
    this.#rollouts = widened(this.#rollouts, new Uint32Array(this.#capacity));
    this.#rewards = widened(this.#rewards, new Float64Array(this.#capacity));
    this.#tokens = widened(this.#tokens, new Uint32Array(this.#capacity));
    this.#flags = widened(this.#flags, new Uint8Array(this.#capacity));
    this.#resizeOptional(this.#capacity);
  }

  #resizeOptional(capacity: number): void {
    if (this.#hasIndexes) this.#indexes = widened(this.#indexes, new Uint32Array(capacity));
    if (this.#hasBatches) this.#batches = widened(this.#batches, new Uint32Array(capacity));
    if (this.#hasKeys) this.#keys = widened(this.#keys, new Uint32Array(capacity));
    if (this.#hasRecorded) this.#recorded = widened(this.#recorded, new Float64Array(capacity));
    this.#numbers = this.#numbers.map((column) => widened(column, new Float64Array(capacity)));
  }

  /** Only where rows and records stop going hand in hand is anything kept. */
  #notePlace(record: number): void {
    const row = this.rowCount;
    const step = this.#recordsHoldRows ? 0 : row - this.#lastRow;
    if (this.#lastRow >= 0 && this.#lastRecord + step === record) return;
    this.#lastRow = row;
    this.#lastRecord = record;
    this.#placeRows.push(row);
    this.#placeRecords.push(record);
  }
}

function widened<T extends Uint8Array | Uint32Array | Float64Array>(array: T, wider: T): T {
  wider.set(array);
  return wider;
}

/** What can be transferred to another thread rather than copied. */
export function transferablesOf(chunk: RowChunk): ArrayBuffer[] {
  const ids = [chunk.groups, chunk.rollouts, chunk.indexes, chunk.batches, chunk.keys].filter(
    (coded) => coded !== null,
  );
  const arrays: (ArrayBufferView | null)[] = [
    chunk.rewards,
    chunk.tokens,
    chunk.flags,
    chunk.recorded,
    ...chunk.numbers,
  ];
  for (const { codes, dictionary } of ids) {
    arrays.push(codes);
    if (dictionary) arrays.push(dictionary.bytes, dictionary.kinds, dictionary.offsets);
  }
  const buffers = arrays.filter((array) => array !== null).map(({ buffer }) => buffer as ArrayBuffer);
  return [...new Set(buffers)];
}
