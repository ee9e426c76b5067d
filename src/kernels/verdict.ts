/** What the statuses of groups come to: how many are flat, single or empty, and whether a number left the range of binary64. */

import type { Estimator } from '../estimators/estimators.ts';
import { zeroesFlatGroups } from '../estimators/rule.ts';
import { GROUP_STATUS } from './codes.ts';
import type { BatchMoments } from './stages/batch-step.ts';
import type { Outcome, ProgramFailure } from './work.ts';

type Counters = Pick<
  Outcome,
  'flatGroups' | 'singletonGroups' | 'emptyGroups' | 'unscaledGroups' | 'notPositiveGroups' | 'groupsWithoutTokens'
>;

export class Verdict {
  readonly counters: { -readonly [name in keyof Counters]: number } = {
    flatGroups: 0,
    singletonGroups: 0,
    emptyGroups: 0,
    unscaledGroups: 0,
    notPositiveGroups: 0,
    groupsWithoutTokens: 0,
  };
  failure: ProgramFailure | null = null;
  readonly #zeroesFlat: boolean;

  constructor(estimator: Estimator) {
    this.#zeroesFlat = zeroesFlatGroups(estimator);
  }

  /**
   * @param firstGroup of the groups in the batch
   * @param groupOffsets their counted rollouts
   * @param statuses by reward, of each group
   * @param batchScales by reward, where groups are divided by a deviation of the batch; judged only where one is divided
   */
  addGroups(
    firstGroup: number,
    groupOffsets: Uint32Array,
    statuses: readonly Uint32Array[],
    batchScales: readonly BatchMoments[],
  ): void {
    const { counters } = this;
    for (let group = 0; group + 1 < groupOffsets.length; group++) {
      const counted = groupOffsets[group + 1] - groupOffsets[group];
      if (counted === 1) counters.singletonGroups++;
      if (counted === 0) counters.emptyGroups++;
      let flat = 0;
      for (const [k, own] of statuses.entries()) {
        const status = own[group];
        const isZero = this.#zeroesFlat && (counted === 1 || status === GROUP_STATUS.flat);
        if (counted > 0 && !isZero && batchScales[k]) this.judge('batch', batchScales[k].status);
        if (status === GROUP_STATUS.flat) flat++;
        else this.judge(firstGroup + group, status);
      }
      // Under any of the rewards: a group is counted once.
      const has = (status: number) => statuses.some((own) => own[group] === status);
      if (counted > 1 && flat === statuses.length) counters.flatGroups++;
      if (has(GROUP_STATUS.unscaled)) counters.unscaledGroups++;
      if (has(GROUP_STATUS.notPositive)) counters.notPositiveGroups++;
    }
  }

  /** The first failure stands. */
  judge(group: ProgramFailure['group'], status: number): void {
    if (status === GROUP_STATUS.overflow) this.failure ??= { group, status: 'overflow' };
    if (status === GROUP_STATUS.vanishing) this.failure ??= { group, status: 'vanishing' };
  }
}
