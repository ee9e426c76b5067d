/** The fields of a row, by the names that miles' Sample gives them, and the two that the output adds. */
export const ROW_FIELDS = [
  'group_index',
  'rollout_id',
  'index',
  'reward',
  'loss_mask',
  'response_length',
  'trainable_tokens',
  'remove_sample',
  'status',
] as const;
export type RowField = (typeof ROW_FIELDS)[number];

/** Names of the two fields that the output adds. */
export interface OutputFields {
  readonly advantage: string;
  readonly rawReward: string;
  /** Replace fields of these names rather than refuse them. */
  readonly overwrite: boolean;
}
