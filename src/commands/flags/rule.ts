/** Flags that say what an advantage is: estimator, dialect, policies, grouping. */
import { type Command, CommanderError, Option, Command as Parser } from 'commander';
import { UsageError } from '../../errors.ts';
import { DIALECT_NAMES, type DialectName } from '../../estimators/dialects.ts';
import {
  BASELINE_CHOICES,
  type BaselineChoice,
  ESTIMATORS,
  type EstimatorName,
  type Range,
  SCALE_CHOICES,
  type ScaleChoice,
} from '../../estimators/estimators.ts';
import {
  EXCLUSION_REASONS,
  type ExclusionReason,
  SIBLING_POLICIES,
  type SiblingPolicy,
} from '../../estimators/policies.ts';
import type { NormalizeOptions } from '../../options.ts';
import { parseDdof, parseEpsilon, parseList, parseNumbers, parsePositive, parseRange, parseSizes } from '../options.ts';

/** As commander gives them. */
export interface RuleFlags {
  readonly advantageEstimator?: EstimatorName;
  readonly like?: DialectName;
  readonly disableRewardsNormalization?: true;
  readonly disableGrpoStdNormalization?: true;
  readonly baseline?: BaselineChoice;
  readonly scale?: ScaleChoice;
  readonly ddof?: 0 | 1;
  readonly epsilon?: number;
  readonly minStd?: number;
  readonly weight?: 'tokens';
  readonly rewardWeights?: number[];
  readonly clipReward?: Range;
  readonly clip?: Range;
  readonly siblings?: SiblingPolicy;
  readonly exclude?: ExclusionReason[];
  readonly promptGroupSizes?: number[];
  readonly nSamplesPerPrompt?: number;
  readonly rolloutBatchSize?: number;
  readonly grouping?: 'auto' | 'strict';
  readonly requireIdentity?: true;
}

export function addRuleFlags(command: Command): Command {
  return command
    .option('--advantage-estimator <name>', `one of ${Object.keys(ESTIMATORS).join(', ')} (default: grpo)`)
    .option('--like <framework>', `the rule of one framework: ${DIALECT_NAMES.join(', ')}; other flags beat it`)
    .option('--disable-rewards-normalization', 'every row keeps its own reward')
    .option('--disable-grpo-std-normalization', 'grpo, gspo, cispo, grpo_passk: do not divide')
    .option('--baseline <name>', `what is subtracted: ${BASELINE_CHOICES.join(', ')}`)
    .option('--scale <name>', `what is divided by: ${SCALE_CHOICES.join(', ')}`)
    .option('--ddof <0|1>', 'the variance is divided by n - ddof (default: 1)', parseDdof)
    .option('--epsilon <number>', 'added to the scale (default: 1e-6)', parseEpsilon)
    .option('--min-std <number>', 'a group whose standard deviation is less counts as flat', parseEpsilon)
    .addOption(new Option('--weight <tokens>', 'whiten the advantages over trainable tokens').choices(['tokens']))
    .option('--reward-weights <numbers>', 'weights of several rewards, such as 1,0.5', parseNumbers)
    .option('--clip-reward <low,high>', "bounds of a row's reward, before anything else", parseRange)
    .option('--clip <low,high>', 'bounds of an advantage, after everything else', parseRange)
    .option(
      '--siblings <policy>',
      `which row stands for its rollout: ${SIBLING_POLICIES.join(', ')} (default: mainstream, the one with most trainable tokens)`,
    )
    .option(
      '--exclude <reasons>',
      `leave rollouts out of the statistics, with advantage 0: ${EXCLUSION_REASONS.join(', ')}`,
      parseList,
    )
    .option('--prompt-group-sizes <sizes>', 'rows of each prompt group in turn, such as 2,0,2', parseSizes)
    .option('--n-samples-per-prompt <n>', 'rows of a prompt group, where rows have no group_index', parsePositive)
    .option('--rollout-batch-size <n>', 'prompt groups of the batch, likewise', parsePositive)
    .addOption(
      new Option('--grouping <mode>', 'strict refuses to group rows without group_index (default: auto)').choices([
        'auto',
        'strict',
      ]),
    )
    .option('--require-identity', 'refuse rows with neither rollout_id nor index');
}

/** @throws UsageError where the groups are stated twice */
export function requireOneGrouping({ promptGroupSizes, groupSize }: RuleFlags & { readonly groupSize?: number }): void {
  if (promptGroupSizes && groupSize !== undefined)
    throw new UsageError('--group-size and --prompt-group-sizes exclude each other: both say what the groups are');
}

export function ruleOptions(flags: RuleFlags): NormalizeOptions {
  const { advantageEstimator, grouping, ...rest } = flags;
  return {
    estimator: advantageEstimator,
    like: rest.like,
    disableRewardsNormalization: rest.disableRewardsNormalization,
    disableGrpoStdNormalization: rest.disableGrpoStdNormalization,
    baseline: rest.baseline,
    scale: rest.scale,
    ddof: rest.ddof,
    epsilon: rest.epsilon,
    minStd: rest.minStd,
    weight: rest.weight,
    rewardWeights: rest.rewardWeights,
    clipReward: rest.clipReward,
    clip: rest.clip,
    siblings: rest.siblings,
    exclude: rest.exclude,
    promptGroupSizes: rest.promptGroupSizes,
    nSamplesPerPrompt: rest.nSamplesPerPrompt,
    rolloutBatchSize: rest.rolloutBatchSize,
    strict: grouping === undefined ? undefined : grouping === 'strict',
    requireIdentity: rest.requireIdentity,
  };
}

/**
 * Flags written in one text, such as `--like slime --ddof 0`, on top of others.
 * @throws UsageError that names the text
 */
export function ruleOptionsFromText(text: string, base: NormalizeOptions): NormalizeOptions {
  const parser = addRuleFlags(new Parser())
    .helpOption(false)
    .exitOverride()
    .allowExcessArguments()
    .configureOutput({ writeErr: () => {} });
  try {
    parser.parse(text.trim().split(/\s+/).filter(Boolean), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw new UsageError(`in the settings '${text}': ${error.message.replace(/^error: /, '')}`);
  }
  if (parser.args.length > 0) throw new UsageError(`in the settings '${text}': '${parser.args[0]}' is no flag`);
  const own = Object.entries(ruleOptions(parser.opts<RuleFlags>())).filter(([, value]) => value !== undefined);
  return { ...base, ...Object.fromEntries(own) };
}
