/**
 * Each framework's own rule, as data. A cell is what the framework's code computes without the noise of its binary32:
 * a rule that ends in NaN gives 0.
 */
import { UsageError } from '../errors.ts';
import type { Dialect, DialectEstimator } from './dialect.ts';
import { CENTRE, CENTRE_AND_SCALE, type EstimatorName, PASS_THROUGH, TOKEN_STEP } from './estimators.ts';
import type { BatchStep, Rule } from './rule.ts';

const rule = (base: Rule, changes: Partial<Rule> = {}): Rule => ({ ...base, ...changes });
const LEAVE_ONE_OUT = rule(CENTRE, { baseline: 'leave-one-out' });
const NO_BASELINE = rule(CENTRE, { baseline: 'none' });
const plainly = (own: Rule, theirs?: string): DialectEstimator => (theirs ? { rule: own, theirs } : { rule: own });
const bounded = (cell: DialectEstimator, bound: number): DialectEstimator => ({ ...cell, clip: [-bound, bound] });

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
const MILES = { repository: 'radixark/miles', sources: ['miles/ray/rollout/train_data_conversion.py'] };
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
      WHITENING_NOTE,
    ],
  },
  slime: {
    repository: 'THUDM/slime',
    commit: '624b824a8',
    sources: ['slime/ray/rollout.py _post_process_rewards'],
    siblings: 'rows',
    exclude: [],
    grouping: 'position',
    estimators: { ...MILES_ESTIMATORS, cispo: plainly(CENTRE_AND_SCALE) },
    notes: ['every row counts; uneven fan-out makes the whole batch one group', WHITENING_NOTE],
  },
  verl: {
    repository: 'verl-project/verl',
    commit: '1dda039b9',
    sources: [
      'verl/trainer/ppo/core_algos.py',
      'verl/trainer/ppo/v1/utils.py compute_advantage_for_multi_trajectories',
    ],
    siblings: 'last',
    exclude: [],
    grouping: 'group_index',
    estimators: VERL_ESTIMATORS,
    notes: [
      'with grpo the last row of a session, in file order, stands for it; with the others every row counts',
      'grpo_vectorized is grpo; rloo_vectorized is rloo but gives a group of one 0',
      'grpo_passk raises on a group of one, which gets 0 here',
      'norm_adv_by_std_in_grpo=False: dr_grpo, or --scale none with grpo_passk and gdpo',
      'gpg (its factor counts the rewards of the batch that are not 0) and the baselines per token are not reproduced',
    ],
  },
  trl: {
    repository: 'huggingface/trl',
    commit: 'f2cd57710',
    sources: ['trl/trainer/grpo_trainer.py _generate_and_score_completions', 'trl/trainer/rloo_trainer.py'],
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
      '--scale batch is scale_rewards="batch"; --clip-reward with rloo is reward_clip_range',
      'a completion that lacks one of several rewards is left out here; the trainer leaves out that reward alone',
      'normalize_advantages of RLOOTrainer (a step over the rollouts of the batch) and the KL term are not reproduced',
    ],
  },
  'trl-async': {
    repository: 'huggingface/trl',
    commit: 'f2cd57710',
    sources: ['trl/experimental/async_grpo/async_rollout_worker.py _score_group'],
    siblings: 'shared',
    exclude: ['missing-reward'],
    grouping: 'group_index',
    estimators: { grpo: plainly(rule(CENTRE_AND_SCALE, { ddof: 0, epsilon: 1e-8 })) },
    notes: [
      'ddof and epsilon differ from the synchronous trainer',
      'weights of reward functions are not applied there',
    ],
  },
  openrlhf: {
    repository: 'OpenRLHF/OpenRLHF',
    commit: '3c3be623',
    sources: ['openrlhf/trainer/ppo_utils/experience_maker.py compute_advantages_and_returns'],
    siblings: 'rows',
    exclude: [],
    grouping: 'group_index',
    estimators: {
      grpo: bounded(plainly(rule(CENTRE_AND_SCALE, { epsilon: 1e-9 }), 'group_norm'), 10),
      gspo: bounded(plainly(rule(CENTRE_AND_SCALE, { epsilon: 1e-9 }), 'group_norm, policy_loss_type gspo'), 10),
      dr_grpo: bounded(plainly(CENTRE), 10),
      rloo: bounded(plainly(LEAVE_ONE_OUT), 10),
      reinforce_plus_plus_baseline: plainly(rule(CENTRE, { step: TOKEN_STEP_WITH_FLOOR }), 'reinforce_baseline'),
      reinforce_plus_plus: plainly(rule(NO_BASELINE, { step: TOKEN_STEP_WITH_FLOOR }), 'reinforce, gamma 1'),
    },
    notes: [
      'its rows are sorted by index and cut into groups of one size, which group_index says without the sorting; rows without it are cut in the order of the file',
      'reward.clip_range (-10 10 by default) bounds what the baseline leaves; with a step it comes before the whitening, and is not reproduced there',
      'length penalties, the KL term, no_std_norm and flash_reinforce (the mean of the batch as baseline) are not reproduced',
    ],
  },
  'nemo-rl': {
    repository: 'NVIDIA-NeMo/RL',
    commit: '7ea279abf',
    sources: [
      'nemo_rl/algorithms/advantage_estimator.py',
      'nemo_rl/algorithms/utils.py calculate_baseline_and_std_per_prompt',
    ],
    siblings: 'rows',
    exclude: [],
    grouping: 'group_index',
    estimators: {
      grpo: plainly(
        rule(CENTRE_AND_SCALE, { baseline: 'leave-one-out', scale: 'peers' }),
        'leave-one-out baseline, normalized',
      ),
      gspo: plainly(
        rule(CENTRE_AND_SCALE, { baseline: 'leave-one-out', scale: 'peers' }),
        'grpo, sequence_level_importance_ratios',
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
      reinforce_plus_plus: plainly(
        rule(NO_BASELINE, { step: TOKEN_STEP_WITH_FLOOR }),
        'reinforce_plus_plus, minus_baseline off; raw reward, normalize_advantages',
      ),
      raw: plainly(PASS_THROUGH, 'raw reward'),
    },
    notes: [
      'the deviation is that of the other rollouts of the group, and where these are equal nothing is divided',
      'use_leave_one_out_baseline off, normalized: --baseline mean --scale group',
      'its binary32 deviation of equal peers may come out as not quite 0, and the advantage as huge (issue 4158)',
      'its groups are equal prompts; here they are equal group ids',
      'reward_scaling and reward_shaping (off by default), the KL term and opd are not reproduced',
    ],
  },
  skyrl: {
    repository: 'NovaSky-AI/SkyRL',
    commit: 'a9564572e',
    sources: ['skyrl/backends/skyrl_train/utils/ppo_utils.py', 'skyrl/train/trainer.py'],
    siblings: 'last',
    exclude: [],
    grouping: 'group_index',
    estimators: {
      grpo: plainly(OWN_SCALED),
      gspo: plainly(OWN_SCALED, 'grpo with the gspo loss'),
      cispo: plainly(OWN_SCALED, 'grpo with the cispo loss'),
      dr_grpo: plainly(OWN_CENTRED, 'grpo, grpo_norm_by_std=False'),
      rloo: plainly(LEAVE_ONE_OUT),
      maxrl: plainly(rule(CENTRE, { scale: 'mean', epsilon: 1e-6, singleton: 'own', meanMustBePositive: false })),
      reinforce_plus_plus: {
        rule: rule(NO_BASELINE, { step: TOKEN_STEP }),
        siblings: 'rows',
        theirs: 'reinforce++, gamma 1',
      },
    },
    notes: [
      'step-wise training takes the last step of a trajectory, and refuses reinforce++',
      'maxrl divides by a negative mean too',
    ],
  },
  roll: {
    repository: 'alibaba/ROLL',
    commit: '8eb27cc2',
    sources: ['roll/utils/functionals.py reward_norm, compute_advantage'],
    siblings: 'rows',
    exclude: [],
    grouping: 'group_index',
    estimators: {
      grpo: plainly(CENTRE_AND_SCALE),
      gspo: plainly(CENTRE_AND_SCALE, 'grpo with the gspo loss'),
      cispo: plainly(CENTRE_AND_SCALE, 'grpo with the cispo loss'),
      dr_grpo: plainly(CENTRE, 'reinforce, norm_mean_type group'),
      reinforce_plus_plus: plainly(
        rule(NO_BASELINE, { step: batchStep(1e-6) }),
        'reinforce, norm_mean_type batch, norm_std_type batch',
      ),
      raw: plainly(PASS_THROUGH, 'reinforce, neither norm_mean_type nor norm_std_type'),
    },
    notes: [
      'gamma 1; --weight tokens is whiten_advantages, --clip=-X,X is reward_clip or advantage_clip; reward_clip under whiten_advantages comes before the whitening, and is not reproduced',
      'its rows are sorted by prompt and cut into groups of one size, which group_index says without the sorting; a batch there is the rows of one domain, here the file',
      'norm_mean_type group with norm_std_type batch: grpo with --scale batch',
      'running statistics by domain, gigpo and the norms of agentic rewards are not reproduced',
    ],
  },
  areal: {
    repository: 'areal-project/AReaL',
    commit: 'cbff54d64',
    sources: ['areal/trainer/ppo/actor.py _compute_advantages', 'areal/utils/data.py Normalization'],
    siblings: 'rows',
    exclude: [],
    grouping: 'group_index',
    clipReward: [-20, 20],
    estimators: {
      grpo: plainly(rule(CENTRE_AND_SCALE, { epsilon: 1e-5 }), 'reward_norm: mean_level group, std_level group'),
      gspo: plainly(
        rule(CENTRE_AND_SCALE, { epsilon: 1e-5 }),
        'reward_norm as grpo, importance_sampling_level sequence',
      ),
      dr_grpo: plainly(CENTRE, 'reward_norm: mean_level group, std_level none'),
      rloo: plainly(LEAVE_ONE_OUT, 'reward_norm: mean_level group, mean_leave1out, std_level none'),
      reinforce_plus_plus_baseline: plainly(
        rule(CENTRE, { step: batchStep(1e-5) }),
        'reward_norm: mean_level group, std_level batch (LitePPO)',
      ),
      reinforce_plus_plus: plainly(
        rule(NO_BASELINE, { step: batchStep(1e-5) }),
        'reward_norm: mean_level batch, std_level batch',
      ),
    },
    notes: [
      'reward_bias 0, reward_scaling 1, reward_clip 20; std_unbiased off is --ddof 0',
      'reward_norm counts every row; reward_normalization, an earlier step that counts rollouts, is --like trl-async --siblings last',
      'reward_normalization (epsilon 1e-8) gives equal rewards that are no binary fractions up to 0.9 by the noise of its binary32; here they get 0',
      'release 1.0.4 and before: with mean_leave1out a group of one keeps its reward',
      'adv_norm over tokens, and mean_leave1out with std_level group (a deviation around the means of the others), are not reproduced',
    ],
  },
  'prime-rl': {
    repository: 'PrimeIntellect-ai/prime-rl',
    commit: '559b44772',
    sources: [
      'src/prime_rl/orchestrator/algo/grpo.py',
      'src/prime_rl/orchestrator/algo/max_rl.py',
      'src/prime_rl/orchestrator/algo/base.py iter_trainable_traces',
    ],
    siblings: 'rows',
    exclude: ['failed', 'untrainable'],
    grouping: 'group_index',
    estimators: {
      grpo: plainly(CENTRE),
      maxrl: plainly(rule(CENTRE, { scale: 'mean', epsilon: 0 }), 'max_rl'),
    },
    notes: [
      'no division by a deviation',
      'every trace of an episode counts by itself; where rows are parts of a trace: --siblings first',
      'traces with an error, or without a trainable token, are not counted; in a traces.jsonl --map remove_sample=!ok finds the first, =!traces[].agent.trainable those of agents that are not trained',
      'length_penalty, rae and hierarchical_grpo are not reproduced',
    ],
  },
  rllm: {
    repository: 'rllm-org/rllm',
    commit: '9beb6e0f',
    sources: [
      'rllm/trainer/algorithms/advantage.py',
      'rllm/trainer/algorithms/rl_algo.py',
      'rllm/trainer/algorithms/transform.py _build_trajectory_groups',
    ],
    siblings: 'rows',
    exclude: [],
    grouping: 'group_index',
    estimators: {
      grpo: plainly(rule(OWN_SCALED, { ddof: 0 })),
      dr_grpo: plainly(OWN_CENTRED, 'grpo, norm_adv_by_std_in_grpo=False'),
      rloo: plainly(rule(LEAVE_ONE_OUT, { singleton: 'own' })),
      reinforce_plus_plus_baseline: plainly(rule(CENTRE, { step: batchStep(1e-6, 0) })),
      reinforce_plus_plus: plainly(rule(NO_BASELINE, { step: batchStep(1e-6, 0) }), 'prpo'),
      raw: plainly(PASS_THROUGH, 'reinforce'),
    },
    notes: [
      'every trajectory of an episode counts by itself; where rows are steps of a trajectory: --siblings first',
      'a batch there is the groups of one role',
      'its verl backend has the ddof of verl',
      'normalize_by_steps is not reproduced',
    ],
  },
  art: {
    repository: 'OpenPipe/ART',
    commit: '03fd13dc',
    sources: ['src/art/preprocessing/tokenize.py'],
    siblings: 'shared',
    exclude: [],
    grouping: 'group_index',
    estimators: {
      grpo: plainly(rule(CENTRE_AND_SCALE, { ddof: 0 })),
      cispo: plainly(rule(CENTRE_AND_SCALE, { ddof: 0 }), 'loss_fn="cispo"'),
      dr_grpo: plainly(rule(CENTRE, { ddof: 0 }), 'scale_rewards=False'),
    },
    notes: [
      'rows with advantage 0 may be left out: --drop flat',
      'releases since 0.5.23 give 0 where all rewards are within 1e-12 of the first; here they are equal or not',
    ],
  },
  tinker: {
    repository: 'thinking-machines-lab/tinker-cookbook',
    commit: '9dfcc3a2',
    sources: ['tinker_cookbook/rl/data_processing.py compute_advantages'],
    siblings: 'first',
    exclude: [],
    grouping: 'group_index',
    estimators: { grpo: plainly(CENTRE), dr_grpo: plainly(CENTRE) },
    notes: ['no division by a deviation'],
  },
  'ms-swift': {
    repository: 'modelscope/ms-swift',
    commit: '3602360a5',
    sources: ['swift/rl_core/advantage.py compute_advantages, compute_advantages_dynamic'],
    siblings: 'last',
    exclude: [],
    grouping: 'group_index',
    estimators: {
      grpo: plainly(rule(CENTRE_AND_SCALE, { epsilon: 1e-4 })),
      gspo: plainly(rule(CENTRE_AND_SCALE, { epsilon: 1e-4 }), 'importance_sampling_level="sequence"'),
      cispo: plainly(rule(CENTRE_AND_SCALE, { epsilon: 1e-4 }), 'loss_type="cispo"'),
      dr_grpo: plainly(rule(CENTRE, { epsilon: 1e-4 }), 'scale_rewards="none"'),
      rloo: plainly(rule(LEAVE_ONE_OUT, { epsilon: 1e-4 }), 'rloo, scale_rewards="none"'),
      reinforce_plus_plus_baseline: plainly(
        rule(CENTRE, { step: batchStep(1e-4) }),
        'reinforce_plus_plus, scale_rewards="batch"',
      ),
      gdpo: plainly(rule(CENTRE_AND_SCALE, { epsilon: 1e-8, perReward: true, step: batchStep(1e-8) })),
    },
    notes: [
      '--scale batch and --scale group are scale_rewards="batch" and "group"; reinforce_plus_plus with "group" or "none" is grpo or dr_grpo',
      'gdpo is scale_rewards="gdpo" with samples of a fixed number for each prompt; its dynamic code divides by nothing there',
      'it refuses siblings that differ by more than 1e-6; kl_in_reward is not reproduced',
    ],
  },
  'agent-lightning': {
    repository: 'microsoft/agent-lightning',
    commit: 'c632d8dd',
    sources: ['agentlightning/verl/rollout_level_advantage.py compute_rollout_level_advantage'],
    siblings: 'shared',
    exclude: [],
    grouping: 'group_index',
    estimators: withoutSiblings(VERL_ESTIMATORS),
    notes: [
      "verl's estimators over the first row of each rollout; it compares siblings by allclose, here they are equal",
      'opo and the steps over tokens weigh the first row alone there, and all rows of a rollout here',
    ],
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
  throw new UsageError(
    `${name} has no estimator '${estimator}' that is reproduced here; it has ${Object.keys(estimators).join(', ')}`,
  );
}
