/** The prompt group of a rollout: who is in it, who counts, and who is left out for which reason. */
import { Exclusion } from '../estimators/exclusion.ts';
import type { ExclusionReason } from '../estimators/policies.ts';
import { NO_ROW } from '../kernels/details.ts';
import { rowAt } from '../plan/plan.ts';
import { tokensOfRows } from '../samples/row-tokens.ts';
import type { Computation } from './computation.ts';
import type { GroupExplanation, Member } from './explanation.ts';
import { idOf, type PlaceOf } from './rollout.ts';
import { orNull } from './spelling.ts';

/** @param shown members that are listed at most */
export function explainGroup(
  computation: Computation,
  group: number,
  askedRollout: number,
  placeOf: PlaceOf,
  shown: number,
): GroupExplanation {
  const { plan, columns } = computation;
  const start = plan.groupOffsets[group];
  const end = plan.groupOffsets[group + 1];
  const reasonOf = reasons(computation);
  const leftOut: Partial<Record<ExclusionReason, number>> = {};
  const outside: number[] = [];
  for (let rollout = start; rollout < end; rollout++) {
    const reason = reasonOf(rollout);
    if (reason === null) continue;
    leftOut[reason] = (leftOut[reason] ?? 0) + 1;
    outside.push(rollout);
  }
  const listed = listedRollouts(start, end, askedRollout, shown);
  const member = (rollout: number) => memberOf(computation, start, rollout, askedRollout, reasonOf(rollout), placeOf);
  const [first, last] = rangeOf(computation, start, end);
  return {
    group: group + 1,
    groups: plan.groupCount,
    id: plan.tier === 2 ? columns.groupIds.describe(columns.groupCodes![first]) : null,
    first: placeOf(first),
    last: placeOf(last),
    rollouts: end - start,
    rows: plan.rowOffsets[end] - plan.rowOffsets[start],
    counted: end - start - outside.length,
    left_out: leftOut,
    members: listed.map(member),
    members_omitted: end - start - listed.length,
    left_out_members: outside.slice(0, shown).map(member),
  };
}

/** The first few, the asked one, the last. */
function listedRollouts(start: number, end: number, asked: number, shown: number): number[] {
  const all = Array.from({ length: end - start }, (_, i) => start + i);
  return all.length <= shown
    ? all
    : all.filter((rollout, i) => i < shown - 2 || rollout === asked || rollout === end - 1);
}

function rangeOf({ plan }: Computation, start: number, end: number): [first: number, last: number] {
  let first = Number.POSITIVE_INFINITY;
  let last = 0;
  for (let position = plan.rowOffsets[start]; position < plan.rowOffsets[end]; position++) {
    const row = rowAt(plan, position);
    first = Math.min(first, row);
    last = Math.max(last, row);
  }
  return [first, last];
}

/** Why a rollout is left out; null: it is counted. */
export function reasons({
  plan,
  adjusted,
  settings,
  result,
}: Computation): (rollout: number) => ExclusionReason | null {
  const { counted, representatives } = result.details!;
  const exclusion = new Exclusion(plan, adjusted, settings.policies, tokensOfRows(adjusted));
  return (rollout) => (counted[rollout] === 1 ? null : exclusion.reasonFor(rollout, representatives[rollout]));
}

function memberOf(
  { plan, columns, result }: Computation,
  start: number,
  rollout: number,
  asked: number,
  leftOut: ExclusionReason | null,
  placeOf: PlaceOf,
): Member {
  const details = result.details!;
  const firstRow = rowAt(plan, plan.rowOffsets[rollout]);
  const chosen = details.representatives[rollout];
  return {
    ...placeOf(chosen === NO_ROW ? firstRow : chosen),
    member: rollout - start + 1,
    id: idOf(columns, firstRow).id,
    rows: plan.rowOffsets[rollout + 1] - plan.rowOffsets[rollout],
    tokens: details.tokens?.[rollout] ?? null,
    rewards: details.rewards.map((rewards) => orNull(rewards[rollout])),
    counted: leftOut === null,
    left_out: leftOut,
    advantage: result.advantages[firstRow],
    asked: rollout === asked,
  };
}
