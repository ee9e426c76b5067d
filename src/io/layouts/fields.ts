/** The fields that the output adds to a row. */

/** Names of the fields that the output adds. */
export interface OutputFields {
  readonly advantage: string;
  readonly rawReward: string;
  /** Those after the two, in their order. */
  readonly extra: readonly string[];
  /** Replace fields of these names rather than refuse them. */
  readonly overwrite: boolean;
}

/** All of them with what the user can do where a row has a field of that name already. */
export function addedNames({ rawReward, advantage, extra }: OutputFields): { name: string; remedy: string }[] {
  const renamed = (option: string) => `add under another name with ${option}`;
  return [
    { name: advantage, remedy: renamed('--advantage-field') },
    { name: rawReward, remedy: renamed('--raw-reward-field') },
    ...extra.map((name) => ({ name, remedy: 'leave it out of --emit' })),
  ];
}
