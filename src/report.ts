/** What a run says about itself: the summary of the command line and the report of the library. */

import type { DialectName } from './estimators/dialects.ts';
import { looksNormalized } from './estimators/doubts.ts';
import type { ExclusionReason, SiblingPolicy } from './estimators/policies.ts';
import { isPassThrough, type Rule } from './estimators/rule.ts';
import type { Disagreement, SiblingSurvey } from './estimators/sibling-survey.ts';
import type { AdapterDescription } from './kernels/webgpu/adapter-description.ts';
import type { Outcome, Work } from './kernels/work.ts';
import type { NormalizeOptions, Settings } from './options.ts';
import { TIERS, type Tier } from './plan/groups.ts';
import { type WarningCode, warningsOf } from './warnings.ts';

/** A rule with its bounds and weights, as a summary shows it. */
export interface ReportedRule extends Omit<Rule, 'minStd' | 'meanMustBePositive' | 'perReward'> {
  readonly min_std: number;
  readonly reward_weights: readonly number[] | null;
  readonly clip_reward: readonly [number, number] | null;
  readonly clip: readonly [number, number] | null;
}

/** Counts are of the whole batch; where rewards pass through nothing is grouped, and groups and rollouts are what they would be. */
export interface Report {
  readonly rows: number;
  /** Each once in every group that has it. */
  readonly rollouts: number;
  /** Prompt groups. */
  readonly groups: number;
  /** The tier that formed the groups, 1 to 4. */
  readonly grouping: Tier;
  /** The tier by its name. */
  readonly grouping_rule: (typeof TIERS)[number];
  /** Its name; what it came to is `rule`. */
  readonly estimator: string;
  /** The framework whose rule it is; null: none was asked for. */
  readonly like: DialectName | null;
  /** What the estimator and the options came to. */
  readonly rule: ReportedRule;
  readonly siblings: {
    /** How a rollout of several rows got its reward. */
    readonly policy: SiblingPolicy;
    /** Rollouts of several rows, and those of them whose rewards differ. */
    readonly multi_row: number;
    readonly disagreeing: number;
    /** The first few that disagree; rows count from 1, a missing reward is null. */
    readonly examples: readonly Disagreement[];
  };
  /** Groups of two or more counted rollouts with equal rewards. */
  readonly flat_groups: number;
  /** Groups of one counted rollout. */
  readonly singleton_groups: number;
  /** Groups in which no rollout is counted. */
  readonly empty_groups: number;
  /** Groups that are not scaled: their median distance is 0 although their rewards differ. */
  readonly unscaled_groups: number;
  /** Groups with advantage 0 although their rewards differ, as the mean that maxrl divides by is not above 0. */
  readonly not_positive_groups: number;
  /** Rollouts that enter the statistics; 0 where rewards pass through. */
  readonly counted_rollouts: number;
  /** Rollouts that are not counted, each under one reason; reasons that were asked for are there with 0 too. */
  readonly excluded: Partial<Record<ExclusionReason, number>>;
  /** Rollouts whose representative is doubtful. */
  readonly doubtful_representatives: number;
  /** What surprised, in words. */
  readonly warnings: readonly string[];
  /** Of the warnings, in their order. */
  readonly warning_codes: readonly WarningCode[];
  readonly backend: 'cpu' | 'webgpu';
  /** Why that one. */
  readonly backend_reason: string;
  /** What computed under `webgpu`; null under `cpu`. */
  readonly adapter: AdapterDescription | null;
  /** Spent on grouping, and on everything after it. */
  readonly seconds: { readonly plan: number; readonly compute: number };
}

/** Which backend computed, and why that one. */
export interface BackendUse {
  readonly backend: 'cpu' | 'webgpu';
  readonly adapter: AdapterDescription | null;
  readonly reason: string;
  /** True where a GPU was to be used and was not. */
  readonly fellBack: boolean;
}

interface Facts {
  readonly work: Work;
  readonly settings: Settings;
  readonly options: NormalizeOptions;
  readonly outcome: Outcome;
  readonly survey: SiblingSurvey;
  readonly use: BackendUse;
  readonly seconds: Report['seconds'];
}

export function buildReport(facts: Facts): Report {
  const { work, settings, outcome, survey, use, seconds } = facts;
  const { columns, plan, estimator, policies } = work;
  const examples = survey.examples.map((example) => ({ ...example, rows: example.rows.map((row) => row + 1) }));
  const warnings = warningsOf({
    ...facts,
    looksNormalized: !isPassThrough(estimator) && looksNormalized(plan, columns.rewards),
    fellBack: use.fellBack ? use.reason : null,
  });
  return {
    rows: columns.rowCount,
    rollouts: plan.rolloutCount,
    groups: plan.groupCount,
    grouping: plan.tier,
    grouping_rule: TIERS[plan.tier - 1],
    estimator: estimator.name,
    like: settings.like,
    rule: reportedRule(work),
    siblings: { policy: policies.siblings, multi_row: survey.multiRow, disagreeing: survey.disagreeing, examples },
    flat_groups: outcome.flatGroups,
    singleton_groups: outcome.singletonGroups,
    empty_groups: outcome.emptyGroups,
    unscaled_groups: outcome.unscaledGroups,
    not_positive_groups: outcome.notPositiveGroups,
    counted_rollouts: outcome.countedRollouts,
    excluded: outcome.excluded,
    doubtful_representatives: survey.doubts.count,
    warnings: warnings.map(({ text }) => text),
    warning_codes: warnings.map(({ code }) => code),
    backend: use.backend,
    backend_reason: use.reason,
    adapter: use.adapter,
    seconds,
  };
}

function reportedRule({ estimator }: Work): ReportedRule {
  const { baseline, scale, ddof, epsilon, minStd, singleton, step, rewardWeights, clipReward, clip } = estimator;
  return {
    ...{ baseline, scale, ddof, epsilon, singleton, step },
    min_std: minStd,
    reward_weights: rewardWeights,
    clip_reward: clipReward,
    clip,
  };
}
