/** Rewards, token counts, flags and statuses of a run of rows, from vectors. */
import { InputError } from '../../errors.ts';
import { MOST_TOKENS, statusFromText } from '../../samples/batch.ts';
import { packFlags, REMOVED, type Status } from '../../samples/columns.ts';
import { RewardSum } from '../../samples/reward-sum.ts';
import { NO_COUNT, saysTokens, trainableTokens } from '../../samples/tokens.ts';
import { RecordError } from '../jsonl/line-range.ts';
import { type Layout, numberSources, type RewardSource, referenceOf } from '../layouts/layout.ts';
import { numberFromText } from '../layouts/number-text.ts';
import type { IntegerVector, MaskVector, Vector } from '../vectors.ts';
import type { VectorOf } from './requests.ts';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export interface RewardColumn {
  readonly rewards: Float64Array;
  readonly missing: { readonly row: number; readonly found: string } | null;
  readonly fromText: number;
  /** The file has none of the columns. */
  readonly isAbsent: boolean;
}

/** @param firstRow of the vectors in the portion, for errors */
export function rewardsOfSource(
  source: RewardSource | undefined,
  vectorOf: VectorOf,
  rowCount: number,
  firstRow: number,
): RewardColumn {
  if (source?.isSum) return sumsOfSource(source, vectorOf, rowCount, firstRow);
  const name = source?.columns[0].column.text ?? 'reward';
  if (source?.scored) throw new InputError(`${name}: scores with weights are only read from JSON`);
  const vector = vectorOf(source?.columns[0].column);
  const isPlain = vector?.kind === 'numbers' && vector.present === null;
  const rewards = isPlain ? vector.values.slice(0, rowCount) : new Float64Array(rowCount);
  const fromText = vector?.kind === 'texts' && source?.fromText ? rowCount : 0;
  let missing: RewardColumn['missing'] = null;
  for (let row = 0; row < rowCount; row++) {
    if (!isPlain)
      rewards[row] = (vector && numberAt(name, vector, row, firstRow, source?.fromText ?? false)) ?? Number.NaN;
    if (Number.isFinite(rewards[row])) continue;
    missing ??= { row, found: describeMissing(name, vector, row, rewards[row]) };
    rewards[row] = Number.NaN;
  }
  return { rewards, missing, fromText, isAbsent: vector === null };
}

function sumsOfSource(source: RewardSource, vectorOf: VectorOf, rowCount: number, firstRow: number): RewardColumn {
  const columns = source.columns.map(({ column, weight }) => {
    const vector = vectorOf(column);
    if (!vector) throw new InputError(`there is no column ${column.text}, which is part of the reward`);
    return { name: column.text, weight, vector };
  });
  const rewards = new Float64Array(rowCount);
  const sum = new RewardSum();
  let missing: RewardColumn['missing'] = null;
  for (let row = 0; row < rowCount; row++) {
    sum.begin();
    for (const { name, weight, vector } of columns)
      sum.add(name, weight, numberAt(name, vector, row, firstRow, source.fromText));
    rewards[row] = inRecord(firstRow + row + 1, () => sum.end());
    if (Number.isNaN(rewards[row])) missing ??= { row, found: sum.found };
  }
  const texts = columns.filter(({ vector }) => vector.kind === 'texts').length;
  return { rewards, missing, fromText: source.fromText ? texts * rowCount : 0, isAbsent: false };
}

/** Names the record where what is read of it is refused. */
function inRecord<T>(record: number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new RecordError(record, (error as Error).message, { cause: error });
  }
}

/** What stands in the place of a reward that is the sum of its parts. */
export const NO_REWARDS: RewardColumn = { rewards: new Float64Array(0), missing: null, fromText: 0, isAbsent: false };

export interface NumberColumns {
  /** By number, in the layout's order. */
  readonly numbers: readonly Float64Array[];
  /** Rows in which each is there, be it null. Columns of a weighted sum, which are refused where they are not, count as met. */
  readonly met: readonly number[];
  /** Sums of the parts of the reward; null: it has no parts. */
  readonly sums: Float64Array | null;
  /** The first row that lacks a part. */
  readonly missing: RewardColumn['missing'];
}

