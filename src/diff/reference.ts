/** By whose rollouts and prompt groups the changes between two settings are counted. */
import type { Plan } from '../plan/plan.ts';
import type { Side } from './account.ts';

/** A setting that knows rollouts goes before one to which every row is one, then the better tier, then the first. */
export function referencePlan(before: Side, after: Side): Plan {
  const rowsBefore = before.settings.policies.siblings === 'rows';
  const rowsAfter = after.settings.policies.siblings === 'rows';
  if (rowsBefore !== rowsAfter) return rowsBefore ? after.plan : before.plan;
  return after.plan.tier < before.plan.tier ? after.plan : before.plan;
}
