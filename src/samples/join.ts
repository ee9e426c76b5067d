/** Takes the fields that a batch lacks from another file, row by row of equal key. */
import { InputError } from '../errors.ts';
import type { AssembledBatch } from './assembler.ts';
import { isRemoved, KEYED_BY_INDEX, type SampleColumns, withStatusOf } from './columns.ts';
import { gather } from './gather.ts';
import { rowsOfSizes } from './group-sizes.ts';
import { IdCoder, NO_ID } from './ids.ts';
import { rewardsOfRows } from './rewards.ts';

export interface JoinNames {
  readonly key: string;
  /** The file that is joined, for messages. */
  readonly other: string;
}

/**
 * Both batches have coded their keys in one key space.
 * @returns the batch with the fields of both, and how many rows of the other file no row asked for
 * @throws InputError on a key that is missing, or that two rows of either file have
 */
export function joinBatches(
  batch: AssembledBatch,
  other: AssembledBatch,
  names: JoinNames,
): { columns: SampleColumns; unused: number } {
  const rowOfKey = rowsByKey(other, `${names.other}: `, names.key);
  rowsByKey(batch, '', names.key);
  const { columns } = batch;
  const partners = new Uint32Array(columns.rowCount);
  for (let row = 0; row < partners.length; row++) {
    const code = batch.side.keyCodes![row];
    const partner = rowOfKey.get(code);
    if (partner === undefined) {
      const key = batch.side.keyIds.describe(code);
      throw new InputError(`${columns.place(row)}: ${names.key} ${key} is in no row of ${names.other}`);
    }
    partners[row] = partner;
  }
  return {
    columns: combine(batch, { ...other.columns, ...statedGroups(other, names.other) }, partners),
    unused: other.columns.rowCount - columns.rowCount,
  };
}

/** Whether no row says what its reward is, so that a joined file has to. */
export function lacksRewards({ columns, facts }: AssembledBatch): boolean {
  return facts.rewardNeverThere || columns.rewards.every(Number.isNaN);
}

function rowsByKey({ columns, side }: AssembledBatch, prefix: string, key: string): Map<number, number> {
  const rows = new Map<number, number>();
  for (let row = 0; row < columns.rowCount; row++) {
    const code = side.keyCodes?.[row] ?? NO_ID;
    if (code === NO_ID) throw new InputError(`${prefix}${columns.place(row)}: has no ${key} to join by`);
    const first = rows.get(code);
    if (first !== undefined) {
      const places = `${columns.place(first)} and ${columns.place(row)}`;
      throw new InputError(`${prefix}${places}: both have the ${key} ${side.keyIds.describe(code)}`);
    }
    rows.set(code, row);
  }
  return rows;
}

type Groups = Pick<SampleColumns, 'groupCodes' | 'groupIds'>;

/** Groups that a file states by their sizes go before a column of them, and are numbered, as their order says nothing of other rows. */
function statedGroups({ columns, facts }: AssembledBatch, name: string): Groups {
  const { promptGroupSizes: sizes } = facts;
  if (!sizes) return columns;
  const total = rowsOfSizes(sizes);
  if (total !== columns.rowCount)
    throw new InputError(
      `${name}: metadata.prompt_group_sizes sum to ${total} but the file has ${columns.rowCount} rows`,
    );
  const groupIds = new IdCoder();
  const groupCodes = new Uint32Array(total);
  let row = 0;
  for (const [group, size] of sizes.entries()) {
    groupCodes.fill(groupIds.codeOfInteger(group), row, row + size);
    row += size;
  }
  return { groupCodes, groupIds };
}

