/** Counted rewards, group by group, to their advantages: baseline, scale, quotient. */
import { type Rule, zeroesFlatGroups } from '../../estimators/rule.ts';
import { wordsOf } from '../../numeric/words.ts';
import type { KernelArray, Workspace } from '../executor.ts';
import { KERNELS } from '../table.ts';
import { type DivisorSettings, divisorsOf, type GroupDivisors } from './divisors.ts';
import { type GroupMeans, Groups, type Weights } from './group-statistics.ts';

export interface GroupedRewards {
  /** Counted rollouts of each group; begins at 0. */
  readonly groupOffsets: Uint32Array;
  /** Binary64 per counted rollout. */
  readonly values: KernelArray<'f64'>;
  /** Trainable tokens of the counted rollouts, for a baseline that they weigh. */
  readonly lengths: Weights | null;
  /** Recorded baselines of the counted rollouts. */
  readonly baselines: KernelArray<'f64'> | null;
  /** Standard deviation of the batch + epsilon, for a scale that is the batch's. */
  readonly batchDivisor: number | null;
}

export interface NormalizedGroups {
  /** Binary64 per counted rollout. */
  readonly advantages: KernelArray<'f64'>;
  /** GROUP_STATUS per group. */
  readonly statuses: KernelArray<'u32'>;
  /** Per group: a reward of it; baseline less it; divisor. Null: none was needed. */
  readonly references: KernelArray<'f64'>;
  readonly centres: KernelArray<'f64'> | null;
  readonly divisors: KernelArray<'f64'> | null;
}

export async function normalizeGroups(
  workspace: Workspace,
  pieceLength: number,
  rewards: GroupedRewards,
  rule: Rule,
): Promise<NormalizedGroups> {
  const groups = new Groups(workspace, pieceLength, rewards.groupOffsets, rewards.values);
  const first = await groups.references();
  const means = await groups.means(null, rule.singleton !== 'zero');
  const checked = await withoutSmallDeviations(workspace, groups, means, rule);
  if (rule.scale === 'peers') {
    const divided = await divideByPeers(workspace, groups, checked, rule);
    return { ...divided, references: first, centres: null, divisors: null };
  }
  const scaled = await scaleOf(workspace, groups, means, checked, rewards.batchDivisor, rule);
  const statuses = scaled?.statuses ?? checked;
  const divisors = scaled?.divisors ?? null;
  const { values, centres, references = first } = await differences(workspace, groups, means, rewards, rule);
  const shift = centres === null ? groups.fill(0) : references;
  const arrays = { references: shift, centres: centres ?? shift, divisors, statuses };
  const advantages = await quotients(workspace, groups, values, arrays, !zeroesFlatGroups(rule));
  return { advantages, statuses, references, centres, divisors };
}

/** Groups whose standard deviation is below the limit become flat. A deviation that is computed anyway is judged there. */
async function withoutSmallDeviations(
  workspace: Workspace,
  groups: Groups,
  { centres, statuses }: GroupMeans,
  { minStd, ddof, scale }: Rule,
): Promise<KernelArray<'u32'>> {
  if (minStd === 0 || scale === 'group') return statuses;
  const squares = await groups.squares(centres);
  const settings = { measure: 'deviation', ddof, minStd, epsilon: 1, single: 'one' } as const;
  return (await divisorsOf(workspace, groups, squares, statuses, settings)).statuses;
}

