/**
 * Each framework's own rule, as data. A cell is what the framework's code computes without the noise of its binary32:
 * a rule that ends in NaN gives 0.
 */
import { UsageError } from '../errors.ts';
import { CENTRE, CENTRE_AND_SCALE, type EstimatorName, PASS_THROUGH, type Range, TOKEN_STEP } from './estimators.ts';
import type { ExclusionReason, SiblingPolicy } from './policies.ts';
import type { BatchStep, Rule } from './rule.ts';

/** What a framework makes of one estimator. */
export interface DialectEstimator {
  readonly rule: Rule;
  /** The framework's own name or setting, where it has another. */
  readonly theirs?: string;
  /** Where another row stands for a rollout than the dialect says. */
  readonly siblings?: SiblingPolicy;
}

export interface Dialect {
  readonly repository: string;
  readonly commit: string;
  /** File, and function where it helps, that the cells were read from. */
  readonly source: string;
  /** Which row stands for a rollout; `rows` where each counts by itself. */
  readonly siblings: SiblingPolicy;
  readonly exclude: readonly ExclusionReason[];
  /** `position`: groups are runs of rows, or all of them; their group_index is not looked at. */
  readonly grouping: 'group_index' | 'position';
  readonly clipReward?: Range;
  readonly estimators: Readonly<Partial<Record<EstimatorName, DialectEstimator>>>;
  /** What a user of the framework should know of the difference. */
  readonly notes: readonly string[];
}

const rule = (base: Rule, changes: Partial<Rule> = {}): Rule => ({ ...base, ...changes });
const LEAVE_ONE_OUT = rule(CENTRE, { baseline: 'leave-one-out' });
const NO_BASELINE = rule(CENTRE, { baseline: 'none' });
const plainly = (own: Rule, theirs?: string): DialectEstimator => (theirs ? { rule: own, theirs } : { rule: own });

const batchStep = (epsilon: number, ddof: 0 | 1 = 1): BatchStep => ({
  weight: 'rollouts',
  ddof,
  epsilon,
  epsilonAt: 'outside',
});
/** (A - m) * rsqrt(max(var, 1e-8)), var by ddof 0. */
const TOKEN_STEP_WITH_FLOOR: BatchStep = { weight: 'tokens', ddof: 0, epsilon: 1e-8, epsilonAt: 'floor' };

const MILES_ESTIMATORS: Dialect['estimators'] = {
  grpo: plainly(CENTRE_AND_SCALE),
  gspo: plainly(CENTRE_AND_SCALE),
  reinforce_plus_plus_baseline: plainly(CENTRE),
  ppo: plainly(PASS_THROUGH),
  reinforce_plus_plus: plainly(PASS_THROUGH),
};
const MILES = { repository: 'radixark/miles', source: 'miles/ray/rollout/train_data_conversion.py' };
const WHITENING_NOTE = 'whitening over tokens is a later step of its trainer: --weight tokens';

/** A group of one has mean 0 and deviation 1. */
const OWN_SCALED = rule(CENTRE_AND_SCALE, { singleton: 'own-scaled' });
const OWN_CENTRED = rule(CENTRE, { singleton: 'own' });

const VERL_ESTIMATORS: Dialect['estimators'] = {
  grpo: plainly(OWN_SCALED),
  gspo: plainly(OWN_SCALED, 'grpo with the gspo loss'),
  cispo: plainly(OWN_SCALED, 'grpo with the cispo loss'),
  dr_grpo: plainly(OWN_CENTRED, 'grpo, norm_adv_by_std_in_grpo=False'),
  rloo: { rule: rule(LEAVE_ONE_OUT, { singleton: 'own' }), siblings: 'rows' },
  reinforce_plus_plus_baseline: { rule: rule(OWN_CENTRED, { step: TOKEN_STEP }), siblings: 'rows' },
  reinforce_plus_plus: {
    rule: rule(NO_BASELINE, { step: TOKEN_STEP }),
    siblings: 'rows',
    theirs: 'reinforce_plus_plus, gamma 1',
  },
  opo: { rule: rule(CENTRE, { baseline: 'length-mean', singleton: 'own' }), siblings: 'rows' },
  remax: { rule: rule(CENTRE, { baseline: 'column' }), siblings: 'rows', theirs: 'remax, gamma 1' },
  grpo_passk: { rule: rule(CENTRE_AND_SCALE, { baseline: 'runner-up' }), siblings: 'rows' },
  gdpo: { rule: rule(OWN_SCALED, { perReward: true, step: TOKEN_STEP }), siblings: 'rows' },
};

