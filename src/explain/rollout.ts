/** The rows of a rollout: which one stands for it, why, and whether they agree. */
import type { SiblingPolicy } from '../estimators/policies.ts';
import { isPassThrough } from '../estimators/rule.ts';
import { rewardsLookedAt, sameReward } from '../estimators/siblings.ts';
import { NO_ROW } from '../kernels/details.ts';
import { rowAt } from '../plan/plan.ts';
import { isRemoved, KEYED_BY_INDEX, type SampleColumns, statusOf } from '../samples/columns.ts';
import { NO_ID } from '../samples/ids.ts';
import { tokensOfRow } from '../samples/row-tokens.ts';
import type { Computation } from './computation.ts';
import type { Place, RolloutExplanation, SiblingRow } from './explanation.ts';
import { orNull, plural, spell } from './spelling.ts';

export type PlaceOf = (row: number) => Place;

/** @param askedRow the row that was asked for; -1: the rollout as a whole. @param shown rows that are listed at most */
export function explainRollout(
  computation: Computation,
  rollout: number,
  askedRow: number,
  placeOf: PlaceOf,
  shown: number,
): RolloutExplanation {
  const { columns, adjusted, settings } = computation;
  const rows = rowsOfRollout(computation, rollout);
  const representative = representativeOf(computation, rollout);
  const { id, field } = idOf(columns, rows[0]);
  const listed = rows.filter((row, i) => i < shown - 2 || row === representative || row === askedRow);
  const siblings = listed.map(
    (row): SiblingRow => ({
      ...placeOf(row),
      tokens: tokensOfRow(columns, row),
      rewards: partsOf(columns).map((part) => orNull(part[row])),
      removed: isRemoved(columns.flags, row),
      status: statusOf(columns.flags, row),
      representative: row === representative,
      asked: row === askedRow,
    }),
  );
  const looked = rewardsLookedAt(adjusted, settings.estimator);
  const disagreeing = looked.some((part) => rows.some((row) => !sameReward(part[row], part[rows[0]])));
  return {
    id,
    id_field: field,
    rows: rows.length,
    siblings,
    siblings_omitted: rows.length - listed.length,
    representative: representative < 0 ? null : placeOf(representative),
    why: whyRepresentative(computation, adjusted, rows, representative),
    disagreeing,
  };
}

export function rowsOfRollout({ plan }: Computation, rollout: number): number[] {
  const start = plan.rowOffsets[rollout];
  return Array.from({ length: plan.rowOffsets[rollout + 1] - start }, (_, i) => rowAt(plan, start + i));
}

/** The row that stands for a rollout; -1: several do, or nothing is grouped. */
export function representativeOf({ result }: Computation, rollout: number): number {
  const row = result.details?.representatives[rollout] ?? NO_ROW;
  return row === NO_ROW ? -1 : row;
}

export function idOf(
  { rolloutCodes, rolloutIds, flags }: SampleColumns,
  row: number,
): { id: string | null; field: RolloutExplanation['id_field'] } {
  const code = rolloutCodes?.[row] ?? NO_ID;
  if (code === NO_ID) return { id: null, field: null };
  const keyedByIndex = flags !== null && (flags[row] & KEYED_BY_INDEX) !== 0;
  return { id: rolloutIds.describe(code), field: keyedByIndex ? 'index' : 'rollout_id' };
}

/** The rewards of the rows, each by itself. */
export function partsOf({ rewardParts, rewards }: SampleColumns): readonly Float64Array[] {
  return rewardParts ?? [rewards];
}

function whyRepresentative(
  { columns, settings }: Computation,
  { rewards }: SampleColumns,
  rows: readonly number[],
  representative: number,
): string {
  const { siblings: policy } = settings.policies;
  if (isPassThrough(settings.estimator)) return 'every row keeps its own reward';
  if (policy === 'rows') return 'every row counts as a rollout of its own (siblings rows)';
  if (rows.length === 1) return 'the only row of its rollout';
  if (policy === 'mean' || policy === 'sum') {
    const present = rows.filter((row) => !Number.isNaN(rewards[row]));
    return `the ${policy} of the rewards of ${present.length} of ${plural(rows.length, 'row')} (siblings ${policy})`;
  }
  const others = rows.filter((row) => row !== representative);
  if (policy === 'mainstream') return whyMainstream(columns, representative, others);
  return whyOther(policy, rewards, representative, others);
}

function whyMainstream(columns: SampleColumns, representative: number, others: readonly number[]): string {
  const tokens = tokensOfRow(columns, representative);
  if (tokens === null)
    return 'no row of the batch says how many tokens are trained on, so all its rows tie: the first one';
  const next = others.reduce((most, row) => Math.max(most, tokensOfRow(columns, row) ?? 0), 0);
  if (next < tokens) return `most trainable tokens of its rows: ${tokens} against ${next}`;
  const tied = others.filter((row) => tokensOfRow(columns, row) === tokens).map((row) => columns.place(row));
  return `most trainable tokens of its rows: ${tokens}, as ${listed(tied)} ${tied.length === 1 ? 'has' : 'have'} too; the first on a tie`;
}

function whyOther(
  policy: Exclude<SiblingPolicy, 'mainstream' | 'mean' | 'sum' | 'rows'>,
  rewards: Float64Array,
  representative: number,
  others: readonly number[],
): string {
  if (policy === 'first' || policy === 'last') return `the ${policy} of its rows (siblings ${policy})`;
  if (policy === 'shared') return 'its rows must share one reward (siblings shared): the first that has one';
  const own = rewards[representative];
  const isTied = others.some((row) => sameReward(rewards[row], own));
  const present = others.map((row) => rewards[row]).filter((reward) => !Number.isNaN(reward));
  const next = policy === 'max' ? Math.max(...present) : Math.min(...present);
  const against = isTied ? `${spell(own)}, the first on a tie` : `${spell(own)} against ${spell(next)}`;
  const what = policy === 'max' ? 'highest' : 'lowest';
  return present.length === 0
    ? `the ${what} reward of its rows (siblings ${policy}): no other row has one`
    : `the ${what} reward of its rows (siblings ${policy}): ${against}`;
}

const PLACES_LISTED = 3;

function listed(places: readonly string[]): string {
  const more = places.length > PLACES_LISTED ? ` and ${places.length - PLACES_LISTED} more` : '';
  return places.slice(0, PLACES_LISTED).join(', ') + more;
}
