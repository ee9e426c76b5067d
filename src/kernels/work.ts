/** What is to be computed, and what came of it beside the advantages. */
import type { Estimator } from '../estimators/estimators.ts';
import type { ExclusionReason, Policies } from '../estimators/policies.ts';
import type { Plan } from '../plan/plan.ts';
import type { SampleColumns } from '../samples/columns.ts';
import type { Details } from './details.ts';

/** A validated batch and what to do with it. */
export interface Work {
  readonly columns: SampleColumns;
  readonly plan: Plan;
  readonly estimator: Estimator;
  readonly policies: Policies;
  /** Keep what the computation knew on its way. */
  readonly detailed?: boolean | undefined;
  /** Ends the computation; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
}

/** Why there are no advantages: a number left the range of binary64, in a group or in the statistics of the batch. */
export interface ProgramFailure {
  readonly group: number | 'batch';
  readonly status: 'overflow' | 'vanishing';
}

export interface Outcome {
  /** Groups of two or more counted rollouts whose rewards are all equal, or as good as equal by the rule's limit. */
  readonly flatGroups: number;
  /** Groups of one counted rollout. */
  readonly singletonGroups: number;
  /** Groups in which no rollout is counted. */
  readonly emptyGroups: number;
  /** Groups that are not scaled: their scale is 0 although their rewards differ. */
  readonly unscaledGroups: number;
  /** Groups with advantage 0 although their rewards differ: the mean that the rule divides by is not above 0. */
  readonly notPositiveGroups: number;
  /** Groups of two or more whose rollouts have no trainable token to be weighed by. */
  readonly groupsWithoutTokens: number;
  readonly countedRollouts: number;
  readonly excluded: Partial<Record<ExclusionReason, number>>;
  readonly failure: ProgramFailure | null;
  readonly details: Details | null;
}
