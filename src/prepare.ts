/** A batch made ready to be computed: checked, grouped, its siblings looked at. */

import { adjustRewards, requireInputs } from './estimators/rewards.ts';
import { isPassThrough } from './estimators/rule.ts';
import { type SiblingSurvey, surveySiblings } from './estimators/sibling-survey.ts';
import { requireSharedRewards, rewardsLookedAt } from './estimators/siblings.ts';
import { checkOptions, type NormalizeOptions, type Settings } from './options.ts';
import type { GroupingOptions } from './plan/groups.ts';
import { type Plan, planBatch } from './plan/plan.ts';
import type { SampleColumns } from './samples/columns.ts';
import { rowsOfSizes } from './samples/group-sizes.ts';
import { requireRewards } from './samples/rewards.ts';

export interface PreparedBatch {
  readonly columns: SampleColumns;
  readonly plan: Plan;
  /** Equal for options that group in the same way. */
  readonly key: string;
  readonly seconds: number;
}

/** @throws UsageError, InputError as planBatch does */
export function prepareBatch(columns: SampleColumns, options: NormalizeOptions): PreparedBatch {
  const settings = checkOptions(options);
  refuseMissing(columns, settings, options.requireIdentity ?? false);
  const started = performance.now();
  const everyRowIsARollout = settings.policies.siblings === 'rows';
  const plan = planBatch(columns, { ...groupingOf(options, settings, columns.rowCount), everyRowIsARollout });
  return { columns, plan, key: planKey(options), seconds: (performance.now() - started) / 1000 };
}

/** What decides the groups and the rollouts, and nothing else. */
export function planKey(options: NormalizeOptions): string {
  const settings = checkOptions(options);
  const { promptGroupSizes, nSamplesPerPrompt, rolloutBatchSize, strict = false } = options;
  const passes = isPassThrough(settings.estimator);
  const rows = settings.policies.siblings === 'rows';
  const grouping = [promptGroupSizes, nSamplesPerPrompt, rolloutBatchSize, strict && !passes, settings.byPosition];
  return JSON.stringify([...grouping, rows, passes && promptGroupSizes !== undefined]);
}

/** The columns as a setting wants them, and whether the siblings of a rollout agree. @throws UsageError, InputError */
export function adjustBatch(
  { columns, plan }: PreparedBatch,
  settings: Settings,
): { columns: SampleColumns; rawRewards: Float64Array; survey: SiblingSurvey } {
  refuseMissing(columns, settings, false);
  requireInputs(columns, settings.estimator);
  const adjusted = adjustRewards(columns, settings.estimator);
  if (settings.policies.siblings === 'shared' && !isPassThrough(settings.estimator)) {
    for (const rewards of rewardsLookedAt(adjusted, settings.estimator))
      requireSharedRewards(plan, { ...adjusted, rewards });
  }
  // A row's own reward is what it is before it is bounded.
  const { rewards: rawRewards } = settings.estimator.clipReward
    ? adjustRewards(columns, { ...settings.estimator, clipReward: null })
    : adjusted;
  const isMainstream = settings.policies.siblings === 'mainstream' && !isPassThrough(settings.estimator);
  const { perReward } = settings.estimator;
  return { columns: adjusted, rawRewards, survey: surveySiblings(plan, adjusted, { perReward, isMainstream }) };
}

function refuseMissing(columns: SampleColumns, { policies }: Settings, requireIdentity: boolean): void {
  requireRewards(columns, policies.exclude.includes('missing-reward'), requireIdentity);
}

/** Pass-through refuses no grouping; what would have been refused is left out and becomes a warning. */
function groupingOf(options: NormalizeOptions, { estimator, byPosition }: Settings, rowCount: number): GroupingOptions {
  const { promptGroupSizes, nSamplesPerPrompt, rolloutBatchSize, strict } = options;
  const grouping = { promptGroupSizes, nSamplesPerPrompt, rolloutBatchSize, strict, byPosition };
  if (!isPassThrough(estimator)) return grouping;
  const fits = promptGroupSizes !== undefined && rowsOfSizes(promptGroupSizes) === rowCount;
  return { ...grouping, strict: false, promptGroupSizes: fits ? promptGroupSizes : undefined };
}