/** The numbers of each row beside its reward. */
export function numbersOfLayout(layout: Layout, vectorOf: VectorOf, rowCount: number, firstRow: number): NumberColumns {
  const sources = numberSources(layout).map(referenceOf);
  const columns = sources.map((column) =>
    rewardsOfSource(
      { columns: [{ column, weight: 1 }], isSum: false, scored: false, fromText: false },
      vectorOf,
      rowCount,
      firstRow,
    ),
  );
  const summed = layout.reward?.isSum && !layout.rewardParts ? layout.reward.columns.map(() => rowCount) : [];
  const met = [...summed, ...columns.map(({ isAbsent }) => (isAbsent ? 0 : rowCount))];
  const numbers = columns.map(({ rewards }) => rewards);
  const parts = columns.slice(0, layout.rewardParts?.length ?? 0);
  if (parts.length === 0) return { numbers, met, sums: null, missing: null };
  const sums = new Float64Array(rowCount);
  let missing: RewardColumn['missing'] = null;
  for (const [k, { rewards, missing: own }] of parts.entries()) {
    for (let row = 0; row < rowCount; row++) sums[row] += rewards[row];
    if (own && (missing === null || own.row < missing.row))
      missing = { row: own.row, found: own.found === 'null' ? `null for ${sources[k].text}` : own.found };
  }
  return { numbers, met, sums, missing };
}

function describeMissing(name: string, vector: Vector | null, row: number, value: number): string {
  if (!vector) return `no ${name}`;
  const isNull = vector.kind === 'nulls' || (vector.present && vector.present[row] === 0);
  if (isNull) return 'null';
  return name === 'reward' ? String(value) : `${name} ${value}`;
}

function numberAt(name: string, vector: Vector, row: number, firstRow: number, fromText: boolean): number | null {
  if (vector.kind === 'nulls' || (vector.present && vector.present[row] === 0)) return null;
  if (vector.kind === 'numbers' || vector.kind === 'booleans') return vector.values[row];
  if (vector.kind === 'integers') return Number(vector.values[row]);
  const place = firstRow + row + 1;
  if (vector.kind === 'texts') {
    const text = textAt(vector, row);
    if (!fromText)
      throw new RecordError(place, `${name} must be a number or a boolean, found ${JSON.stringify(text.slice(0, 40))}`);
    return inRecord(place, () => numberFromText(name, text));
  }
  throw new RecordError(place, `${name} must be a number or a boolean, found a list`);
}

function textAt(vector: Extract<Vector, { kind: 'texts' }>, row: number): string {
  const entry = vector.codes[row];
  return decoder.decode(vector.bytes.subarray(vector.offsets[entry], vector.offsets[entry + 1]));
}

export interface FlagColumn {
  readonly flags: Uint8Array;
  readonly unknownStatuses: Set<string>;
}

/** @param keyedByIndex 1 where the rollout's key is the index */
export function flagsOfLayout(
  layout: Layout,
  vectorOf: VectorOf,
  keyedByIndex: Uint8Array,
  firstRow: number,
): FlagColumn {
  const flags = new Uint8Array(keyedByIndex.length);
  const unknownStatuses = new Set<string>();
  const removed = vectorOf(layout.remove_sample?.column);
  const status = vectorOf(layout.status?.column);
  if (!removed && !status) {
    const plain = packFlags(false, false, 'completed');
    const keyed = packFlags(false, true, 'completed');
    if (!keyedByIndex.includes(1)) flags.fill(plain);
    else for (let row = 0; row < flags.length; row++) flags[row] = keyedByIndex[row] ? keyed : plain;
    return { flags, unknownStatuses };
  }
  for (let row = 0; row < flags.length; row++) {
    const isRemoved = removed !== null && removedAt(layout, removed, row, firstRow);
    const state = status ? statusAt(layout, status, row, firstRow, unknownStatuses) : 'completed';
    flags[row] = packFlags(isRemoved, keyedByIndex[row] === 1, state);
  }
  return { flags, unknownStatuses };
}

function removedAt(layout: Layout, vector: Vector, row: number, firstRow: number): boolean {
  const { column, when } = layout.remove_sample!;
  if (vector.kind === 'nulls' || (vector.present && vector.present[row] === 0)) return false;
  if (when === 'present') return true;
  const isTruth = vector.kind === 'booleans';
  if (when !== 'zero' && !isTruth)
    throw new RecordError(firstRow + row + 1, `${column.text} must be true or false, found ${vector.kind}`);
  const value = numberAt(column.text, vector, row, firstRow, false);
  return when === 'true' ? value === 1 : value === 0;
}

function statusAt(layout: Layout, vector: Vector, row: number, firstRow: number, unknown: Set<string>): Status {
  const { column, whenTrue } = layout.status!;
  if (vector.kind === 'nulls' || (vector.present && vector.present[row] === 0)) return 'completed';
  if (whenTrue && vector.kind === 'booleans') return vector.values[row] === 1 ? whenTrue : 'completed';
  if (!whenTrue && vector.kind === 'texts') return statusFromText(textAt(vector, row), unknown);
  throw new RecordError(
    firstRow + row + 1,
    `${column.text} must be ${whenTrue ? 'true or false' : 'text'}, found ${vector.kind}`,
  );
}

