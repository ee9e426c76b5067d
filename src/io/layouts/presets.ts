/** The layouts that frameworks write, as data: which column holds which field. */

/** A preset as it is written down: the value of `--map field=column` for each field that differs from miles' names. */
export interface Preset {
  readonly name: string;
  /** What file it is, as a user would recognize it. */
  readonly file: string;
  readonly fields: Readonly<Partial<Record<PresetField, string>>>;
  /** Rows of equal number in a row are a group; the number is `--group-size`. */
  readonly consecutive?: true;
  /** Text that spells a number is a reward. */
  readonly textRewards?: true;
  /** Rewards are the columns that `--reward-columns` names. */
  readonly rewardColumns?: true;
  /** A file is one JSON document, whatever its lines. */
  readonly document?: true;
  /** The files of a directory are one batch. */
  readonly oneBatch?: true;
  /** Files beside those with rows, which a directory also holds. */
  readonly passesOver?: readonly string[];
  /** Fields come from a second file, by this column of both. */
  readonly joinedOn?: string;
  /** Fields that a user may turn on with `--map`, and what they mean. */
  readonly options?: readonly string[];
  readonly notes: string;
}

export type PresetField =
  | 'group_index'
  | 'rollout_id'
  | 'index'
  | 'reward'
  | 'baseline'
  | 'loss_mask'
  | 'label_mask'
  | 'response_length'
  | 'prompt_length'
  | 'trainable_tokens'
  | 'remove_sample'
  | 'status'
  | 'recorded';

const MILES_FIELDS = {
  group_index: 'group_index',
  rollout_id: 'rollout_id',
  index: 'index',
  reward: 'reward',
  loss_mask: 'loss_mask',
  response_length: 'response_length',
  trainable_tokens: 'trainable_tokens',
  remove_sample: 'remove_sample',
  status: 'status',
} as const;

export const PRESETS: readonly Preset[] = [
  {
    name: 'miles',
    file: 'JSONL, Parquet or Arrow of Sample fields, or rollout_data/{id}.pt',
    fields: MILES_FIELDS,
    notes: 'The default. metadata.prompt_group_sizes of a .pt file gives the groups (tier 1).',
  },
  {
    name: 'slime',
    file: 'the same as miles',
    fields: MILES_FIELDS,
    notes: 'slime itself normalizes rows: see --siblings rows.',
  },
  {
    name: 'miles-trajectory',
    file: 'trajectory/{id}.jsonl',
    fields: { group_index: 'group_index', rollout_id: 'sample_index', reward: 'reward', status: 'status' },
    notes: 'Only samples with recorded messages. The reward is null where it was an object.',
  },
  {
    name: 'miles-columns',
    file: 'dashboard_columns/rollout_{id}.parquet',
    fields: { index: 'sample_index', loss_mask: 'loss_mask', response_length: 'response_length' },
    joinedOn: 'sample_index',
    notes: 'Has neither groups nor rewards: --join the trajectory file or the .pt file of the same rollout.',
  },
  {
    name: 'verl',
    file: 'rollout_data_dir/{step}.jsonl: input, output, gts, score, step',
    fields: { group_index: 'step+input', reward: 'score' },
    textRewards: true,
    notes: 'Every line is a rollout. No mask: all rows weigh the same.',
  },
  {
    name: 'verl-v1',
    file: 'rollout_data_dir/{step}.jsonl with uid = {prompt}_{session}_{output}',
    fields: { group_index: 'uid<_2', rollout_id: 'uid<_1', reward: 'score' },
    textRewards: true,
    notes: 'Ids are cut from uid, from the right.',
  },
  {
    name: 'trl',
    file: 'completions_NNNNN.parquet: step, prompt, completion, a column per reward function',
    fields: { group_index: 'step+prompt', recorded: 'advantage' },
    rewardColumns: true,
    notes:
      'The weights are not in the file: --reward-columns accuracy=1,format=0.5. NaN and null are left out of the sum.',
  },
  {
    name: 'nemo-rl',
    file: 'train_data_stepN.jsonl, every value a list of one',
    fields: { reward: 'rewards.0', loss_mask: 'token_loss_mask.0', remove_sample: 'sample_loss_mask.0=0' },
    consecutive: true,
    notes: 'Groups are runs of --group-size lines.',
  },
  {
    name: 'prime-rl',
    file: 'traces.jsonl, one episode a line',
    fields: {
      group_index: 'group.id|task.hash',
      rollout_id: 'id',
      reward: 'traces[].rewards=scored',
      loss_mask: 'traces[].nodes.*.mask',
    },
    options: ['--map remove_sample=!ok takes episodes that failed as removed'],
    notes: 'Every trace is a row, its episode the rollout. The reward is the sum of score x weight.',
  },
  {
    name: 'verifiers',
    file: 'results.jsonl: example_id, prompt, completion, reward',
    fields: {
      group_index: 'example_id',
      reward: 'reward',
      response_length: 'token_usage.output_tokens',
      status: 'is_truncated=truncated',
    },
    options: ['--map remove_sample=error? takes rows with an error as removed'],
    notes: 'Every line is a rollout.',
  },
  {
    name: 'art',
    file: 'Parquet or JSONL of trajectories: group_index, reward, metrics, messages',
    fields: { group_index: 'group_index', rollout_id: 'trajectory_index', reward: 'reward' },
    notes: 'group_index starts again in every file.',
  },
  {
    name: 'art-groups',
    file: 'JSONL of trajectory groups, one a line',
    fields: { group_index: '#record', reward: 'trajectories[].reward' },
    notes: 'Every trajectory is a rollout.',
  },
  {
    name: 'rllm',
    file: 'one JSON document per episode: episode_id task:rollout, trajectories',
    fields: {
      group_index: 'episode_id>:1+trajectories[].name',
      rollout_id: 'episode_id',
      reward: 'trajectories[].reward',
    },
    document: true,
    oneBatch: true,
    passesOver: ['batch_summary.json'],
    notes: 'A prompt group lies in several files: a directory is one batch.',
  },
  {
    name: 'nemo-gym',
    file: '*rollouts*.jsonl: reward, response, _ng_task_index, _ng_rollout_index',
    fields: {
      group_index: '_ng_task_index',
      rollout_id: '_ng_rollout_index',
      reward: 'reward',
      remove_sample: 'mask_sample',
    },
    notes: 'Rows are in order of completion.',
  },
  {
    name: 'atropos',
    file: 'JSONL, one group a line: scores, tokens, masks',
    fields: { group_index: '#record', rollout_id: '#entry', reward: 'scores[]', label_mask: 'masks[]' },
    notes: 'Entries of masks that are not -100 are trained.',
  },
  {
    name: 'prime-hosted',
    file: 'results.jsonl of hosted runs: problem_id, sample_id, reward, advantage, step',
    fields: { group_index: 'step+problem_id', rollout_id: 'sample_id', reward: 'reward', recorded: 'advantage' },
    notes: 'Carries reward - mean. A problem drawn twice in one step is one group here.',
  },
  {
    name: 'areal',
    file: '{task_id}.jsonl: task_id, sample_idx, seqlen, prompt_len, reward',
    fields: {
      group_index: 'task_id',
      rollout_id: 'sample_idx',
      reward: 'reward',
      response_length: 'seqlen',
      prompt_length: 'prompt_len',
    },
    notes: 'A run that was started again appends to its files.',
  },
];
