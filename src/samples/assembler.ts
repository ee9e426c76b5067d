/** Puts the chunks of a batch together, in the order of its rows. */
import { InputError } from '../errors.ts';
import type { SampleColumns } from './columns.ts';
import { IdCoder, NO_ID } from './ids.ts';
import { JoinedColumn } from './joined-column.ts';
import type { Places } from './places.ts';
import { shareMissing } from './rewards.ts';
import type { ChunkCoders, ChunkFacts, CodedIds, KindSeen, RowChunk } from './row-chunk.ts';

/** Columns beside those that a normalization needs. */
export interface SideColumns {
  /** Codes of index by `indexIds`, or NO_ID. */
  readonly indexCodes: Uint32Array | null;
  readonly indexIds: IdCoder;
  readonly batchCodes: Uint32Array | null;
  readonly batchIds: IdCoder;
  readonly keyCodes: Uint32Array | null;
  readonly keyIds: IdCoder;
  readonly recorded: Float64Array | null;
}

export interface AssembledBatch {
  readonly columns: SampleColumns;
  readonly side: SideColumns;
  readonly facts: BatchFacts;
}

export interface BatchFacts {
  readonly rewardsFromText: number;
  /** No row has the reward's column at all. */
  readonly rewardNeverThere: boolean;
  /** Of the columns that must be met, those that some row has. */
  readonly columnsMet: ReadonlySet<string>;
  readonly names: readonly string[];
  /** Groups that a file itself states, by their sizes. */
  readonly promptGroupSizes: readonly number[] | undefined;
}

const UNKNOWN_STATUSES_NAMED = 3;
const KEYS_LISTED = 20;

export interface AssemblerOptions {
  readonly rewardKey?: string | undefined;
  /** Groups are runs of so many rows. */
  readonly groupSize?: number | undefined;
  /** Names of the columns whose rows `met` counts: those of a weighted sum, then the numbers. */
  readonly metNames?: readonly string[] | undefined;
  /** How many of the numbers are rewards; the one after them is the baseline. */
  readonly rewardParts?: readonly string[] | undefined;
}

export class Assembler {
  readonly groupIds = new IdCoder();
  readonly rolloutIds = new IdCoder();
  readonly indexIds = new IdCoder();
  readonly batchIds = new IdCoder();
  readonly keyIds: IdCoder;
  readonly places: Places;
  rowCount = 0;
  readonly #options: AssemblerOptions;
  /** Columns of ids, which are not there until a row has one. */
  readonly #groups = new JoinedColumn<Uint32Array>(newCodes, NO_ID);
  readonly #rollouts = new JoinedColumn<Uint32Array>(newCodes, NO_ID);
  readonly #indexes = new JoinedColumn<Uint32Array>(newCodes, NO_ID);
  readonly #batches = new JoinedColumn<Uint32Array>(newCodes, NO_ID);
  readonly #keys = new JoinedColumn<Uint32Array>(newCodes, NO_ID);
  readonly #rewards = new JoinedColumn<Float64Array>((length) => new Float64Array(length), Number.NaN);
  readonly #tokens = new JoinedColumn<Uint32Array>((length) => new Uint32Array(length), 0);
  readonly #flags = new JoinedColumn<Uint8Array>((length) => new Uint8Array(length), 0);
  readonly #recorded = new JoinedColumn<Float64Array>((length) => new Float64Array(length), Number.NaN);
  readonly #numbers: JoinedColumn<Float64Array>[] = [];
  readonly #met: number[] = [];
  #expectedRows = 0;
  readonly #idKinds = new Map<string, KindSeen>();
  readonly #rewardKeys = new Set<string>();
  readonly #unknownStatuses = new Set<string>();
  readonly #columnsMet = new Set<string>();
  #objects = 0;
  #keyed = 0;
  #fromText = 0;
  #absent = 0;
  #names: readonly string[] = [];
  #promptGroupSizes: readonly number[] | undefined;
  #tokensKnown = false;
  #missingReward: SampleColumns['missingReward'] = null;

  /** @param keyIds the key space of a join, shared with the other file */
  constructor(places: Places, options: AssemblerOptions = {}, keyIds: IdCoder = new IdCoder()) {
    this.places = places;
    this.#options = options;
    this.keyIds = keyIds;
  }