/** Trainable tokens of each row, and whether any row says of them. */
export function tokensOfLayout(
  layout: Layout,
  vectorOf: VectorOf,
  flags: Uint8Array,
  firstRow: number,
): { tokens: Uint32Array; known: boolean } {
  const rowCount = flags.length;
  const tokens = new Uint32Array(rowCount);
  const stated = countsOf(layout.trainable_tokens?.text, vectorOf(layout.trainable_tokens), rowCount, firstRow);
  const lengths = countsOf(layout.response_length?.text, vectorOf(layout.response_length), rowCount, firstRow);
  const prompts = countsOf(layout.prompt_length?.text, vectorOf(layout.prompt_length), rowCount, firstRow);
  const mask = maskOf(layout, vectorOf, firstRow);
  if (!stated && !lengths && !mask) return { tokens, known: false };
  if (!stated && !prompts && !(lengths && mask)) return { tokens, known: fillFromOne(tokens, flags, lengths, mask) };
  let known = false;
  for (let row = 0; row < rowCount; row++) {
    let length = lengths ? lengths[row] : NO_COUNT;
    if (prompts && length !== NO_COUNT) {
      if (prompts[row] > length)
        throw new RecordError(
          firstRow + row + 1,
          `${layout.prompt_length?.text} is ${prompts[row]}, more than the ${length} of ${layout.response_length?.text}`,
        );
      length = prompts[row] === NO_COUNT ? NO_COUNT : length - prompts[row];
    }
    const hasMask = mask !== null && (mask.present === null || mask.present[row] === 1);
    if (hasMask && length !== NO_COUNT && mask.lengths[row] !== length)
      throw new RecordError(
        firstRow + row + 1,
        `${layout.loss_mask?.column.text} has ${mask.lengths[row]} entries but ${layout.response_length?.text} is ${length}`,
      );
    const masked = hasMask ? mask.ones[row] : NO_COUNT;
    const own = stated ? stated[row] : NO_COUNT;
    known ||= saysTokens(own, masked, length);
    tokens[row] = trainableTokens((flags[row] & 1) === 1, own, masked, length);
  }
  return { tokens, known };
}

/** Where a row has a length or a mask and nothing else: what the loop over all of them gives, in less time. */
function fillFromOne(
  tokens: Uint32Array,
  flags: Uint8Array,
  lengths: Float64Array | null,
  mask: MaskVector | null,
): boolean {
  const counts = lengths ?? mask!.ones;
  const present = mask?.present ?? null;
  let known = false;
  for (let row = 0; row < tokens.length; row++) {
    const count = present !== null && present[row] === 0 ? NO_COUNT : counts[row];
    if (count === NO_COUNT) continue;
    known = true;
    if ((flags[row] & REMOVED) === 0) tokens[row] = count;
  }
  return known;
}

function maskOf(layout: Layout, vectorOf: VectorOf, firstRow: number): MaskVector | null {
  const vector = vectorOf(layout.loss_mask?.column);
  const name = layout.loss_mask?.column.text;
  if (!vector || vector.kind === 'nulls') return null;
  if (layout.loss_mask?.counts === 'labels') throw new InputError(`${name}: masks of labels are only read from JSON`);
  if (vector.kind !== 'masks') throw new InputError(`${name} must be a list of 0 and 1, found ${vector.kind}`);
  if (vector.invalid)
    throw new RecordError(
      firstRow + vector.invalid.row + 1,
      `${name}: expected 0, 1, true or false, found ${vector.invalid.found}`,
    );
  return vector;
}

/** NO_COUNT where absent. */
function countsOf(
  name: string | undefined,
  vector: Vector | null,
  rowCount: number,
  firstRow: number,
): Float64Array | null {
  if (!vector || vector.kind === 'nulls') return null;
  const counts = new Float64Array(rowCount).fill(NO_COUNT);
  if (vector.kind === 'integers' && vector.present === null && !isWide(vector.values)) {
    counts.set(vector.values);
    if (counts.every(isCount)) return counts;
  }
  for (let row = 0; row < rowCount; row++) {
    const value = vector.kind === 'booleans' ? Number.NaN : numberAt(name!, vector, row, firstRow, false);
    if (value === null) continue;
    if (!isCount(value))
      throw new RecordError(
        firstRow + row + 1,
        `${name}: expected a whole number from 0 to ${MOST_TOKENS}, found ${value}`,
      );
    counts[row] = value;
  }
  return counts;
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= MOST_TOKENS;
}

function isWide(values: IntegerVector['values']): values is BigInt64Array | BigUint64Array {
  return values instanceof BigInt64Array || values instanceof BigUint64Array;
}
