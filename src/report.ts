/** What a run says about itself: the summary of the command line and the report of the library. */

import { type EstimatorRule, isPassThrough } from './estimators/estimators.ts';
import type { ExclusionReason, SiblingPolicy } from './estimators/policies.ts';
import type { Disagreement, SiblingSurvey } from './estimators/siblings.ts';
import type { Outcome, Work } from './kernels/program.ts';
import type { AdapterDescription } from './kernels/webgpu/adapters.ts';
import type { NormalizeOptions } from './options.ts';
import { describeUngrouped, TIERS, type Tier } from './plan/groups.ts';

export interface Report {
  readonly rows: number;
  readonly rollouts: number;
  readonly groups: number;
  /** The tier that formed the groups, 1 to 4. */
  readonly grouping: Tier;
  readonly grouping_rule: (typeof TIERS)[number];
  readonly estimator: string;
  /** What the estimator and the options came to. */
  readonly rule: EstimatorRule & { readonly ddof: 0 | 1; readonly epsilon: number };
  readonly siblings: {
    readonly policy: SiblingPolicy;
    readonly multi_row: number;
    readonly disagreeing: number;
    readonly examples: readonly Disagreement[];
  };
  /** Groups of two or more counted rollouts with equal rewards. */
  readonly flat_groups: number;
  /** Groups of one counted rollout. */
  readonly singleton_groups: number;
  readonly excluded: Partial<Record<ExclusionReason, number>>;
  readonly warnings: readonly string[];
  readonly backend: 'cpu' | 'webgpu';
  readonly backend_reason: string;
  readonly adapter: AdapterDescription | null;
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
  readonly options: NormalizeOptions;
  readonly outcome: Outcome;
  readonly survey: SiblingSurvey;
  readonly use: BackendUse;
  readonly seconds: Report['seconds'];
}

export function buildReport(facts: Facts): Report {
  const { work, outcome, survey, use, seconds } = facts;
  const { columns, plan, estimator, policies } = work;
  const examples = survey.examples.map((example) => ({ ...example, rows: example.rows.map((row) => row + 1) }));
  return {
    rows: columns.rowCount,
    rollouts: plan.rolloutCount,
    groups: plan.groupCount,
    grouping: plan.tier,
    grouping_rule: TIERS[plan.tier - 1],
    estimator: estimator.name,
    rule: { baseline: estimator.baseline, scale: estimator.scale, ddof: estimator.ddof, epsilon: estimator.epsilon },
    siblings: { policy: policies.siblings, multi_row: survey.multiRow, disagreeing: survey.disagreeing, examples },
    flat_groups: outcome.flatGroups,
    singleton_groups: outcome.singletonGroups,
    excluded: outcome.excluded,
    warnings: warningsOf(facts),
    backend: use.backend,
    backend_reason: use.reason,
    adapter: use.adapter,
    seconds,
  };
}

function warningsOf({ work, options, survey, use }: Facts): string[] {
  const { columns, plan, policies, estimator } = work;
  const warnings: string[] = [];
  if (use.fellBack) warnings.push(`computed on the CPU: ${use.reason}`);
  if (estimator.scale === 'none') {
    if (options.epsilon !== undefined) warnings.push(`epsilon has no effect: ${estimator.name} does not divide here`);
    if (options.ddof !== undefined) warnings.push(`ddof has no effect: ${estimator.name} does not divide here`);
  }
  if (isPassThrough(estimator)) {
    if (plan.tier > 2 && !options.strict) warnings.push(fallbackText(work, options));
    return [...warnings, ...ignoredChecks(work, options, survey)];
  }
  if (plan.tier > 2) warnings.push(fallbackText(work, options));
  warnings.push(...keyWarnings(work));
  if (survey.disagreeing > 0) warnings.push(disagreementText(work, survey));
  const named = policies.exclude.filter((reason) => ['truncated', 'aborted', 'failed'].includes(reason));
  if (named.length > 0 && columns.unknownStatuses.length > 0) {
    const texts = columns.unknownStatuses.map((text) => JSON.stringify(text)).join(', ');
    warnings.push(`some rows have a status that --exclude cannot name: ${texts}`);
  }
  return warnings;
}

/** Below tier 2 the groups are a guess from the order of rows, or none at all. */
function fallbackText(
  { columns, plan }: Work,
  { nSamplesPerPrompt: samples, rolloutBatchSize: prompts }: NormalizeOptions,
): string {
  const { count } = plan.ungrouped;
  const missing = `${count} of ${columns.rowCount} rows have no group_index (${describeUngrouped(plan.ungrouped, columns.place)})`;
  if (plan.tier === 3) return `${missing}: grouped by position, ${samples} rows each (tier 3)`;
  const one = 'all rows are one prompt group (tier 4)';
  if (samples !== undefined && prompts !== undefined) {
    return `${missing}, and ${samples} samples per prompt x ${prompts} prompts are ${samples * prompts} rows, not ${columns.rowCount}: ${one}`;
  }
  if (samples === undefined && prompts === undefined) return `${missing}: ${one}`;
  return `${missing}, and a layout takes both n-samples-per-prompt and rollout-batch-size: ${one}`;
}

function keyWarnings({ columns, plan }: Work): string[] {
  const { mergedKeys, repeatedKeys } = plan.hygiene;
  const warnings: string[] = [];
  const named = (row: number) => `${columns.rolloutIds.describe(columns.rolloutCodes![row])} at ${columns.place(row)}`;
  if (mergedKeys.count > 0) {
    warnings.push(
      `${mergedKeys.count} rollouts join rows by rollout_id with rows by an equal index (first: ${named(mergedKeys.row)})`,
    );
  }
  if (repeatedKeys.count > 0) {
    const what =
      plan.tier === 2
        ? 'stand in more than one prompt group and count as a rollout in each'
        : 'stand on both sides of a group boundary';
    warnings.push(`${repeatedKeys.count} rollout ids ${what} (first: ${named(repeatedKeys.row)})`);
  }
  return warnings;
}

function disagreementText({ columns, policies }: Work, { disagreeing, examples }: SiblingSurvey): string {
  const shown = examples.map(({ rollout, rows, rewards }) => {
    const siblings = rows.map((row, i) => `${columns.place(row)}: ${rewards[i] ?? 'none'}`);
    return `rollout ${rollout} (${siblings.join(', ')})`;
  });
  const first = shown.length < disagreeing ? `, the first ${shown.length}` : '';
  return `siblings of ${disagreeing} rollouts have different rewards (policy: ${policies.siblings})${first}: ${shown.join('; ')}`;
}

/** With pass-through nothing is grouped, but what would have been refused is said. */
function ignoredChecks({ columns, plan, estimator }: Work, options: NormalizeOptions, survey: SiblingSurvey): string[] {
  const warnings: string[] = [];
  const unchecked = `is not checked, as ${estimator.name} passes rewards through here`;
  const total = options.promptGroupSizes?.reduce((sum, size) => sum + size, 0) ?? columns.rowCount;
  if (total !== columns.rowCount) {
    warnings.push(`prompt group sizes sum to ${total} but the batch has ${columns.rowCount} rows; this ${unchecked}`);
  }
  if (options.strict && plan.tier > 2) {
    const rows = describeUngrouped(plan.ungrouped, columns.place);
    warnings.push(`strict grouping needs group_index on every row, and it is missing on ${rows}; this ${unchecked}`);
  }
  if (options.siblings === 'shared' && survey.disagreeing > 0) {
    warnings.push(`siblings of ${survey.disagreeing} rollouts have different rewards; this ${unchecked}`);
  }
  return warnings;
}
