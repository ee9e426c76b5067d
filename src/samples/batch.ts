/** A batch as a caller of the library gives it, and its way into columns. */
import { InputError, spelled } from '../errors.ts';
import {
  COUNT_THE_MASK,
  isRemoved,
  type PackedLossMasks,
  packFlags,
  type SampleColumns,
  STATUSES,
  type Status,
} from './columns.ts';
import { type Id, IdCoder, NO_ID } from './ids.ts';
import { isColumn, packLossMasks, requireMaskLength, requirePackedMasks } from './loss-masks.ts';
import { shareMissing, weightedSum } from './rewards.ts';
import { NO_COUNT, saysTokens, trainableTokens as tokensOfRow } from './tokens.ts';

/**
 * Ids of one column: whole numbers or strings, not both; null and undefined are absent, in typed arrays no row is. Ids compare
 * by identity. A number past 2^53 must be a bigint (an array of them, BigInt64Array, BigUint64Array): as a number it may have
 * been rounded to another id, and is refused.
 */
export type IdColumn =
  | Int32Array
  | Uint32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array
  | ArrayLike<Id | null | undefined>;

/** Binary64; NaN, null, undefined or an infinity is missing; booleans are 1 and 0. */
export type NumberColumn = Float64Array | Float32Array | ArrayLike<number | boolean | null | undefined>;

/**
 * The rows of a batch as columns of equal length, one entry a row. Only `reward`, or `rewards`, is required; a column that is
 * undefined is absent. Unknown columns are an InputError.
 */
export interface Batch {
  /** A missing one is an InputError, unless `missing-reward` is excluded. */
  readonly reward?: NumberColumn | undefined;
  /**
   * Several rewards of a row by name, instead of `reward`; a row that lacks one lacks all. gdpo takes them apart; the reward
   * of a row is their sum, weighted by `rewardWeights` in the order of the names. A sum past binary64 is an InputError.
   */
  readonly rewards?: Readonly<Record<string, NumberColumn>> | undefined;
  /** Recorded baselines, for remax: every row that has a reward needs one. */
  readonly baseline?: NumberColumn | undefined;
  /** Prompt group. Where any row has none, groups are found in another way (GroupingOptions), with a warning. */
  readonly groupIndex?: IdColumn | undefined;
  /** Rows of a group with equal ids are one rollout; null: `index` says so. */
  readonly rolloutId?: IdColumn | undefined;
  /** The rollout of rows without a rolloutId, in the same key space; null: the row is a rollout by itself. */
  readonly index?: IdColumn | undefined;
  /**
   * Lists of 0/1 or booleans, or bits packed with packLossMasks(); null, and a packed row without words: no mask. The ones
   * are the row's trainable tokens. A mask is as long as responseLength, where the row has both.
   */
  readonly lossMask?: PackedLossMasks | ArrayLike<ArrayLike<number | boolean> | null | undefined> | undefined;
  /** Tokens of the response, 0 to 2^32 - 2: the trainable ones of a row without a mask. Null: unknown. */
  readonly responseLength?: ArrayLike<number | null | undefined> | undefined;
  /** Tokens that reach the loss, 0 to 2^32 - 2; goes before the mask and the length. Null: these say. */
  readonly trainableTokens?: ArrayLike<number | null | undefined> | undefined;
  /** True or 1: the row does not reach the loss, and has no trainable tokens. Null: false. */
  readonly removeSample?: ArrayLike<boolean | number | null | undefined> | undefined;
  /** `completed`, `truncated`, `aborted` or `failed`, by which rollouts can be excluded. Null: completed. */
  readonly status?: ArrayLike<string | null | undefined> | undefined;
}

/**
 * Checks a batch and turns it into columns.
 * @throws InputError naming row and field
 */