const withoutSiblings = (estimators: Dialect['estimators']): Dialect['estimators'] =>
  Object.fromEntries(Object.entries(estimators).map(([name, { siblings: _, ...rest }]) => [name, rest]));

export const DIALECTS = {
  miles: {
    ...MILES,
    commit: '31f1ca961',
    siblings: 'shared',
    exclude: [],
    grouping: 'group_index',
    estimators: MILES_ESTIMATORS,
    notes: ['since PR #2498 siblings must carry one reward', WHITENING_NOTE],
  },
  'miles-2369': {
    ...MILES,
    commit: '63d2190ae',
    siblings: 'mainstream',
    exclude: [],
    grouping: 'group_index',
    estimators: MILES_ESTIMATORS,
    notes: ['the row with most trainable tokens stands for its rollout', WHITENING_NOTE],
  },
  'miles-legacy': {
    ...MILES,
    commit: '63d2190ae^',
    siblings: 'rows',
    exclude: [],
    grouping: 'position',
    estimators: MILES_ESTIMATORS,
    notes: [
      'every row counts; groups are slices of n_samples_per_prompt rows where the count fits, else the whole batch',
    ],
  },
  slime: {
    repository: 'THUDM/slime',
    commit: '624b824a8',
    source: 'slime/ray/rollout.py _post_process_rewards',
    siblings: 'rows',
    exclude: [],
    grouping: 'position',
    estimators: { ...MILES_ESTIMATORS, cispo: plainly(CENTRE_AND_SCALE) },
    notes: ['every row counts; uneven fan-out makes the whole batch one group', WHITENING_NOTE],
  },
  verl: {
    repository: 'verl-project/verl',
    commit: '1dda039b9',
    source: 'verl/trainer/ppo/core_algos.py; verl/trainer/ppo/v1/utils.py compute_advantage_for_multi_trajectories',
    siblings: 'last',
    exclude: [],
    grouping: 'group_index',
    estimators: VERL_ESTIMATORS,
    notes: ['with grpo the last row of a session stands for it, with the others every row counts'],
  },
  trl: {
    repository: 'huggingface/trl',
    commit: 'f2cd57710',
    source: 'trl/trainer/grpo_trainer.py _generate_and_score_completions; trl/trainer/rloo_trainer.py',
    siblings: 'rows',
    exclude: ['missing-reward'],
    grouping: 'group_index',
    estimators: {
      grpo: plainly(rule(CENTRE_AND_SCALE, { epsilon: 1e-4 })),
      gspo: plainly(rule(CENTRE_AND_SCALE, { epsilon: 1e-4 }), 'importance_sampling_level="sequence"'),
      cispo: plainly(rule(CENTRE_AND_SCALE, { epsilon: 1e-4 }), 'loss_type="cispo"'),
      dr_grpo: plainly(rule(CENTRE, { epsilon: 1e-4 }), 'scale_rewards="none"'),
      rloo: plainly(LEAVE_ONE_OUT, 'RLOOTrainer'),
      gdpo: plainly(
        rule(CENTRE_AND_SCALE, { epsilon: 1e-4, perReward: true, step: batchStep(1e-4) }),
        'multi_objective_aggregation="normalize_then_sum"',
      ),
    },
    notes: [
      '--scale batch is scale_rewards="batch"',
      'a completion that lacks one of several rewards is left out here',
    ],
  },
  'trl-async': {
    repository: 'huggingface/trl',
    commit: 'f2cd57710',
    source: 'trl/experimental/async_grpo/async_rollout_worker.py _score_group',
    siblings: 'shared',
    exclude: ['missing-reward'],
    grouping: 'group_index',
    estimators: { grpo: plainly(rule(CENTRE_AND_SCALE, { ddof: 0, epsilon: 1e-8 })) },
    notes: ['ddof and epsilon differ from the synchronous trainer'],
  },
  openrlhf: {
    repository: 'OpenRLHF/OpenRLHF',
    commit: '3c3be623',
    source: 'openrlhf/trainer/ppo_utils/experience_maker.py',
    siblings: 'rows',
    exclude: [],
    grouping: 'position',
    estimators: {
      grpo: plainly(rule(CENTRE_AND_SCALE, { epsilon: 1e-9 }), 'group_norm'),
      dr_grpo: plainly(CENTRE),
      rloo: plainly(LEAVE_ONE_OUT),
      reinforce_plus_plus_baseline: plainly(rule(CENTRE, { step: TOKEN_STEP_WITH_FLOOR }), 'reinforce_baseline'),
      reinforce_plus_plus: plainly(rule(NO_BASELINE, { step: TOKEN_STEP_WITH_FLOOR }), 'reinforce, gamma 1'),
    },
    notes: ['length penalties and the KL term come before and after'],
  },
  'nemo-rl': {
    repository: 'NVIDIA-NeMo/RL',
    commit: '7ea279abf',
    source:
      'nemo_rl/algorithms/advantage_estimator.py; nemo_rl/algorithms/utils.py calculate_baseline_and_std_per_prompt',
    siblings: 'rows',
    exclude: [],
    grouping: 'group_index',
    estimators: {
      grpo: plainly(
        rule(CENTRE_AND_SCALE, { baseline: 'leave-one-out', scale: 'peers' }),
        'leave-one-out baseline, normalized',
      ),
      rloo: plainly(LEAVE_ONE_OUT, 'grpo, normalize_rewards off'),
      dr_grpo: plainly(CENTRE, 'grpo, use_leave_one_out_baseline and normalize_rewards off'),
      gdpo: plainly(
        rule(CENTRE_AND_SCALE, { baseline: 'leave-one-out', scale: 'peers', perReward: true, step: batchStep(0) }),
      ),
      reinforce_plus_plus_baseline: plainly(
        rule(CENTRE, { step: TOKEN_STEP_WITH_FLOOR }),
        'reinforce_plus_plus, minus_baseline',
      ),
      raw: plainly(PASS_THROUGH),
    },
    notes: [
      'the deviation is that of the other rollouts of the group, and where it is 0 nothing is divided',
      'its groups are equal prompts; here they are equal group ids',
    ],
  },
  skyrl: {
    repository: 'NovaSky-AI/SkyRL',
    commit: 'a9564572e',
    source: 'skyrl/backends/skyrl_train/utils/ppo_utils.py; skyrl/train/trainer.py',
    siblings: 'last',
    exclude: [],
    grouping: 'group_index',
    estimators: {
      grpo: plainly(OWN_SCALED),
      dr_grpo: plainly(OWN_CENTRED, 'grpo, grpo_norm_by_std=False'),
      rloo: plainly(LEAVE_ONE_OUT),
      maxrl: plainly(rule(CENTRE, { scale: 'mean', epsilon: 1e-6, singleton: 'own', meanMustBePositive: false })),
      reinforce_plus_plus: {
        rule: rule(NO_BASELINE, { step: TOKEN_STEP }),
        siblings: 'rows',
        theirs: 'reinforce++, gamma 1',
      },
    },
    notes: ['step-wise training takes the last step of a trajectory'],
  },
  roll: {
    repository: 'alibaba/ROLL',
    commit: '8eb27cc2',
    source: 'roll/utils/functionals.py reward_norm',
    siblings: 'rows',
    exclude: [],
    grouping: 'position',
    estimators: { grpo: plainly(CENTRE_AND_SCALE) },
    notes: ['running statistics by domain are not reproduced'],
  },
  areal: {
    repository: 'areal-project/AReaL',
    commit: 'cbff54d64',
    source: 'areal/utils/data.py Normalization',
    siblings: 'shared',
    exclude: [],
    grouping: 'position',
    clipReward: [-20, 20],
    estimators: {
      grpo: plainly(rule(CENTRE_AND_SCALE, { epsilon: 1e-5 }), 'reward_norm: mean_level group, std_level group'),
      dr_grpo: plainly(CENTRE, 'reward_norm: mean_level group, std_level none'),
      rloo: plainly(LEAVE_ONE_OUT, 'reward_norm: mean_level group, mean_leave1out, std_level none'),
    },
    notes: ['reward_bias 0 and reward_scaling 1', 'one reward for a rollout since #1563'],
  },
  'prime-rl': {
    repository: 'PrimeIntellect-ai/prime-rl',
    commit: '559b44772',
    source: 'src/prime_rl/orchestrator/algo/',
    siblings: 'first',
    exclude: ['failed', 'untrainable'],
    grouping: 'group_index',
    estimators: {
      grpo: plainly(CENTRE),
      maxrl: plainly(rule(CENTRE, { scale: 'mean', epsilon: 0 }), 'max_rl'),
    },
    notes: ['no division by a deviation', 'length_penalty, rae and hierarchical_grpo are not reproduced'],
  },
  rllm: {
    repository: 'rllm-org/rllm',
    commit: '9beb6e0f',
    source: 'rllm/trainer/algorithms/advantage.py, rl_algo.py',
    siblings: 'first',
    exclude: [],
    grouping: 'group_index',
    estimators: {
      grpo: plainly(rule(OWN_SCALED, { ddof: 0 })),
      rloo: plainly(rule(LEAVE_ONE_OUT, { singleton: 'own' })),
      reinforce_plus_plus_baseline: plainly(rule(CENTRE_AND_SCALE, { scale: 'batch', ddof: 0 })),
    },
    notes: ['its verl backend has the ddof of verl', 'normalize_by_steps is not reproduced'],
  },
  art: {
    repository: 'OpenPipe/ART',
    commit: '03fd13dc',
    source: 'src/art/preprocessing/tokenize.py',
    siblings: 'shared',
    exclude: [],
    grouping: 'group_index',
    estimators: {
      grpo: plainly(rule(CENTRE_AND_SCALE, { ddof: 0 })),
      dr_grpo: plainly(rule(CENTRE, { ddof: 0 }), 'scale_rewards=False'),
    },
    notes: ['rows with advantage 0 may be left out: --drop flat'],
  },
  tinker: {
    repository: 'thinking-machines-lab/tinker-cookbook',
    commit: '9dfcc3a2',
    source: 'tinker_cookbook/rl/data_processing.py',
    siblings: 'first',
    exclude: [],
    grouping: 'group_index',
    estimators: { grpo: plainly(CENTRE), dr_grpo: plainly(CENTRE) },
    notes: ['no division by a deviation'],
  },
  'ms-swift': {
    repository: 'modelscope/ms-swift',
    commit: '3602360a5',
    source: 'swift/rl_core/advantage.py compute_advantages, compute_advantages_dynamic',
    siblings: 'last',
    exclude: [],
    grouping: 'group_index',
    estimators: {
      grpo: plainly(rule(CENTRE_AND_SCALE, { epsilon: 1e-4 })),
      dr_grpo: plainly(rule(CENTRE, { epsilon: 1e-4 }), 'scale_rewards="none"'),
      rloo: plainly(rule(LEAVE_ONE_OUT, { epsilon: 1e-4 }), 'rloo, scale_rewards="none"'),
      reinforce_plus_plus_baseline: plainly(
        rule(CENTRE, { step: batchStep(1e-4) }),
        'reinforce_plus_plus, scale_rewards="batch"',
      ),
      gdpo: plainly(rule(CENTRE_AND_SCALE, { epsilon: 1e-8, perReward: true, step: batchStep(1e-8) })),
    },
    notes: ['--scale batch is scale_rewards="batch"', 'it refuses siblings that differ by more than 1e-6'],
  },
  'agent-lightning': {
    repository: 'microsoft/agent-lightning',
    commit: 'c632d8dd',
    source: 'agentlightning/verl/rollout_level_advantage.py',
    siblings: 'shared',
    exclude: [],
    grouping: 'group_index',
    estimators: withoutSiblings(VERL_ESTIMATORS),
    notes: ["verl's estimators over one row of each rollout"],
  },
} as const satisfies Record<string, Dialect>;

export type DialectName = keyof typeof DIALECTS;
export const DIALECT_NAMES = Object.keys(DIALECTS) as DialectName[];

export function dialectNamed(name: string): Dialect {
  if (!Object.hasOwn(DIALECTS, name))
    throw new UsageError(`unknown dialect '${name}'; known: ${DIALECT_NAMES.join(', ')}`);
  return DIALECTS[name as DialectName];
}

/** @throws UsageError where the framework has no such estimator */
export function dialectEstimator(name: string, estimator: EstimatorName): DialectEstimator {
  const { estimators } = dialectNamed(name);
  const own = estimators[estimator];
  if (own) return own;
  throw new UsageError(`${name} has no estimator '${estimator}'; it has ${Object.keys(estimators).join(', ')}`);
}