/** A field that the batch has stays as it is; of a field that it lacks, every row has its partner's. */
function combine(batch: AssembledBatch, other: SampleColumns, partners: Uint32Array): SampleColumns {
  const { columns } = batch;
  const rollouts = combineRollouts(columns, other, partners);
  const flags = combineFlags(columns, other, partners);
  for (let row = 0; row < flags.length; row++) if (rollouts.keyedByIndex[row] === 1) flags[row] |= KEYED_BY_INDEX;
  const takesTokens = columns.fixedTokens === null;
  const fixedTokens = takesTokens
    ? gather(other.fixedTokens, partners, new Uint32Array(partners.length))
    : columns.fixedTokens;
  if (fixedTokens) for (let row = 0; row < flags.length; row++) if (isRemoved(flags, row)) fixedTokens[row] = 0;
  const groups: Groups =
    columns.groupCodes === null && other.groupCodes !== null
      ? { groupCodes: gather(other.groupCodes, partners, new Uint32Array(partners.length)), groupIds: other.groupIds }
      : columns;
  return {
    ...columns,
    groupCodes: groups.groupCodes,
    groupIds: groups.groupIds,
    rolloutCodes: rollouts.codes,
    rolloutIds: rollouts.ids,
    ...(lacksRewards(batch) ? rewardsOfRows(other, partners) : {}),
    baselines: columns.baselines ?? gather(other.baselines ?? null, partners, new Float64Array(partners.length)),
    fixedTokens,
    flags,
    unknownStatuses: [...new Set([...columns.unknownStatuses, ...other.unknownStatuses])],
  };
}

/** Either file may say that a row is removed; a status other than completed goes before completed, the batch's own first. */
function combineFlags(columns: SampleColumns, other: SampleColumns, partners: Uint32Array): Uint8Array {
  const flags = new Uint8Array(partners.length);
  for (let row = 0; row < flags.length; row++)
    flags[row] = withStatusOf(columns.flags?.[row] ?? 0, other.flags?.[partners[row]] ?? 0);
  return flags;
}

interface Rollouts {
  readonly codes: Uint32Array | null;
  readonly ids: IdCoder;
  /** 1 where the code is that of an index. */
  readonly keyedByIndex: Uint8Array;
}

/**
 * A row is keyed by rollout_id, else by index. Each of the two is the batch's own where the batch has it in any row,
 * else the other file's.
 */
function combineRollouts(columns: SampleColumns, other: SampleColumns, partners: Uint32Array): Rollouts {
  const own = kindsOf(columns);
  const theirs = kindsOf(other);
  const takesIds = !own.hasIds && theirs.hasIds;
  const takesIndexes = !own.hasIndexes && theirs.hasIndexes;
  const keyedByIndex = new Uint8Array(partners.length);
  const noteKeyed = (row: number, flags: Uint8Array | null, from: number) => {
    if (isKeyedByIndex(flags, from)) keyedByIndex[row] = 1;
  };
  if (!takesIds && !takesIndexes) {
    for (let row = 0; row < partners.length; row++) noteKeyed(row, columns.flags, row);
    return { codes: columns.rolloutCodes, ids: columns.rolloutIds, keyedByIndex };
  }
  const codes = gather(other.rolloutCodes, partners, new Uint32Array(partners.length))!;
  if (!own.hasIds && !own.hasIndexes) {
    for (let row = 0; row < partners.length; row++) noteKeyed(row, other.flags, partners[row]);
    return { codes, ids: other.rolloutIds, keyedByIndex };
  }
  columns.rolloutIds.translate(codes, other.rolloutIds.snapshot());
  for (let row = 0; row < partners.length; row++) {
    const ownCode = columns.rolloutCodes![row];
    const isIndex = isKeyedByIndex(other.flags, partners[row]);
    const isTaken = codes[row] !== NO_ID && (isIndex ? takesIndexes && ownCode === NO_ID : takesIds);
    if (!isTaken) codes[row] = ownCode;
    if (isTaken) noteKeyed(row, other.flags, partners[row]);
    else noteKeyed(row, columns.flags, row);
  }
  return { codes, ids: columns.rolloutIds, keyedByIndex };
}

function kindsOf({ rolloutCodes, flags }: SampleColumns): { hasIds: boolean; hasIndexes: boolean } {
  let hasIds = false;
  let hasIndexes = false;
  for (let row = 0; rolloutCodes !== null && row < rolloutCodes.length && !(hasIds && hasIndexes); row++) {
    if (rolloutCodes[row] === NO_ID) continue;
    if (isKeyedByIndex(flags, row)) hasIndexes = true;
    else hasIds = true;
  }
  return { hasIds, hasIndexes };
}

function isKeyedByIndex(flags: Uint8Array | null, row: number): boolean {
  return flags !== null && (flags[row] & KEYED_BY_INDEX) !== 0;
}