export function columnsOfBatch(batch: Batch): SampleColumns {
  if (typeof batch !== 'object' || batch === null) throw new InputError('a batch must be an object of columns');
  const rowCount = requireShape(batch);
  const groupIds = new IdCoder();
  const rolloutIds = new IdCoder();
  const { flags, unknownStatuses } = flagsOf(batch, rowCount);
  return {
    rowCount,
    groupCodes: batch.groupIndex ? codesOf('groupIndex', batch.groupIndex, groupIds) : null,
    rolloutCodes: rolloutCodesOf(batch, rolloutIds, flags),
    ...(batch.rewards ? severalRewards(batch.rewards, rowCount) : numbersOf('reward', batch.reward!)),
    baselines: batch.baseline ? numbersOf('baseline', batch.baseline).rewards : null,
    ...tokensOf(batch, rowCount, flags),
    flags,
    groupIds,
    rolloutIds,
    unknownStatuses,
    place,
  };
}

const place = (row: number) => `row ${row + 1}`;

const COLUMNS = [
  ...['reward', 'groupIndex', 'rolloutId', 'index', 'lossMask', 'responseLength', 'trainableTokens'],
  ...['removeSample', 'status', 'rewards', 'baseline'],
];

/**
 * Columns are arrays of one length, and none is misspelled: a name that is not read would change the result unseen.
 * @returns that length
 */
function requireShape({ rewards, ...batch }: Batch): number {
  if (rewards && batch.reward) throw new InputError('a batch has reward or rewards, not both');
  if (rewards && (typeof rewards !== 'object' || isColumn(rewards) || Object.keys(rewards).length === 0))
    throw new InputError('rewards must be an object of columns by their names, with one at the least');
  const stranger = Object.keys(batch).find((field) => !COLUMNS.includes(field));
  if (stranger !== undefined) throw new InputError(`unknown column ${stranger}; known: ${COLUMNS.join(', ')}`);
  const named = Object.entries(rewards ?? {}).map(([name, column]) => [`rewards.${name}`, column] as const);
  const [first] = rewards ? named : ([['reward', batch.reward]] as const);
  if (!first || !isColumn(first[1]))
    throw new InputError(`${first?.[0] ?? 'rewards'} must be an array or a typed array`);
  const rowCount = first[1]!.length;
  for (const [field, column] of named)
    if (!isColumn(column)) throw new InputError(`${field} must be an array or a typed array`);
  for (const [field, column] of [...Object.entries(batch), ...named]) {
    if (column === undefined || column === null) continue;
    const isPacked = field === 'lossMask' && typeof column === 'object' && 'wordOffsets' in column;
    if (isPacked) requirePackedMasks(column);
    else if (!isColumn(column)) throw new InputError(`${field} must be an array or a typed array`);
    const length = isPacked ? column.wordOffsets.length - 1 : (column as ArrayLike<unknown>).length;
    if (length !== rowCount) throw new InputError(`${field} has ${length} entries but ${first[0]} has ${rowCount}`);
  }
  return rowCount;
}

function severalRewards(
  named: NonNullable<Batch['rewards']>,
  rowCount: number,
): Pick<SampleColumns, 'rewards' | 'missingReward' | 'rewardParts' | 'rewardNames'> {
  const rewardNames = Object.keys(named);
  const parts = rewardNames.map((name) => numbersOf(`rewards.${name}`, named[name]));
  const missingReward = parts.reduce<SampleColumns['missingReward']>(
    (first, { missingReward: own }) => (own && (first === null || own.row < first.row) ? own : first),
    null,
  );
  const rewardParts = parts.map(({ rewards }) => rewards);
  shareMissing(rewardParts, rowCount);
  return { rewardNames, rewardParts, missingReward, rewards: weightedSum(rewardParts, null, rowCount) };
}

function numbersOf(field: string, column: NumberColumn): Pick<SampleColumns, 'rewards' | 'missingReward'> {
  const isTyped = column instanceof Float64Array || column instanceof Float32Array;
  const rewards = isTyped ? new Float64Array(column) : plainNumbers(field, column);
  let missingReward: SampleColumns['missingReward'] = null;
  for (let row = 0; row < rewards.length; row++) {
    if (Number.isFinite(rewards[row])) continue;
    rewards[row] = Number.NaN;
    missingReward ??= { row, found: field === 'reward' ? String(column[row]) : `${field} ${column[row]}` };
  }
  return { rewards, missingReward };
}

