/** Flags that say where the rows of a file are. */
import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { UsageError } from '../../errors.ts';
import type { Layout } from '../../io/layouts/layout.ts';
import { type LayoutRequest, presetNamed, resolveLayout } from '../../io/layouts/resolve-layout.ts';
import { checkOptions, type NormalizeOptions } from '../../options.ts';
import { parseKeys, parseMap, parseName, parsePositive, parseWeights } from '../options.ts';

/** As commander gives them. */
export interface InputFlags {
  readonly from?: string;
  readonly map?: string[];
  readonly rewardKey?: string[];
  readonly rewardColumns?: { name: string; weight: number }[];
  readonly groupSize?: number;
  readonly oneBatch?: true;
  readonly batchBy?: string;
  readonly join?: string;
  readonly on?: string;
  readonly joinFrom?: string;
  readonly maxLine?: number;
  readonly threads?: number;
}

/** A file that fields which the input lacks are taken from. */
export interface JoinedFile {
  readonly path: string;
  readonly layout: Layout;
}

export function addInputFlags(command: Command): Command {
  return command
    .option('--from <preset>', 'the layout of the input (rollnorm presets lists them; default: miles)', parseName)
    .option<string[]>(
      '--map <field=column>',
      'take a field from another column: a.b inside objects, a+b joined',
      parseMap,
    )
    .option('--reward-key <key>', 'which key of an object reward counts; several for gdpo, a,b or repeated', parseKeys)
    .option('--reward-columns <a=1,b=0.5>', 'the reward is the weighted sum of columns', parseWeights)
    .option('--group-size <n>', 'every n rows in turn are a prompt group', parsePositive)
    .option('--one-batch', 'all files are one batch: equal ids across files are the same')
    .option('--batch-by <field>', 'split every file into batches by a column, such as step', parseName)
    .option('--join <file>', 'take fields that the input lacks from another file', parseName)
    .option('--on <column>', 'the column that joins them', parseName)
    .option(
      '--join-from <preset>',
      'the layout of the joined file (default: miles-trajectory, for .pt miles)',
      parseName,
    )
    .option('--max-line <bytes>', 'longest line (default: 268435456)', parsePositive)
    .option('--threads <n>', 'threads that read and write (default: the processors, at most 8)', parsePositive);
}

/** @param rewardsApart several rewards of a row are kept apart, as gdpo wants them. @throws UsageError */
export function inputLayout(flags: InputFlags, rewardsApart: boolean): Layout {
  return resolveLayout({ ...layoutRequest(flags), rewardsApart });
}

function layoutRequest({
  from,
  map,
  rewardKey,
  rewardColumns,
  groupSize,
  batchBy,
  join,
  on,
}: InputFlags): LayoutRequest {
  const key = on ?? (join === undefined ? undefined : presetNamed(from ?? 'miles').joinedOn);
  if (join !== undefined && key === undefined)
    throw new UsageError('--join needs --on: the column that joins the files');
  if (join === undefined && on !== undefined) throw new UsageError('--on needs --join: the file to join');
  return { preset: from, map, rewardKeys: rewardKey, rewardColumns, groupSize, batchBy, key };
}

export function joinedFile(flags: InputFlags, rewardsApart: boolean): JoinedFile | undefined {
  const { join, joinFrom, rewardKey } = flags;
  if (join === undefined) {
    if (joinFrom !== undefined) throw new UsageError('--join-from needs --join: the file to join');
    return undefined;
  }
  const isTorch = /\.pt$/i.test(join);
  const { key } = layoutRequest(flags);
  const preset = joinFrom ?? (isTorch ? 'miles' : 'miles-trajectory');
  // A miles sample's index is what its columns file calls sample_index.
  const ownKey = key === 'sample_index' && (preset === 'miles' || preset === 'slime') ? 'index' : key;
  return { path: join, layout: resolveLayout({ preset, rewardKeys: rewardKey, key: ownKey, rewardsApart }) };
}

/**
 * The weights that the columns of the reward are given with, where they are kept apart.
 * @param areApart they are kept apart for another setting's sake
 * @throws UsageError where several rewards are needed and are not named, or weights are given twice
 */
export function withRewardWeights(
  options: NormalizeOptions,
  { rewardColumns, rewardKey = [] }: InputFlags,
  areApart = false,
): NormalizeOptions {
  const { perReward, name } = checkOptions(options).estimator;
  if (rewardColumns && options.rewardWeights)
    throw new UsageError('--reward-columns has weights of its own: --reward-weights excludes it');
  if (!perReward) return areApart && rewardColumns ? weighted(options, rewardColumns) : options;
  if (Math.max(rewardColumns?.length ?? 0, rewardKey.length) < 2)
    throw new UsageError(
      `${name} normalizes several rewards, each by itself: name two or more with --reward-key a,b or --reward-columns a=1,b=0.5`,
    );
  return rewardColumns ? weighted(options, rewardColumns) : options;
}

function weighted(options: NormalizeOptions, columns: readonly { weight: number }[]): NormalizeOptions {
  return { ...options, rewardWeights: columns.map(({ weight }) => weight) };
}

const MOST_THREADS = 8;
/** Starting threads costs more than reading so many bytes. */
const BYTES_WORTH_THREADS = 32 << 20;

export function threadsFor(files: readonly string[], { threads }: InputFlags): number {
  if (threads !== undefined) return threads;
  const bytes = bytesOfFiles(files);
  if (bytes !== undefined && bytes < BYTES_WORTH_THREADS) return 1;
  return Math.min(availableParallelism(), MOST_THREADS);
}

/** Undefined where it is not known beforehand. */
export function bytesOfFiles(files: readonly string[]): number | undefined {
  let bytes = 0;
  for (const file of files) {
    const size = file === '-' ? undefined : sizeOf(file);
    if (size === undefined) return undefined;
    bytes += size;
  }
  return bytes;
}

function sizeOf(file: string): number | undefined {
  try {
    const stats = statSync(file);
    return stats.isFile() ? stats.size : undefined;
  } catch {
    return undefined; // whoever opens it says what is wrong
  }
}
