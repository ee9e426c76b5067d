/** Takes the fields that a batch lacks from another file, row by row of equal key. */
import { InputError } from '../errors.ts';
import type { AssembledBatch } from './assembler.ts';
import { isRemoved, KEYED_BY_INDEX, type SampleColumns } from './columns.ts';
import { gather } from './gather.ts';
import { NO_ID } from './ids.ts';

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
    columns: combine(batch, other.columns, partners),
    unused: other.columns.rowCount - columns.rowCount,
  };
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

/** Groups and rewards of the batch itself go before those of the other; statuses and removals are the other's too. */
function combine(batch: AssembledBatch, other: SampleColumns, partners: Uint32Array): SampleColumns {
  const { columns, facts } = batch;
  const takesRewards = facts.rewardNeverThere;
  const takesGroups = columns.groupCodes === null;
  const takesRollouts = other.rolloutCodes !== null;
  const takesTokens = columns.fixedTokens === null;
  const rewards = takesRewards ? gather(other.rewards, partners, new Float64Array(partners.length)) : columns.rewards;
  const missing = rewards?.findIndex((reward) => Number.isNaN(reward)) ?? -1;
  const first = other.missingReward;
  const found = takesRewards && missing >= 0 && first?.row === partners[missing] ? first.found : 'none';
  const tokens = takesTokens
    ? gather(other.fixedTokens, partners, new Uint32Array(partners.length))
    : columns.fixedTokens;
  const flags = new Uint8Array(partners.length);
  for (let row = 0; row < flags.length; row++) {
    const own = columns.flags?.[row] ?? 0;
    const theirs = other.flags?.[partners[row]] ?? 0;
    const keyed = (takesRollouts ? theirs : own) & KEYED_BY_INDEX;
    flags[row] = ((own | theirs) & ~KEYED_BY_INDEX) | keyed;
    if (tokens && isRemoved(flags, row)) tokens[row] = 0;
  }
  return {
    ...columns,
    groupCodes: takesGroups ? gather(other.groupCodes, partners, new Uint32Array(partners.length)) : columns.groupCodes,
    groupIds: takesGroups ? other.groupIds : columns.groupIds,
    rolloutCodes: takesRollouts
      ? gather(other.rolloutCodes, partners, new Uint32Array(partners.length))
      : columns.rolloutCodes,
    rolloutIds: takesRollouts ? other.rolloutIds : columns.rolloutIds,
    rewards: rewards!,
    missingReward: missing < 0 ? null : { row: missing, found },
    fixedTokens: tokens,
    flags,
    unknownStatuses: [...columns.unknownStatuses, ...other.unknownStatuses],
  };
}