function plainNumbers(field: string, column: NumberColumn): Float64Array {
  const numbers = new Float64Array(column.length);
  for (let row = 0; row < numbers.length; row++) {
    const value = column[row];
    if (typeof value === 'number') numbers[row] = value;
    else if (value === null || value === undefined) numbers[row] = Number.NaN;
    else if (typeof value === 'boolean') numbers[row] = Number(value);
    else throw new InputError(`${place(row)}: ${field} must be a number, a boolean or null, got ${typeof value}`);
  }
  return numbers;
}

type IdKind = 'number' | 'string';

function codesOf(field: string, column: IdColumn, coder: IdCoder): Uint32Array {
  if (column instanceof BigInt64Array || column instanceof BigUint64Array) return coder.codesOfIntegers(column);
  if (column instanceof Int32Array || column instanceof Uint32Array) return coder.codesOfIntegers(column);
  const codes = new Uint32Array(column.length);
  let kind: IdKind | null = null;
  let last: Id | null | undefined = null;
  for (let row = 0; row < codes.length; row++) {
    const id = column[row];
    if (row > 0 && id === last) {
      codes[row] = codes[row - 1];
      continue;
    }
    last = id;
    if (typeof id === 'number' && kind !== 'string' && Number.isSafeInteger(id)) {
      kind = 'number';
      codes[row] = coder.codeOfInteger(id);
      continue;
    }
    if (id === null || id === undefined) {
      codes[row] = NO_ID;
      continue;
    }
    kind = requireId(field, id, kind, row);
    codes[row] = coder.codeOf(id);
  }
  return codes;
}

function requireId(field: string, id: Id, kind: IdKind | null, row: number): IdKind {
  const own = typeof id === 'string' ? 'string' : 'number';
  if (typeof id === 'number' && !Number.isSafeInteger(id)) {
    throw new InputError(`${place(row)}: ${field} must be a whole number (a bigint past 2^53) or a string, got ${id}`);
  }
  if (!['string', 'number', 'bigint'].includes(typeof id)) {
    throw new InputError(`${place(row)}: ${field} must be a whole number or a string, got ${typeof id}`);
  }
  if (kind !== null && kind !== own)
    throw new InputError(`${place(row)}: ${field} mixes numbers and strings, got a ${own} after a ${kind}`);
  return own;
}

/** rollout_id, else index; rows keyed by index are marked in `flags`. */
function rolloutCodesOf(batch: Batch, coder: IdCoder, flags: Uint8Array | null): Uint32Array | null {
  const codes = batch.rolloutId ? codesOf('rolloutId', batch.rolloutId, coder) : null;
  if (!batch.index) return codes;
  // Codes of an index that no row needs are not kept, but the column is checked all the same.
  const needed = !codes || codes.includes(NO_ID);
  const indexCodes = codesOf('index', batch.index, needed ? coder : new IdCoder());
  if (!needed) return codes;
  if (!codes) {
    for (let row = 0; flags !== null && row < flags.length; row++) flags[row] |= packFlags(false, true, 'completed');
    return indexCodes;
  }
  for (let row = 0; row < codes.length; row++) {
    if (codes[row] !== NO_ID) continue;
    codes[row] = indexCodes[row];
    flags![row] |= packFlags(false, true, 'completed');
  }
  return codes;
}

