/** Why a tier forms the groups of a batch, and why the ones before it do not. */
import type { SampleColumns } from '../samples/columns.ts';
import { rowsOfSizes } from '../samples/group-sizes.ts';
import { describeUngrouped, type GroupingOptions, rowsWithout, TIERS, type Tier } from './groups.ts';

export interface TierFinding {
  readonly tier: Tier;
  readonly rule: (typeof TIERS)[number];
  readonly applies: boolean;
  readonly reason: string;
}

/** Every tier in the order in which they are tried; the first that applies forms the groups. */
export function judgeTiers(columns: SampleColumns, options: GroupingOptions): TierFinding[] {
  const findings = [bySizes(columns, options), byId(columns, options), byLayout(columns, options), ONE_GROUP];
  return findings.map((finding, i) => ({ tier: (i + 1) as Tier, rule: TIERS[i], ...finding }));
}

type Judgement = Pick<TierFinding, 'applies' | 'reason'>;

const ONE_GROUP: Judgement = { applies: true, reason: 'all rows are one group' };

function bySizes({ rowCount }: SampleColumns, { promptGroupSizes: sizes }: GroupingOptions): Judgement {
  if (!sizes) return { applies: false, reason: 'no prompt group sizes are given' };
  const total = rowsOfSizes(sizes);
  if (total === rowCount) return { applies: true, reason: `${sizes.length} sizes are given for ${total} rows` };
  return { applies: false, reason: `the sizes given sum to ${total}, and there are ${rowCount} rows` };
}

function byId(columns: SampleColumns, { byPosition }: GroupingOptions): Judgement {
  if (byPosition) return { applies: false, reason: 'the rule groups rows by their position' };
  const ungrouped = rowsWithout(columns.groupCodes, columns.rowCount);
  if (ungrouped.count === 0) return { applies: true, reason: 'every row has a group_index' };
  const named = describeUngrouped(ungrouped, columns.place);
  return { applies: false, reason: `${ungrouped.count} of ${columns.rowCount} rows have no group_index (${named})` };
}

function byLayout({ rowCount }: SampleColumns, options: GroupingOptions): Judgement {
  const { nSamplesPerPrompt: samples, rolloutBatchSize: prompts } = options;
  if (samples === undefined || prompts === undefined)
    return { applies: false, reason: 'n-samples-per-prompt and rollout-batch-size are not both given' };
  const product = `${samples} samples per prompt x ${prompts} prompts are ${samples * prompts} rows`;
  if (samples * prompts === rowCount) return { applies: true, reason: product };
  return { applies: false, reason: `${product}, not ${rowCount}` };
}
