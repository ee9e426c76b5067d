/** A batch looked at in two ways: as a normalization would take it, and so that nothing in it is refused. */
import type { Engine, NormalizeResult } from '../engine.ts';
import { InputError } from '../errors.ts';
import { checkOptions, type NormalizeOptions, type Settings } from '../options.ts';
import type { Plan } from '../plan/plan.ts';
import { judgeTiers, type TierFinding } from '../plan/tiers.ts';
import { prepareBatch } from '../prepare.ts';
import type { SampleColumns } from '../samples/columns.ts';
import { rowsOfSizes } from '../samples/group-sizes.ts';

export interface Look {
  readonly columns: SampleColumns;
  readonly plan: Plan;
  /** Each of several rewards counts by itself. */
  readonly perReward: boolean;
  readonly tiers: readonly TierFinding[];
  /** What a normalization with the options as they are gives; null: it refuses. */
  readonly asked: NormalizeResult | null;
  readonly refusal: string | null;
  /** The same with nothing refused; null: the numbers themselves allow no statistics. */
  readonly lenient: NormalizeResult | null;
}

/** @throws UsageError */
export async function lookAt(engine: Engine, columns: SampleColumns, options: NormalizeOptions): Promise<Look> {
  const settings = checkOptions(options);
  const { result: asked, refusal } = await attempt(() => engine.normalizeColumns(columns, options));
  const lenientOptions = withoutRefusals(options, settings, columns.rowCount);
  const prepared = prepareBatch(columns, lenientOptions);
  const { result: lenient } = await attempt(() => engine.normalizePlanned(prepared, lenientOptions, true));
  const tiers = judgeTiers(columns, { ...options, byPosition: settings.byPosition });
  const { perReward } = settings.estimator;
  return { columns, plan: prepared.plan, perReward, tiers, asked, refusal, lenient };
}

async function attempt(
  run: () => Promise<NormalizeResult>,
): Promise<{ result: NormalizeResult | null; refusal: string | null }> {
  try {
    return { result: await run(), refusal: null };
  } catch (error) {
    if (error instanceof InputError) return { result: null, refusal: error.message };
    throw error;
  }
}

/** Grouping and rewards as they were asked for, each rollout once, and only rollouts without a reward left out. */
function withoutRefusals(
  { promptGroupSizes, nSamplesPerPrompt, rolloutBatchSize, like, rewardWeights, clipReward }: NormalizeOptions,
  { policies, byPosition, estimator }: Settings,
  rowCount: number,
): NormalizeOptions {
  const fits = promptGroupSizes !== undefined && rowsOfSizes(promptGroupSizes) === rowCount;
  const { siblings } = policies;
  return {
    estimator: estimator.perReward ? 'gdpo' : 'grpo',
    like: byPosition ? like : undefined,
    siblings: siblings === 'rows' || siblings === 'shared' ? 'mainstream' : siblings,
    exclude: ['missing-reward'],
    promptGroupSizes: fits ? promptGroupSizes : undefined,
    nSamplesPerPrompt,
    rolloutBatchSize,
    rewardWeights,
    clipReward,
  };
}
