/** What a dialect is: one framework's estimators, whose reward stands for a rollout, who counts. */
import type { EstimatorName, Range } from './estimators.ts';
import type { ExclusionReason, SiblingPolicy } from './policies.ts';
import type { Rule } from './rule.ts';

/** What a framework makes of one estimator. */
export interface DialectEstimator {
  readonly rule: Rule;
  /** The framework's own name or setting, where it has another. */
  readonly theirs?: string;
  /** Where another row stands for a rollout than the dialect says. */
  readonly siblings?: SiblingPolicy;
  /** Bounds of an advantage that the framework has unless told otherwise. */
  readonly clip?: Range;
}

export interface Dialect {
  readonly repository: string;
  readonly commit: string;
  /** Files, each with functions after it where that helps, that the cells were read from. */
  readonly sources: readonly string[];
  /** Which row stands for a rollout; `rows` where each counts by itself. */
  readonly siblings: SiblingPolicy;
  readonly exclude: readonly ExclusionReason[];
  /** `position`: groups are runs of rows, or all of them; their group_index is not looked at. */
  readonly grouping: 'group_index' | 'position';
  /** Bounds of a reward that the framework has unless told otherwise. */
  readonly clipReward?: Range;
  readonly estimators: Readonly<Partial<Record<EstimatorName, DialectEstimator>>>;
  /** What a user of the framework should know of the difference. */
  readonly notes: readonly string[];
}
