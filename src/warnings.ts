/** What surprised a run: each warning has a code that scripts can rely on and a text for people. */

import { isPassThrough, zeroesFlatGroups } from './estimators/rule.ts';
import type { SiblingSurvey } from './estimators/sibling-survey.ts';
import type { Outcome, Work } from './kernels/work.ts';
import type { NormalizeOptions, Settings } from './options.ts';
import { describeUngrouped } from './plan/groups.ts';
import { rowsOfSizes } from './samples/group-sizes.ts';

export const WARNING_CODES = [
  'backend',
  'no-effect',
  'fallback',
  'by-position',
  'merged-keys',
  'repeated-keys',
  'disagreement',
  'doubtful-representative',
  'unknown-status',
  'singletons',
  'flat',
  'unscaled',
  'not-positive',
  'no-tokens',
  'normalized-input',
  'unchecked',
  'input',
] as const;
export type WarningCode = (typeof WARNING_CODES)[number];

export interface Warning {
  readonly code: WarningCode;
  readonly text: string;
}

export interface WarningFacts {
  readonly work: Work;
  readonly settings: Settings;
  readonly options: NormalizeOptions;
  readonly outcome: Outcome;
  readonly survey: SiblingSurvey;
  /** Rewards of most groups have mean 0 and deviation 1 already. */
  readonly looksNormalized: boolean;
  /** Why the CPU computed although a GPU was to; null: it did not. */
  readonly fellBack: string | null;
}

export function warningsOf(facts: WarningFacts): Warning[] {
  const { work, options, fellBack } = facts;
  const { plan, estimator } = work;
  const warnings: Warning[] = [];
  if (fellBack !== null) warnings.push({ code: 'backend', text: `computed on the CPU: ${fellBack}` });
  warnings.push(...withoutEffect(facts));
  const fallback = groupingWarning(facts);
  if (isPassThrough(estimator)) {
    if (plan.tier > 2 && !options.strict) warnings.push(fallback!);
    return [...warnings, ...uncheckedWarnings(facts)];
  }
  if (fallback) warnings.push(fallback);
  warnings.push(...keyWarnings(work), ...siblingWarnings(facts), ...groupWarnings(facts));
  return warnings;
}

function withoutEffect({ work: { estimator }, options }: WarningFacts): Warning[] {
  const warnings: Warning[] = [];
  const say = (option: string, why: string) =>
    warnings.push({ code: 'no-effect', text: `${option} has no effect: ${estimator.name} ${why}` });
  const divides = estimator.scale !== 'none' || (estimator.step !== null && estimator.step.weight === 'rollouts');
  const hasDeviation =
    ['group', 'batch', 'peers'].includes(estimator.scale) || estimator.minStd > 0 || estimator.perReward;
  if (options.epsilon !== undefined && !divides) say('epsilon', 'does not divide here');
  if (options.ddof !== undefined && !hasDeviation)
    say('ddof', estimator.scale === 'none' ? 'does not divide here' : 'divides by no standard deviation here');
  if (options.minStd !== undefined && !isPassThrough(estimator) && !zeroesFlatGroups(estimator))
    say('min-std', 'treats flat groups like others here');
  return warnings;
}

/** Below tier 2 the groups are a guess from the order of rows, or none at all. */
function groupingWarning({ work: { columns, plan }, settings, options }: WarningFacts): Warning | null {
  if (plan.tier <= 2) return null;
  const { nSamplesPerPrompt: samples, rolloutBatchSize: prompts } = options;
  const { count } = plan.ungrouped;
  const missing = `${count} of ${columns.rowCount} rows have no group_index (${describeUngrouped(plan.ungrouped, columns.place)})`;
  const cause = settings.byPosition ? `${settings.like} groups rows by their position` : missing;
  const code = settings.byPosition ? 'by-position' : 'fallback';
  if (plan.tier === 3)
    return {
      code,
      text: `${cause}: ${settings.byPosition ? '' : 'grouped by position, '}${samples} rows each (tier 3)`,
    };
  const one = 'all rows are one prompt group (tier 4)';
  if (samples !== undefined && prompts !== undefined)
    return {
      code,
      text: `${cause}, and ${samples} samples per prompt x ${prompts} prompts are ${samples * prompts} rows, not ${columns.rowCount}: ${one}`,
    };
  if (samples === undefined && prompts === undefined && !settings.byPosition) return { code, text: `${cause}: ${one}` };
  return { code, text: `${cause}, and a layout takes both n-samples-per-prompt and rollout-batch-size: ${one}` };
}

function keyWarnings({ columns, plan }: Work): Warning[] {
  const { mergedKeys, repeatedKeys } = plan.hygiene;
  const warnings: Warning[] = [];
  const named = (row: number) => `${columns.rolloutIds.describe(columns.rolloutCodes![row])} at ${columns.place(row)}`;
  if (mergedKeys.count > 0) {
    const text = `${mergedKeys.count} rollouts join rows by rollout_id with rows by an equal index (first: ${named(mergedKeys.row)})`;
    warnings.push({ code: 'merged-keys', text });
  }
  if (repeatedKeys.count > 0) {
    const what =
      plan.tier === 2
        ? 'stand in more than one prompt group and count as a rollout in each'
        : 'stand on both sides of a group boundary';
    const text = `${repeatedKeys.count} rollout ids ${what} (first: ${named(repeatedKeys.row)})`;
    warnings.push({ code: 'repeated-keys', text });
  }
  return warnings;
}

