/** What is said about one row: plain data under the names of the JSON that `rollnorm explain --json` prints. */
import type { DialectName } from '../estimators/dialects.ts';
import type { ExclusionReason, SiblingPolicy } from '../estimators/policies.ts';
import type { Tier } from '../plan/groups.ts';
import type { TierFinding } from '../plan/tiers.ts';
import type { ReportedRule } from '../report.ts';
import type { Status } from '../samples/columns.ts';

/** Where a row stands: its file, its number there (from 1), and how messages name it. */
export interface Place {
  readonly file: string;
  readonly row: number;
  readonly place: string;
}

export interface Explanation extends Place {
  readonly advantage: number;
  readonly grouping: {
    readonly tier: Tier;
    readonly rule: string;
    readonly reason: string;
    /** Better tiers, and why they do not apply. */
    readonly passed_over: readonly TierFinding[];
  };
  readonly rule: ExplainedRule;
  readonly like: LikeExplanation | null;
  /** Null: rewards pass through, and nothing is grouped. */
  readonly group: GroupExplanation | null;
  readonly rollout: RolloutExplanation;
  /** One per reward; empty where nothing is grouped. */
  readonly statistics: readonly RewardStatistics[];
  readonly steps: readonly Step[];
  /** Null: rewards pass through. */
  readonly instead: Instead | null;
  readonly backend: 'cpu' | 'webgpu';
  readonly backend_reason: string;
}

export interface ExplainedRule extends ReportedRule {
  readonly estimator: string;
  /** In words, such as `(r - mean) / (s + 0.000001)`. */
  readonly formula: string;
  readonly siblings: SiblingPolicy;
  readonly exclude: readonly ExclusionReason[];
}

/** What a framework's rule is, where it is not the estimator's own. */
export interface LikeExplanation {
  readonly name: DialectName;
  readonly repository: string;
  readonly commit: string;
  /** Files, and functions, that the rule was read from. */
  readonly sources: readonly string[];
  readonly theirs: string | null;
  readonly changes: readonly LikeChange[];
  readonly notes: readonly string[];
}

export interface LikeChange {
  readonly setting: string;
  readonly default: unknown;
  readonly like: unknown;
  /** Another value where an explicit flag beats the framework's. */
  readonly in_effect: unknown;
}

export interface GroupExplanation {
  /** From 1. */
  readonly group: number;
  readonly groups: number;
  /** As JSON; null where groups have no id. */
  readonly id: string | null;
  readonly first: Place;
  readonly last: Place;
  readonly rollouts: number;
  readonly rows: number;
  readonly counted: number;
  readonly left_out: Partial<Record<ExclusionReason, number>>;
  /** The first few, the asked one, the last. */
  readonly members: readonly Member[];
  readonly members_omitted: number;
  /** The first few that are left out, whether among the members shown or not. */
  readonly left_out_members: readonly Member[];
}

/** A rollout of the group, at the row that stands for it, else its first. */
export interface Member extends Place {
  /** Number in its group, from 1. */
  readonly member: number;
  readonly id: string | null;
  readonly rows: number;
  /** Null: unknown. */
  readonly tokens: number | null;
  /** What stands for the rollout, by reward; null where it is left out. */
  readonly rewards: readonly (number | null)[];
  readonly counted: boolean;
  readonly left_out: ExclusionReason | null;
  readonly advantage: number;
  readonly asked: boolean;
}

export interface RolloutExplanation {
  /** As JSON; null: a row by itself, without an id. */
  readonly id: string | null;
  readonly id_field: 'rollout_id' | 'index' | null;
  readonly rows: number;
  readonly siblings: readonly SiblingRow[];
  readonly siblings_omitted: number;
  readonly representative: Place | null;
  readonly why: string;
  readonly disagreeing: boolean;
}

export interface SiblingRow extends Place {
  readonly tokens: number | null;
  /** By reward, as the file has it; null: missing. */
  readonly rewards: readonly (number | null)[];
  readonly removed: boolean;
  readonly status: Status;
  readonly representative: boolean;
  readonly asked: boolean;
}

export const GUARDS = [
  'left_out',
  'single',
  'single_keeps_reward',
  'flat',
  'min_std',
  'mean_not_positive',
  'unscaled',
] as const;
export type Guard = (typeof GUARDS)[number];

export interface RewardStatistics {
  /** Name of the reward; null: there is one. */
  readonly reward: string | null;
  readonly weight: number;
  readonly counted: number;
  readonly mean: number | null;
  readonly deviation: number | null;
  /** Null: not one number for the group, or no rollout is counted. */
  readonly baseline: number | null;
  readonly divisor: number | null;
  readonly guard: Guard | null;
  /** The guard in words. */
  readonly guard_reason: string | null;
}

export type StepName =
  | 'left_out'
  | 'reward'
  | 'mean'
  | 'deviation'
  | 'baseline'
  | 'difference'
  | 'divisor'
  | 'quotient'
  | 'sum'
  | 'batch_step'
  | 'token_step'
  | 'bounds'
  | 'binary32';

/** One line of the way to the advantage. */
export interface Step {
  readonly step: StepName;
  readonly reward: string | null;
  /** The formula with its numbers and the value, `formula = value, remark`; or where the value is from. */
  readonly text: string;
  readonly value: number | null;
}

/** What the same batch gives this row under another sibling policy. */
export interface Instead {
  readonly siblings: 'rows' | 'mainstream';
  readonly counted: number;
  readonly means: readonly (number | null)[];
  readonly deviations: readonly (number | null)[];
  readonly advantage: number | null;
  /** Why there is none. */
  readonly error: string | null;
}
