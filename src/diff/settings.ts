/** Settings in words, and in which of them two differ. */
import type { Estimator } from '../estimators/estimators.ts';
import { type Baseline, type BatchStep, isPassThrough, type Scale, zeroesFlatGroups } from '../estimators/rule.ts';
import { checkOptions, type NormalizeOptions } from '../options.ts';
import { whole } from './numbers.ts';

/** By name; what has no effect under the rule is null. */
export interface SettingsInWords {
  readonly estimator: string;
  readonly like: string | null;
  readonly formula: string;
  readonly baseline: string;
  readonly scale: string | null;
  readonly ddof: number | null;
  readonly epsilon: number | null;
  readonly min_std: number | null;
  /** What a group of one counted rollout gets. */
  readonly singleton: string | null;
  readonly step: string | null;
  readonly reward_weights: readonly number[] | null;
  readonly clip_reward: readonly number[] | null;
  readonly clip: readonly number[] | null;
  readonly siblings: string | null;
  readonly exclude: readonly string[];
  readonly grouping: string | null;
}

export interface SettingDifference {
  readonly setting: keyof SettingsInWords;
  readonly before: string;
  readonly after: string;
}

/** @throws UsageError as checkOptions does */
export function settingsInWords(options: NormalizeOptions): SettingsInWords {
  const { estimator, policies, like, byPosition } = checkOptions(options);
  const { ddof, epsilon, minStd, singleton, rewardWeights, clipReward, clip } = estimator;
  const passes = isPassThrough(estimator);
  const scales = !passes && estimator.scale !== 'none';
  return {
    estimator: estimator.name,
    like,
    formula: formulaOf(estimator),
    baseline: estimator.baseline,
    scale: passes ? null : estimator.scale,
    ddof: scales && estimator.scale !== 'mad' && estimator.scale !== 'mean' ? ddof : null,
    epsilon: scales ? epsilon : null,
    min_std: zeroesFlatGroups(estimator) ? minStd : null,
    singleton: zeroesFlatGroups(estimator) ? SINGLETONS[singleton] : null,
    step: stepInWords(estimator.step),
    reward_weights: rewardWeights,
    clip_reward: clipReward,
    clip,
    siblings: passes ? null : policies.siblings,
    exclude: policies.exclude,
    grouping: passes ? null : groupingInWords(options, byPosition),
  };
}

export function differencesOf(before: SettingsInWords, after: SettingsInWords): SettingDifference[] {
  const differences: SettingDifference[] = [];
  for (const setting of Object.keys(before) as (keyof SettingsInWords)[]) {
    const [a, b] = [valueInWords(before[setting]), valueInWords(after[setting])];
    if (a !== b) differences.push({ setting, before: a, after: b });
  }
  return differences;
}

/** In one line. */
export function describeSettings(words: SettingsInWords): string {
  const { estimator, like, formula, ddof, step, siblings, exclude, grouping } = words;
  const parts = [`${estimator}${like === null ? '' : ` of ${like}`}: ${formula}`];
  if (ddof !== null) parts.push(`ddof ${ddof}`);
  if (words.min_std) parts.push(`flat below a std of ${words.min_std}`);
  if (step !== null) parts.push(step);
  if (words.reward_weights) parts.push(`reward weights ${words.reward_weights}`);
  if (words.clip_reward) parts.push(`rewards within ${words.clip_reward}`);
  if (words.clip) parts.push(`advantages within ${words.clip}`);
  if (siblings !== null) parts.push(`siblings ${siblings}`);
  if (exclude.length > 0) parts.push(`excluded ${exclude.join(', ')}`);
  if (grouping !== null) parts.push(`groups by ${grouping}`);
  return parts.join('; ');
}

export const BASELINES_IN_WORDS: Readonly<Record<Baseline, string>> = {
  mean: 'mean',
  'leave-one-out': 'mean of the others',
  median: 'median',
  'length-mean': 'token-weighted mean',
  'runner-up': 'second best',
  column: 'recorded baseline',
  none: '0',
  'pass-through': '0',
};

export const SCALES_IN_WORDS: Readonly<Record<Scale, string>> = {
  group: 'std',
  batch: 'std of the batch',
  mad: 'median distance',
  mean: 'mean',
  peers: 'std of the others',
  none: '1',
};

const SINGLETONS: Readonly<Record<Estimator['singleton'], string>> = {
  zero: '0',
  own: 'its reward',
  'own-scaled': 'its reward / (1 + epsilon)',
};

function formulaOf({ baseline, scale, epsilon, perReward }: Estimator): string {
  const passes = baseline === 'pass-through' || baseline === 'none';
  const difference = passes ? 'r' : `r - ${BASELINES_IN_WORDS[baseline]}`;
  const own = baseline === 'pass-through' || scale === 'none' ? difference : quotient(difference, scale, epsilon);
  if (perReward) return `weighted sum of ${own} by reward`;
  return baseline === 'runner-up' ? `${own} for the best, 0 for the others` : own;
}

function quotient(difference: string, scale: Scale, epsilon: number): string {
  const dividend = difference === 'r' ? difference : `(${difference})`;
  return epsilon === 0
    ? `${dividend} / ${SCALES_IN_WORDS[scale]}`
    : `${dividend} / (${SCALES_IN_WORDS[scale]} + ${whole(epsilon)})`;
}

function stepInWords(step: BatchStep | null): string | null {
  if (step === null) return null;
  const { weight, ddof, epsilon, epsilonAt } = step;
  return `whitened over the batch's ${weight} (ddof ${ddof}, epsilon ${whole(epsilon)} ${epsilonAt})`;
}

function groupingInWords(options: NormalizeOptions, byPosition: boolean): string {
  const { promptGroupSizes, nSamplesPerPrompt, rolloutBatchSize, strict } = options;
  if (promptGroupSizes) return 'prompt group sizes';
  const layout =
    nSamplesPerPrompt !== undefined && rolloutBatchSize !== undefined
      ? `${rolloutBatchSize} slices of ${nSamplesPerPrompt} rows`
      : 'the whole batch';
  if (byPosition) return `position (${layout})`;
  return strict ? 'group_index alone' : `group_index, else ${layout}`;
}

function valueInWords(value: SettingsInWords[keyof SettingsInWords]): string {
  if (value === null) return 'none';
  if (typeof value === 'number') return whole(value);
  return Array.isArray(value) ? value.join(', ') || 'none' : String(value);
}
