/** What can be said of a row whose recorded advantage is another than ours. */
import { GROUP_STATUS } from '../kernels/codes.ts';
import { rowAt } from '../plan/plan.ts';
import { accountOf, type Side } from './account.ts';
import type { Reason } from './reasons.ts';

/** @param rule that gives all recorded values; null: none that is known */
export function recordedReasons(own: Side, recorded: Float32Array, row: number, rule: string | null): Reason[] {
  const { plan } = own;
  const account = accountOf(own, row);
  const reasons: Reason[] = [];
  if (rule !== null) reasons.push({ code: 'known-rule', text: `the file's values are ${rule}` });
  if (account?.leftOutAs)
    reasons.push({ code: 'left-out', text: `before, the rollout is left out (${account.leftOutAs})` });
  else if (account?.countedRollouts === 1)
    reasons.push({ code: 'singleton', text: 'before, the group has one counted rollout' });
  else if (account?.statistics.every(({ status }) => status === GROUP_STATUS.flat))
    reasons.push({ code: 'flat', text: 'before, all rewards that count in the group are equal: flat' });
  else if (account?.statistics.every(({ status }) => status === GROUP_STATUS.notPositive))
    reasons.push({ code: 'mean-not-positive', text: 'before, the mean of the group is not above 0: 0' });
  const rollout = plan.rowRollout[row];
  const [start, end] = [plan.rowOffsets[rollout], plan.rowOffsets[rollout + 1]];
  const values = new Set<number>();
  for (let position = start; position < end; position++) values.add(recorded[rowAt(plan, position)]);
  if (values.size > 1)
    reasons.push({
      code: 'siblings-apart',
      text: `the file gives the ${end - start} rows of the rollout ${values.size} values`,
    });
  if (rule === null) reasons.push({ code: 'unknown-rule', text: 'no known rule gives the values of the file' });
  return reasons;
}