/** Null: nothing is divided. */
async function scaleOf(
  workspace: Workspace,
  groups: Groups,
  means: GroupMeans,
  statuses: KernelArray<'u32'>,
  batchDivisor: number | null,
  rule: Rule,
): Promise<GroupDivisors | null> {
  const { scale, ddof, epsilon, minStd, meanMustBePositive } = rule;
  const leaveOneOut = rule.baseline === 'leave-one-out';
  const single = ({ zero: 'as-others', own: 'one', 'own-scaled': 'one-and-epsilon' } as const)[rule.singleton];
  const common = { leaveOneOut, single, flatToo: !zeroesFlatGroups(rule) };
  const by = (measures: KernelArray<'f64'>, settings: DivisorSettings) =>
    divisorsOf(workspace, groups, measures, statuses, { ...common, ...settings });
  if (scale === 'group')
    return by(await groups.squares(means.centres), { measure: 'deviation', ddof, epsilon, minStd });
  if (scale === 'mad') {
    return by(await groups.medianDistances(), { measure: 'medianDistance', epsilon });
  }
  if (scale === 'mean') return by(await groups.totals(), { measure: 'mean', epsilon, meanMustBePositive });
  if (scale === 'batch') return by(groups.fill(batchDivisor ?? 1), { measure: 'constant', epsilon });
  return leaveOneOut ? by(groups.fill(1), { measure: 'constant' }) : null;
}

/**
 * What is divided: rewards with what is still to be taken off them, or without (null) where it is taken off already. What
 * they are shifted by is the first reward of the group unless another is named.
 */
async function differences(
  workspace: Workspace,
  groups: Groups,
  means: GroupMeans,
  { lengths, baselines }: GroupedRewards,
  { baseline, singleton }: Rule,
): Promise<{ values: KernelArray<'f64'>; centres: KernelArray<'f64'> | null; references?: KernelArray<'f64'> }> {
  const { values, bounds } = groups;
  if (baseline === 'median') return { values, ...(await groups.medians()) };
  if (baseline === 'length-mean' && lengths)
    return { values, centres: (await groups.means(lengths, singleton !== 'zero')).centres };
  if (baseline === 'runner-up') {
    const margins = workspace.output('f64', values.length);
    await workspace.run(KERNELS.keepBest, {}, groups.count, { bounds, values, margins });
    return { values: margins, centres: null };
  }
  if (baseline === 'column') {
    const less = workspace.output('f64', values.length);
    await workspace.run(KERNELS.subtractBaselines, {}, values.length, { values, baselines, differences: less });
    return { values: less, centres: null };
  }
  return { values, centres: baseline === 'none' ? null : means.centres };
}

/** @param arrays per group */
export async function quotients(
  workspace: Workspace,
  { bounds, levels }: Groups,
  values: KernelArray<'f64'>,
  arrays: {
    readonly references: KernelArray<'f64'>;
    readonly centres: KernelArray<'f64'>;
    readonly divisors: KernelArray<'f64'> | null;
    readonly statuses: KernelArray<'u32'>;
  },
  keepFlat: boolean,
): Promise<KernelArray<'f64'>> {
  const { itemCount, elementOffsets, itemSegments } = levels[0];
  const advantages = workspace.output('f64', values.length);
  const pieces = {
    bounds: itemSegments ? workspace.input('u32', elementOffsets) : bounds,
    itemSegments: itemSegments && workspace.input('u32', itemSegments),
  };
  const divide = arrays.divisors ? 1 : 0;
  const parameters = { wholeSegments: itemSegments ? 0 : 1, divide, keepFlat: keepFlat ? 1 : 0 };
  await workspace.run(KERNELS.normalize, parameters, itemCount, { ...pieces, values, ...arrays, advantages });
  return advantages;
}

async function divideByPeers(
  workspace: Workspace,
  groups: Groups,
  means: KernelArray<'u32'>,
  { ddof, epsilon }: Rule,
): Promise<Pick<NormalizedGroups, 'advantages' | 'statuses'>> {
  const { bounds, values } = groups;
  const output = () => workspace.output('f64', values.length);
  const scratch = { meansBefore: output(), squaresBefore: output() };
  const divided = { advantages: output(), statuses: workspace.output('u32', groups.count) };
  const [epsilonLow, epsilonHigh] = wordsOf(epsilon);
  const arrays = { bounds, values, means, ...scratch, ...divided };
  await workspace.run(KERNELS.divideByPeers, { ddof, epsilonLow, epsilonHigh }, groups.count, arrays);
  workspace.release(scratch.meansBefore, scratch.squaresBefore);
  return divided;
}
