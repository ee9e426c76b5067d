/** Whose reward stands for a rollout, and which rollouts count. */
import { UsageError } from '../errors.ts';

export const SIBLING_POLICIES = ['mainstream', 'shared', 'first', 'last', 'max', 'min', 'mean', 'sum', 'rows'] as const;
export type SiblingPolicy = (typeof SIBLING_POLICIES)[number];

export const EXCLUSION_REASONS = [
  'removed',
  'untrainable',
  'truncated',
  'aborted',
  'failed',
  'missing-reward',
] as const;
export type ExclusionReason = (typeof EXCLUSION_REASONS)[number];

export interface PolicyOptions {
  /** Default `mainstream`: the row with most trainable tokens, the first on a tie (miles PR #2369). */
  readonly siblings?: SiblingPolicy | undefined;
  /** Rollouts that are not counted, by reason; the order decides under which reason one is reported. Default none. */
  readonly exclude?: readonly ExclusionReason[] | undefined;
}

export interface Policies {
  readonly siblings: SiblingPolicy;
  readonly exclude: readonly ExclusionReason[];
}

/** @throws UsageError on an unknown policy or reason */
export function resolvePolicies(options: PolicyOptions): Policies {
  const { siblings = 'mainstream', exclude = [] } = options;
  if (!SIBLING_POLICIES.includes(siblings)) {
    throw new UsageError(`unknown sibling policy '${siblings}'; known: ${SIBLING_POLICIES.join(', ')}`);
  }
  for (const reason of exclude) {
    if (EXCLUSION_REASONS.includes(reason)) continue;
    throw new UsageError(`unknown reason to exclude '${reason}'; known: ${EXCLUSION_REASONS.join(', ')}`);
  }
  return { siblings, exclude: [...new Set(exclude)] };
}
