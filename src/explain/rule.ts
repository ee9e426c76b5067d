/** The rule in words, and what a framework's dialect makes different in it. */
import { dialectEstimator, dialectNamed } from '../estimators/dialects.ts';
import { ESTIMATORS, type Estimator } from '../estimators/estimators.ts';
import type { Baseline, BatchStep, Rule, Scale } from '../estimators/rule.ts';
import type { Settings } from '../options.ts';
import type { ExplainedRule, LikeChange, LikeExplanation } from './explanation.ts';
import { spell } from './spelling.ts';

export function explainRule({ estimator, policies }: Settings): ExplainedRule {
  const { baseline, scale, ddof, epsilon, minStd, singleton, step, rewardWeights, clipReward, clip } = estimator;
  return {
    estimator: estimator.name,
    formula: formulaOf(estimator),
    ...{ baseline, scale, ddof, epsilon, singleton, step },
    min_std: minStd,
    reward_weights: rewardWeights,
    clip_reward: clipReward,
    clip,
    siblings: policies.siblings,
    exclude: policies.exclude,
  };
}

const NAMES_OF_BASELINES: Readonly<Record<Baseline, string>> = {
  mean: 'mean',
  'leave-one-out': 'mean of the others',
  median: 'median',
  'length-mean': 'mean by tokens',
  'runner-up': 'second best',
  column: 'recorded baseline',
  none: '0',
  'pass-through': '0',
};

const NAMES_OF_SCALES: Readonly<Record<Scale, string>> = {
  group: 's',
  batch: 's of the batch',
  mad: '1.4826 x median distance',
  mean: 'mean',
  peers: 's of the others',
  none: '1',
};

function formulaOf(rule: Estimator): string {
  const { baseline, scale, epsilon, perReward, step } = rule;
  if (baseline === 'pass-through') return 'r, the own reward of the row';
  const reward = baseline === 'runner-up' ? 'best' : 'r';
  const difference = baseline === 'none' ? reward : `${reward} - ${NAMES_OF_BASELINES[baseline]}`;
  const centred = baseline === 'runner-up' ? `${difference}, others 0` : difference;
  const divided =
    scale === 'none'
      ? centred
      : `(${difference}) / (${NAMES_OF_SCALES[scale]} + ${spell(epsilon)})${baseline === 'runner-up' ? ', others 0' : ''}`;
  const summed = perReward ? `sum over rewards of weight x ${divided}` : divided;
  return step ? `A = ${summed}, then ${formulaOfStep(step)}` : summed;
}

function formulaOfStep({ weight, epsilon, epsilonAt }: BatchStep): string {
  const text = spell(epsilon);
  const divisor = {
    outside: `(S + ${text})`,
    inside: `sqrt(S^2 + ${text})`,
    floor: `sqrt(max(S^2, ${text}))`,
  }[epsilonAt];
  const over = weight === 'tokens' ? 'the trainable tokens of the batch' : 'the counted rollouts of the batch';
  return `(A - M) / ${divisor} over ${over}`;
}

const RULE_FIELDS = [
  ...(['baseline', 'scale', 'ddof', 'epsilon', 'minStd', 'singleton', 'meanMustBePositive'] as const),
  ...(['perReward', 'step'] as const),
] satisfies readonly (keyof Rule)[];

/** Null: no framework's rule was asked for. */
export function explainLike({ estimator, policies, byPosition, like }: Settings): LikeExplanation | null {
  if (like === null) return null;
  const dialect = dialectNamed(like);
  const own = dialectEstimator(like, estimator.name);
  const usual: Rule = ESTIMATORS[estimator.name];
  const rows = RULE_FIELDS.map((field): [string, unknown, unknown, unknown] => [
    field === 'minStd' ? 'min_std' : field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    usual[field],
    own.rule[field],
    estimator[field],
  ]);
  rows.push(
    ['siblings', 'mainstream', own.siblings ?? dialect.siblings, policies.siblings],
    ['exclude', [], own.rule.baseline === 'pass-through' ? [] : dialect.exclude, policies.exclude],
    ['grouping', 'group_index', dialect.grouping, byPosition ? 'position' : 'group_index'],
    ['clip_reward', null, dialect.clipReward ?? null, estimator.clipReward],
    ['clip', null, own.clip ?? null, estimator.clip],
  );
  const changes = rows
    .map(
      ([setting, usually, theirs, inEffect]): LikeChange => ({
        setting,
        default: usually,
        like: theirs,
        in_effect: inEffect,
      }),
    )
    .filter((change) => JSON.stringify(change.default) !== JSON.stringify(change.like));
  const { repository, commit, sources, notes } = dialect;
  return { name: like, repository, commit, sources, theirs: own.theirs ?? null, changes, notes };
}