function flagsOf(batch: Batch, rowCount: number): { flags: Uint8Array | null; unknownStatuses: string[] } {
  const unknown = new Set<string>();
  const needed = batch.removeSample || batch.status || batch.index;
  if (!needed) return { flags: null, unknownStatuses: [] };
  const flags = new Uint8Array(rowCount);
  for (let row = 0; row < rowCount; row++) {
    const removed = batch.removeSample?.[row] ?? false;
    if (removed !== true && removed !== false && removed !== 0 && removed !== 1) {
      throw new InputError(`${place(row)}: removeSample must be a boolean, got ${spelled(removed)}`);
    }
    const text = batch.status?.[row] ?? 'completed';
    if (typeof text !== 'string') throw new InputError(`${place(row)}: status must be text, got ${typeof text}`);
    flags[row] = packFlags(Boolean(removed), false, statusFromText(text, unknown));
  }
  return { flags, unknownStatuses: [...unknown] };
}

const UNKNOWN_STATUSES_NAMED = 3;

/** The status that a text names; texts that name none are collected, the first few of them. */
export function statusFromText(text: string, unknown: Set<string>): Status {
  if (text !== 'other' && STATUSES.includes(text as Status)) return text as Status;
  if (unknown.size < UNKNOWN_STATUSES_NAMED) unknown.add(text);
  return 'other';
}

function tokensOf(
  batch: Batch,
  rowCount: number,
  flags: Uint8Array | null,
): Pick<SampleColumns, 'fixedTokens' | 'lossMasks'> {
  const { trainableTokens, responseLength, lossMask } = batch;
  if (!trainableTokens && !responseLength && !lossMask) return { fixedTokens: null, lossMasks: null };
  const only = lossMask || (trainableTokens && responseLength) ? undefined : (trainableTokens ?? responseLength);
  if ((only instanceof Uint32Array || only instanceof Int32Array) && flags === null && rowCount > 0)
    return { fixedTokens: wholeCounts(trainableTokens ? 'trainableTokens' : 'responseLength', only), lossMasks: null };
  const lossMasks = !lossMask || 'wordOffsets' in lossMask ? (lossMask ?? null) : packLossMasks(lossMask);
  const lists = lossMask && !('wordOffsets' in lossMask) ? lossMask : null;
  const fixedTokens = new Uint32Array(rowCount);
  let isKnown = lossMasks !== null && lists === null;
  for (let row = 0; row < rowCount; row++) {
    const stated = countOf('trainableTokens', trainableTokens?.[row], row);
    const length = countOf('responseLength', responseLength?.[row], row);
    const mask = lists?.[row];
    if (mask && length !== NO_COUNT && mask.length !== length) {
      throw new InputError(`${place(row)}: lossMask has ${mask.length} entries but responseLength is ${length}`);
    }
    if (lossMasks && !lists && length !== NO_COUNT) requireMaskLength(lossMasks, row, length);
    const masked = (lists ? mask : hasWords(lossMasks, row)) ? COUNT_THE_MASK : NO_COUNT;
    isKnown ||= saysTokens(stated, masked, length);
    fixedTokens[row] = tokensOfRow(isRemoved(flags, row), stated, masked, length);
  }
  return isKnown ? { fixedTokens, lossMasks } : { fixedTokens: null, lossMasks: null };
}

/** Largest count of a row: the next number has a meaning of its own. */
export const MOST_TOKENS = COUNT_THE_MASK - 1;

/** Counts that are the only ones, of which none is absent. */
function wholeCounts(field: string, column: Uint32Array | Int32Array): Uint32Array {
  const counts = new Uint32Array(column);
  const most = column instanceof Int32Array ? 2 ** 31 - 1 : MOST_TOKENS; // past it are those below 0
  for (let row = 0; row < counts.length; row++) if (counts[row] > most) countOf(field, column[row], row);
  return counts;
}

function hasWords(masks: PackedLossMasks | null, row: number): boolean {
  return masks !== null && masks.wordOffsets[row + 1] > masks.wordOffsets[row];
}

function countOf(field: string, value: number | null | undefined, row: number): number {
  if (value === null || value === undefined) return NO_COUNT;
  if (Number.isInteger(value) && value >= 0 && value <= MOST_TOKENS) return value;
  throw new InputError(`${place(row)}: ${field} must be a whole number from 0 to ${MOST_TOKENS}, got ${value}`);
}
