/** What is wanted of rows beside their advantage: more fields (`--emit`), and that some are left out (`--drop`). */
import { UsageError } from '../../errors.ts';
import type { Estimator } from '../../estimators/estimators.ts';
import { isPassThrough, zeroesFlatGroups } from '../../estimators/rule.ts';
import type { Input } from '../../io/input.ts';
import type { Layout } from '../../io/layouts/layout.ts';

export const EMIT_FIELDS = ['group', 'rollout', 'representative', 'tokens', 'mean', 'std'] as const;
export type EmitField = (typeof EMIT_FIELDS)[number];

export const DROP_REASONS = ['flat', 'excluded'] as const;
export type DropReason = (typeof DROP_REASONS)[number];

export interface RowWishes {
  /** In the order in which they are written. */
  readonly emit: readonly EmitField[];
  readonly drop: readonly DropReason[];
  /** By reward, what follows `mean` and `std` in the names of fields. */
  readonly rewardSuffixes: readonly string[];
}

/** @throws UsageError on unknown names, names given twice, and what the rule gives no meaning to */
export function rowWishes(
  flags: { readonly emit?: readonly string[]; readonly drop?: readonly string[] },
  estimator: Estimator,
  { rewardParts }: Layout,
): RowWishes {
  const emit = chosenFrom(EMIT_FIELDS, flags.emit ?? [], '--emit');
  const drop = chosenFrom(DROP_REASONS, flags.drop ?? [], '--drop');
  const statistic = emit.find((field) => field === 'mean' || field === 'std');
  const asked = statistic ? `--emit ${statistic}` : drop.length > 0 ? `--drop ${drop[0]}` : null;
  if (asked && isPassThrough(estimator))
    throw new UsageError(`${asked} has no meaning where every row keeps its own reward: no rollout is counted`);
  if (drop.includes('flat') && !zeroesFlatGroups(estimator))
    throw new UsageError(
      `--drop flat has no meaning with the baseline '${estimator.baseline}': rollouts of flat groups have advantages like others`,
    );
  const suffixes = rewardParts?.map(({ column, key }) => `_${key ?? column.text}`);
  return { emit, drop, rewardSuffixes: estimator.perReward && suffixes ? suffixes : [''] };
}

function chosenFrom<T extends string>(known: readonly T[], names: readonly string[], flag: string): T[] {
  for (const [i, name] of names.entries()) {
    if (!known.some((one) => one === name))
      throw new UsageError(`${flag}: unknown name '${name}'; known: ${known.join(', ')}`);
    if (names.indexOf(name) !== i) throw new UsageError(`${flag}: ${name} is named twice`);
  }
  return [...names] as T[];
}

/** Names of the fields that are added, in their order. */
export function emittedNames({ emit, rewardSuffixes }: RowWishes): string[] {
  return emit.flatMap((field) =>
    field === 'mean' || field === 'std' ? rewardSuffixes.map((suffix) => field + suffix) : [field],
  );
}

/** Whether more is wanted than the plan of the batch knows. */
export function needsDetails({ emit, drop }: RowWishes): boolean {
  return drop.length > 0 || emit.some((field) => field === 'representative' || field === 'mean' || field === 'std');
}

/** @throws UsageError where rows of the input cannot be left out */
export function refuseDropFromWholeRows(input: Input, { drop }: RowWishes): void {
  if (drop.length === 0 || input.format === 'jsonl') return;
  throw new UsageError(
    `${input.name}: --drop leaves rows out of JSONL and of what --only writes; whole rows of ${input.format} are written with their bytes as they are: add --only, or read JSONL`,
  );
}