  /** The coders of the batch's key spaces. */
  get coders(): Readonly<Record<keyof ChunkCoders, IdCoder>> {
    const { groupIds, rolloutIds, indexIds, batchIds, keyIds } = this;
    return { groups: groupIds, rollouts: rolloutIds, indexes: indexIds, batches: batchIds, keys: keyIds };
  }

  /** So many rows more are to come; a hint, by which columns are made as long as they need to be. */
  expectRows(count: number): void {
    this.#expectedRows = this.rowCount + count;
  }

  /**
   * Takes the chunk's columns over.
   * @param recordsBefore records of the file before the chunk
   * @throws InputError where the kinds of an id column mix across chunks
   */
  add(chunk: RowChunk, recordsBefore: number): void {
    const firstRow = this.rowCount;
    this.#addPlaces(chunk, recordsBefore);
    this.#addFacts(chunk.facts, firstRow);
    this.#putIds(this.#groups, this.groupIds, chunk.groups);
    this.#putIds(this.#rollouts, this.rolloutIds, chunk.rollouts);
    this.#putIds(this.#indexes, this.indexIds, chunk.indexes);
    this.#putIds(this.#batches, this.batchIds, chunk.batches);
    this.#putIds(this.#keys, this.keyIds, chunk.keys);
    this.#rewards.put(chunk.rewards, firstRow, this.#expectedRows);
    this.#tokens.put(chunk.tokens, firstRow, this.#expectedRows);
    this.#flags.put(chunk.flags, firstRow, this.#expectedRows);
    const { recorded } = chunk;
    if (recorded && (!this.#recorded.isEmpty || recorded.some((value) => !Number.isNaN(value))))
      this.#recorded.put(recorded, firstRow, this.#expectedRows);
    for (const [k, numbers] of chunk.numbers.entries()) {
      this.#numbers[k] ??= new JoinedColumn((length) => new Float64Array(length), Number.NaN);
      this.#numbers[k].put(numbers, firstRow, this.#expectedRows);
    }
    this.rowCount += chunk.rowCount;
  }

  /** @throws InputError where the reward's key was never met, or groups of a fixed size do not come out even */
  finish(): AssembledBatch {
    this.#requireKeyMet();
    this.#requireColumnsMet();
    const { rowCount } = this;
    const { rewardParts: rewardNames = [] } = this.#options;
    const numbers = this.#numbers.map((column) => column.take(rowCount)!);
    const rewardParts = rewardNames.length > 0 ? numbers.slice(0, rewardNames.length) : null;
    if (rewardParts) shareMissing(rewardParts, rowCount);
    const groupCodes = this.#groupCodes();
    const rolloutCodes = this.#rollouts.take(rowCount);
    const tokens = this.#tokens.take(rowCount) ?? new Uint32Array(0);
    const columns: SampleColumns = {
      rowCount,
      groupCodes,
      rolloutCodes,
      rewards: this.#rewards.take(rowCount) ?? new Float64Array(0),
      missingReward: this.#missingReward,
      rewardParts,
      rewardNames: rewardParts && rewardNames,
      baselines: numbers[rewardNames.length] ?? null,
      fixedTokens: this.#tokensKnown ? tokens : null,
      lossMasks: null,
      flags: this.#flags.take(rowCount) ?? new Uint8Array(0),
      groupIds: this.groupIds,
      rolloutIds: this.rolloutIds,
      unknownStatuses: [...this.#unknownStatuses],
      place: (row) => this.places.describe(row),
    };
    const side: SideColumns = {
      indexCodes: this.#indexes.take(rowCount),
      indexIds: this.indexIds,
      batchCodes: this.#batches.take(rowCount),
      batchIds: this.batchIds,
      keyCodes: this.#keys.take(rowCount),
      keyIds: this.keyIds,
      recorded: this.#recorded.take(rowCount),
    };
    const rewardNeverThere = rowCount > 0 && this.#absent === rowCount;
    const facts = {
      rewardsFromText: this.#fromText,
      rewardNeverThere,
      columnsMet: this.#columnsMet,
      names: this.#names,
    };
    return { columns, side, facts: { ...facts, promptGroupSizes: this.#promptGroupSizes } };
  }

  #groupCodes(): Uint32Array | null {
    const { groupSize } = this.#options;
    if (groupSize === undefined) return this.#groups.take(this.rowCount);
    if (this.rowCount % groupSize !== 0) {
      throw new InputError(
        `${this.rowCount} rows do not divide into groups of ${groupSize} (--group-size): ${this.rowCount % groupSize} would be left`,
      );
    }
    const codes = new Uint32Array(this.rowCount);
    for (let row = 0; row < codes.length; row += groupSize)
      codes.fill(this.groupIds.codeOfInteger(row / groupSize), row, row + groupSize);
    return codes;
  }

  #putIds(column: JoinedColumn<Uint32Array>, coder: IdCoder, ids: CodedIds | null): void {
    if (!ids) return;
    const { codes, dictionary } = ids;
    if (dictionary) coder.translate(codes, dictionary);
    if (column.isEmpty && !codes.some((code) => code !== NO_ID)) return;
    column.put(codes, this.rowCount, this.#expectedRows);
  }

  #addPlaces({ places, rowCount }: RowChunk, recordsBefore: number): void {
    if (places === null) {
      if (rowCount > 0) this.places.beginRun(this.rowCount, recordsBefore + 1);
      return;
    }
    for (let i = 0; i < places.rows.length; i++)
      this.places.beginRun(this.rowCount + places.rows[i], recordsBefore + places.records[i]);
  }

  #addFacts(facts: ChunkFacts, firstRow: number): void {
    if (facts.missingReward && this.#missingReward === null)
      this.#missingReward = { row: firstRow + facts.missingReward.row, found: facts.missingReward.found };
    this.#tokensKnown ||= facts.tokensKnown;
    this.#objects += facts.rewardObjects;
    this.#keyed += facts.keyedRewards;
    this.#fromText += facts.rewardsFromText;
    this.#absent += facts.rewardsAbsent;
    for (const [i, count] of facts.met.entries()) this.#met[i] = (this.#met[i] ?? 0) + count;
    if (this.#names.length === 0) this.#names = facts.names;
    if (facts.promptGroupSizes) this.#promptGroupSizes = [...(this.#promptGroupSizes ?? []), ...facts.promptGroupSizes];
    for (const column of facts.columnsMet) this.#columnsMet.add(column);
    for (const key of facts.rewardKeys) this.#rewardKeys.add(key);
    for (const text of facts.unknownStatuses)
      if (this.#unknownStatuses.size < UNKNOWN_STATUSES_NAMED) this.#unknownStatuses.add(text);
    for (const [field, seen] of Object.entries(facts.idKinds)) this.#requireOneKind(field, seen, firstRow);
  }

  #requireOneKind(field: string, { kind, row, found }: KindSeen, firstRow: number): void {
    const before = this.#idKinds.get(field);
    if (!before) this.#idKinds.set(field, { kind, row: firstRow + row, found });
    else if (before.kind !== kind) {
      const place = this.places.describe(firstRow + row);
      throw new InputError(`${place}: ${mixedKinds(field, kind, found, before.kind)}`);
    }
  }

  /** Where a part of the reward is nowhere, its name is wrong. */
  #requireColumnsMet(): void {
    const never = this.rowCount > 0 ? this.#met.indexOf(0) : -1;
    if (never < 0) return;
    const keys = this.#rewardKeys.size > 0 ? `; keys there are: ${listKeys([...this.#rewardKeys])}` : '';
    const fields = keys === '' && this.#names.length > 0 ? `; the fields are ${this.#names.join(', ')}` : '';
    throw new InputError(`no row has ${this.#options.metNames?.[never]}${keys}${fields}`);
  }

  #requireKeyMet(): void {
    if (this.#objects === 0 || this.#keyed > 0) return;
    throw new InputError(
      `no row's reward has the key ${JSON.stringify(this.#options.rewardKey)}; keys there are: ${listKeys([...this.#rewardKeys])}`,
    );
  }
}

const newCodes = (length: number) => new Uint32Array(length);

export function mixedKinds(field: string, kind: string, found: string, before: string): string {
  return `${field} mixes numbers and strings: found ${kind}, ${found}, after ${before}`;
}

export function listKeys(keys: readonly string[]): string {
  const listed = keys.slice(0, KEYS_LISTED).map((key) => JSON.stringify(key));
  const more = keys.length > KEYS_LISTED ? `, and ${keys.length - KEYS_LISTED} more` : '';
  return keys.length > 0 ? listed.join(', ') + more : 'none';
}