function siblingWarnings({ work, survey }: WarningFacts): Warning[] {
  const { columns, policies } = work;
  const warnings: Warning[] = [];
  if (survey.disagreeing > 0) warnings.push({ code: 'disagreement', text: disagreementText(work, survey) });
  if (survey.doubts.count > 0) {
    const { rollout, row, why } = survey.doubts.first!;
    const text = `the representatives of ${survey.doubts.count} rollouts are doubtful, and their siblings have other rewards; the first is ${columns.place(row)} for rollout ${rollout}: ${why}`;
    warnings.push({ code: 'doubtful-representative', text });
  }
  const named = policies.exclude.filter((reason) => ['truncated', 'aborted', 'failed'].includes(reason));
  if (named.length > 0 && columns.unknownStatuses.length > 0) {
    const texts = columns.unknownStatuses.map((text) => JSON.stringify(text)).join(', ');
    warnings.push({ code: 'unknown-status', text: `some rows have a status that --exclude cannot name: ${texts}` });
  }
  return warnings;
}

function disagreementText({ columns, policies }: Work, { disagreeing, examples }: SiblingSurvey): string {
  const shown = examples.map(({ rollout, rows, rewards, reward }) => {
    const siblings = rows.map((row, i) => `${columns.place(row)}: ${rewards[i] ?? 'missing'}`);
    return `rollout ${rollout} (${reward === undefined ? '' : `${reward}: `}${siblings.join(', ')})`;
  });
  const first = shown.length < disagreeing ? `, the first ${shown.length}` : '';
  return `siblings of ${disagreeing} rollouts have different rewards (policy: ${policies.siblings})${first}: ${shown.join('; ')}`;
}

/** From so many groups on it is a surprise that all of them are alike. */
const FEW_GROUPS = 2;

function groupWarnings({ work, outcome, looksNormalized }: WarningFacts): Warning[] {
  const { plan, estimator } = work;
  const { singletonGroups, emptyGroups, flatGroups, unscaledGroups, notPositiveGroups, groupsWithoutTokens } = outcome;
  const warnings: Warning[] = [];
  if (plan.groupCount >= FEW_GROUPS && singletonGroups === plan.groupCount)
    warnings.push({ code: 'singletons', text: 'every group has one rollout: is the group id a rollout id?' });
  const larger = plan.groupCount - singletonGroups - emptyGroups;
  if (plan.groupCount >= FEW_GROUPS && flatGroups * 2 > larger)
    warnings.push({
      code: 'flat',
      text: `${flatGroups} of ${larger} groups of two or more are flat: their rewards are equal and teach nothing`,
    });
  if (unscaledGroups > 0)
    warnings.push({
      code: 'unscaled',
      text: `the median distance of ${unscaledGroups} groups is 0 although their rewards differ: these are not scaled`,
    });
  if (notPositiveGroups > 0)
    warnings.push({
      code: 'not-positive',
      text: `the mean of ${notPositiveGroups} of ${larger} groups of two or more is not above 0, so ${estimator.name} gives them advantage 0 although their rewards differ`,
    });
  if (groupsWithoutTokens > 0)
    warnings.push({
      code: 'no-tokens',
      text: `${groupsWithoutTokens} groups have no trainable tokens to weigh by, or none that are known: their baseline is the plain mean`,
    });
  if (looksNormalized && estimator.baseline !== 'none')
    warnings.push({
      code: 'normalized-input',
      text: 'the rewards look normalized already: those of most groups have mean 0 and standard deviation 1',
    });
  return warnings;
}

/** With pass-through nothing is grouped, but what would have been refused is said. */
function uncheckedWarnings({ work, options, survey }: WarningFacts): Warning[] {
  const { columns, plan, estimator, policies } = work;
  const warnings: Warning[] = [];
  const unchecked = `is not checked, as ${estimator.name} passes rewards through here`;
  const say = (text: string) => warnings.push({ code: 'unchecked', text });
  const total = options.promptGroupSizes ? rowsOfSizes(options.promptGroupSizes) : columns.rowCount;
  if (total !== columns.rowCount)
    say(`prompt group sizes sum to ${total} but the batch has ${columns.rowCount} rows; this ${unchecked}`);
  if (options.strict && plan.tier > 2) {
    const rows = describeUngrouped(plan.ungrouped, columns.place);
    say(`strict grouping needs group_index on every row, and it is missing on ${rows}; this ${unchecked}`);
  }
  if (policies.siblings === 'shared' && survey.disagreeing > 0)
    say(`siblings of ${survey.disagreeing} rollouts have different rewards; this ${unchecked}`);
  return warnings;
}
