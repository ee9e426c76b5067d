/** The conformance files: rules from the tables of src/, numbers from exact arithmetic alone. */
import { ruleOptionsFromText } from '../../src/commands/flags/rule.ts';
import type { Dialect, DialectEstimator } from '../../src/estimators/dialect.ts';
import { DIALECT_NAMES, DIALECTS, type DialectName } from '../../src/estimators/dialects.ts';
import { ESTIMATORS, type Estimator, type EstimatorName } from '../../src/estimators/estimators.ts';
import { isPassThrough } from '../../src/estimators/rule.ts';
import { checkOptions } from '../../src/options.ts';
import { type ExactRollout, exactRuleAdvantages } from '../../test/support/exact-rules.ts';
import { exactly, type Rational, roundToBinary32, ZERO } from '../../test/support/rational.ts';
import { BATCH_NAMES, BATCHES, type BatchName, type ConformanceBatch, REWARD_KEYS } from './batches.ts';
import { decimalOf } from './decimal.ts';
import { readableJson } from './json.ts';
import { ruleWords } from './words.ts';

export const FORMAT = 'rollnorm-conformance';
export const FORMAT_VERSION = 1;
const DIGITS = 20;

export interface ConformanceFile {
  readonly format: string;
  readonly version: number;
  /** What a file of one framework says of it. */
  readonly dialect?: string;
  readonly batches: Readonly<Partial<Record<BatchName, BatchJson>>>;
  readonly cases: readonly ConformanceCase[];
}

export interface BatchJson {
  readonly about: string;
  readonly rewards: ConformanceBatch['rewards'] | Readonly<Record<string, ConformanceBatch['rewards']>>;
  readonly tokens: ConformanceBatch['tokens'];
  readonly baselines: ConformanceBatch['baselines'];
}

export interface ConformanceCase {
  readonly estimator: string;
  readonly theirs?: string | undefined;
  readonly flags: string;
  readonly words: string;
  readonly rule: object;
  readonly results: Readonly<Partial<Record<BatchName, { readonly exact: string[][]; readonly binary32: number[][] }>>>;
}

/** Every file by its name below conformance/. */
export function conformanceFiles(): Map<string, string> {
  const files = new Map(DIALECT_NAMES.map((name) => [`${name}.json`, dialectFile(name)]));
  files.set('estimators.json', {
    format: FORMAT,
    version: FORMAT_VERSION,
    ...withBatches(ESTIMATOR_FLAGS.map((flags) => caseOf(flags, ['sizes', 'shifted', 'flat']))),
  });
  return new Map([...files].map(([name, file]) => [name, `${readableJson(file)}\n`]));
}

function dialectFile(name: DialectName): ConformanceFile {
  const dialect: Dialect = DIALECTS[name];
  const { repository, commit, sources, siblings, exclude, grouping, notes } = dialect;
  const batches: BatchName[] = [
    'sizes',
    'shifted',
    'flat',
    ...(exclude.includes('missing-reward') ? ['missing' as const] : []),
  ];
  const cells = Object.entries(dialect.estimators) as [EstimatorName, DialectEstimator][];
  const cases = cells.map(([estimator, cell]) => ({
    ...caseOf(
      `--like ${name} --advantage-estimator ${estimator}${ESTIMATORS[estimator].perReward ? WEIGHTS : ''}`,
      batches,
    ),
    ...(cell.theirs && { theirs: cell.theirs }),
  }));
  const header = {
    dialect: name,
    repository: `https://github.com/${repository}`,
    commit,
    sources,
    siblings,
    grouping,
    exclude,
    notes,
  };
  return { format: FORMAT, version: FORMAT_VERSION, ...header, ...withBatches(cases) };
}

const WEIGHTS = ' --reward-weights 1,0.5';

