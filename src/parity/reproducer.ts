/** A batch on which two backends differ, as a file that can be run again: bits as hex digits, nothing rounded. */
import { InputError } from '../errors.ts';
import { type NormalizeOptions, RULE_OPTIONS } from '../options.ts';
import type { Batch, IdColumn } from '../samples/batch.ts';
import { KEYED_BY_INDEX, type PackedLossMasks, REMOVED, type SampleColumns, statusOf } from '../samples/columns.ts';
import { NO_ID } from '../samples/ids.ts';

export const REPRODUCER_MARK = 'rollnorm_parity_reproducer';
const FORMAT = 1;

export interface Reproducer {
  readonly name: string;
  readonly adapter: string | null;
  readonly options: NormalizeOptions;
  readonly cut: boolean;
  readonly batch: Batch;
}

/** Some rows of a batch, in their order, as a batch of its own. Ids become the numbers of their codes. */
export function batchOfRows(columns: SampleColumns, rows: Uint32Array): Batch {
  const pick = (column: Float64Array) => Float64Array.from(rows, (row) => column[row]);
  const { flags, groupCodes, rolloutCodes, rewardParts, rewardNames, baselines, fixedTokens, lossMasks } = columns;
  const isIndex = (row: number) => flags !== null && (flags[row] & KEYED_BY_INDEX) !== 0;
  const ids = (codes: Uint32Array | null, wants: (row: number) => boolean): IdColumn | undefined =>
    codes ? Array.from(rows, (row) => (codes[row] === NO_ID || !wants(row) ? null : codes[row])) : undefined;
  const named = rewardParts?.map((part, k) => [rewardNames?.[k] ?? `reward ${k + 1}`, pick(part)] as const);
  return {
    ...(named ? { rewards: Object.fromEntries(named) } : { reward: pick(columns.rewards) }),
    baseline: baselines ? pick(baselines) : undefined,
    groupIndex: ids(groupCodes, () => true),
    rolloutId: ids(rolloutCodes, (row) => !isIndex(row)),
    index: ids(rolloutCodes, isIndex),
    lossMask: lossMasks ? masksOf(lossMasks, rows) : undefined,
    trainableTokens: fixedTokens && !lossMasks ? Uint32Array.from(rows, (row) => fixedTokens[row]) : undefined,
    removeSample: flags ? Array.from(rows, (row) => (flags[row] & REMOVED) !== 0) : undefined,
    status: flags ? Array.from(rows, (row) => statusOf(flags, row)) : undefined,
  };
}

function masksOf({ words, wordOffsets }: PackedLossMasks, rows: Uint32Array): PackedLossMasks {
  const offsets = new Uint32Array(rows.length + 1);
  for (const [i, row] of rows.entries()) offsets[i + 1] = offsets[i] + wordOffsets[row + 1] - wordOffsets[row];
  const picked = new Uint32Array(offsets[rows.length]);
  for (const [i, row] of rows.entries()) picked.set(words.subarray(wordOffsets[row], wordOffsets[row + 1]), offsets[i]);
  return { words: picked, wordOffsets: offsets };
}

export function writeReproducer({ batch, options, ...rest }: Reproducer, version: string): string {
  const { reward, rewards, baseline, lossMask, ...others } = batch;
  const text = {
    [REPRODUCER_MARK]: FORMAT,
    version,
    ...rest,
    options: { ...options, output: undefined },
    batch: {
      ...others,
      trainableTokens: others.trainableTokens && Array.from(others.trainableTokens),
      reward: reward && hexOf(reward as Float64Array),
      rewards:
        rewards &&
        Object.fromEntries(Object.entries(rewards).map(([name, part]) => [name, hexOf(part as Float64Array)])),
      baseline: baseline && hexOf(baseline as Float64Array),
      lossMask:
        lossMask && 'words' in lossMask
          ? { words: [...lossMask.words], wordOffsets: [...lossMask.wordOffsets] }
          : undefined,
    },
  };
  return `${JSON.stringify(text)}\n`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function areWords(value: unknown): boolean {
  return Array.isArray(value) && value.every((word) => Number.isInteger(word) && word >= 0 && word < 2 ** 32);
}

function hexOf(values: Float64Array): string[] {
  return [...new BigUint64Array(Float64Array.from(values).buffer)].map((bits) => bits.toString(16).padStart(16, '0'));
}

/** @throws InputError where the text is no reproducer of this format */
export function readReproducer(name: string, text: string): Reproducer {
  let found: Record<string, unknown>;
  try {
    found = JSON.parse(text);
  } catch (error) {
    throw new InputError(`${name}: is no reproducer: ${(error as Error).message}`);
  }
  if (found[REPRODUCER_MARK] !== FORMAT)
    throw new InputError(
      `${name}: expected a reproducer of format ${FORMAT}, found ${JSON.stringify(found[REPRODUCER_MARK])}`,
    );
  if (typeof found.name !== 'string') throw new InputError(`${name}: name must be text`);
  if (typeof found.cut !== 'boolean') throw new InputError(`${name}: cut must be true or false`);
  const { batch, options, cut, adapter } = found as unknown as Reproducer & { batch: Record<string, unknown> };
  if (typeof batch !== 'object' || batch === null) throw new InputError(`${name}: the reproducer has no batch`);
  const doubles = (field: string, value: unknown): Float64Array => {
    if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string' && /^[0-9a-f]{16}$/.test(entry)))
      throw new InputError(`${name}: batch.${field} must be a list of 16 hex digits each`);
    return new Float64Array(BigUint64Array.from(value, (entry) => BigInt(`0x${entry}`)).buffer);
  };
  if (options !== undefined && !isRecord(options)) throw new InputError(`${name}: options must be an object`);
  const stranger = Object.keys(options ?? {}).find((key) => !RULE_OPTIONS.some((known) => known === key));
  if (stranger !== undefined) throw new InputError(`${name}: options: unknown option ${JSON.stringify(stranger)}`);
  const { reward, rewards, baseline, lossMask, ...others } = batch as Record<string, unknown>;
  if (rewards !== undefined && !isRecord(rewards)) throw new InputError(`${name}: batch.rewards must be an object`);
  const parts = rewards as Record<string, unknown> | undefined;
  if (lossMask !== undefined && !(isRecord(lossMask) && areWords(lossMask.words) && areWords(lossMask.wordOffsets)))
    throw new InputError(`${name}: batch.lossMask must have words and wordOffsets, lists of whole numbers below 2^32`);
  const masks = lossMask as { words: number[]; wordOffsets: number[] } | undefined;
  return {
    name: found.name,
    adapter: typeof adapter === 'string' ? adapter : null,
    options: options ?? {},
    cut,
    batch: {
      ...(others as Batch),
      ...(reward === undefined ? {} : { reward: doubles('reward', reward) }),
      ...(parts === undefined
        ? {}
        : {
            rewards: Object.fromEntries(
              Object.entries(parts).map(([key, part]) => [key, doubles(`rewards.${key}`, part)]),
            ),
          }),
      ...(baseline === undefined ? {} : { baseline: doubles('baseline', baseline) }),
      ...(masks === undefined
        ? {}
        : { lossMask: { words: Uint32Array.from(masks.words), wordOffsets: Uint32Array.from(masks.wordOffsets) } }),
    },
  };
}