const ESTIMATOR_FLAGS: readonly string[] = [
  ...(Object.keys(ESTIMATORS) as EstimatorName[]).map(
    (name) => `--advantage-estimator ${name}${ESTIMATORS[name].perReward ? WEIGHTS : ''}`,
  ),
  ...[
    'grpo --disable-grpo-std-normalization',
    'grpo_passk --disable-grpo-std-normalization',
    'grpo --disable-rewards-normalization',
    'grpo --ddof 0',
    'grpo --epsilon 0',
    'grpo --epsilon 0.01',
    'grpo --min-std 0.4',
    'grpo --clip-reward=-0.5,0.75',
    'grpo --clip=-0.5,1',
    'grpo --weight tokens',
    'dr_grpo --weight tokens',
    'rloo --weight tokens',
    'rloo --scale group',
    'opo --scale group',
    'remax --scale batch',
    'gdpo',
    'gdpo --weight tokens',
    'gdpo --ddof 0 --epsilon 0.01',
  ].map((flags) => `--advantage-estimator ${flags}`),
  ...['mean', 'leave-one-out', 'median', 'none'].flatMap((baseline) =>
    ['group', 'batch', 'mad', 'none'].map(
      (scale) => `--advantage-estimator grpo --baseline ${baseline} --scale ${scale}`,
    ),
  ),
];

/** The batches that the cases used, before the cases. */
function withBatches(cases: readonly ConformanceCase[]): Pick<ConformanceFile, 'batches' | 'cases'> {
  const used = BATCH_NAMES.filter((name) => cases.some(({ results }) => name in results));
  return { batches: Object.fromEntries(used.map((name) => [name, batchJson(name)])), cases };
}

function batchJson(name: BatchName): BatchJson {
  const { about, rewards, tokens, baselines, secondRewards }: ConformanceBatch = BATCHES[name];
  const [first, second] = REWARD_KEYS;
  return { about, rewards: secondRewards ? { [first]: rewards, [second]: secondRewards } : rewards, tokens, baselines };
}

function caseOf(flags: string, batches: readonly BatchName[]): ConformanceCase {
  const { estimator } = checkOptions(ruleOptionsFromText(flags, {}));
  const { name, ...rule } = estimator;
  const used: readonly BatchName[] = estimator.perReward ? ['two_rewards'] : batches;
  const results = used.map((batch) => {
    const exact = exactAdvantages(BATCHES[batch], estimator);
    return [
      batch,
      {
        exact: exact.map((group) => group.map((value) => decimalOf(value, DIGITS))),
        binary32: exact.map((group) => group.map(roundToBinary32)),
      },
    ];
  });
  return {
    estimator: name,
    flags,
    words: ruleWords(estimator),
    rule: inSnakeCase(rule),
    results: Object.fromEntries(results),
  };
}

/** Names as they are in the other JSON that rollnorm writes. */
function inSnakeCase(value: object): object {
  const entries = Object.entries(value).map(([name, member]: [string, unknown]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    typeof member === 'object' && member !== null && !Array.isArray(member) ? inSnakeCase(member) : member,
  ]);
  return Object.fromEntries(entries);
}

/** Missing rewards have no part, and advantage 0. */
function exactAdvantages(batch: ConformanceBatch, estimator: Estimator): Rational[][] {
  const { clipReward, clip, rewardWeights, ...rule } = estimator;
  const bounded = (reward: number) => (clipReward ? Math.min(Math.max(reward, clipReward[0]), clipReward[1]) : reward);
  if (isPassThrough(estimator))
    return batch.rewards.map((group) => group.map((reward) => (reward === null ? ZERO : exactly(bounded(reward)))));
  const rollouts = batch.rewards.map((group, at) =>
    group.map((reward, i): ExactRollout | null => {
      if (reward === null) return null;
      const all = estimator.perReward ? [reward, batch.secondRewards![at][i]] : [reward];
      return { rewards: all.map(bounded), tokens: batch.tokens[at][i], baseline: batch.baselines[at][i] };
    }),
  );
  const counted = rollouts.map((group) => group.filter((rollout) => rollout !== null));
  const settings = { rule, rewardWeights: rewardWeights ?? undefined, clip: clip ?? undefined };
  const exact = exactRuleAdvantages(
    counted.filter(({ length }) => length > 0),
    settings,
  );
  return rollouts.map((group) => {
    const own = group.some((rollout) => rollout !== null) ? exact.shift()! : [];
    return group.map((rollout) => (rollout === null ? ZERO : own.shift()!));
  });
}
