/** The computation of a batch as a sequence of kernels: rewards in row order to one advantage per row. */
import { InputError } from '../errors.ts';
import type { Estimator } from '../estimators/estimators.ts';
import { Exclusion } from '../estimators/exclusion.ts';
import type { ExclusionReason, Policies, SiblingPolicy } from '../estimators/policies.ts';
import { isPassThrough, zeroesFlatGroups } from '../estimators/rule.ts';
import { combineSiblings } from '../estimators/siblings.ts';
import { wordsOf } from '../numeric/words.ts';
import { type Plan, rowAt } from '../plan/plan.ts';
import { type Tile, tileOf, tilesOf } from '../plan/tiles.ts';
import type { SampleColumns } from '../samples/columns.ts';
import { gatherDoubles, gatherWords } from '../samples/gather.ts';
import { abortable } from './abortable.ts';
import { GROUP_STATUS, NOT_COUNTED } from './codes.ts';
import { type Details, emptyDetails } from './details.ts';
import type { Executor, KernelArray, Workspace } from './executor.ts';
import { groupLengths, rolloutTokens } from './rollout-tokens.ts';
import { type BatchMoments, batchDivisorOf, stepOverBatch } from './stages/batch-step.ts';
import { countMaskTokens } from './stages/count-tokens.ts';
import { divisorsOf } from './stages/divisors.ts';
import { Groups } from './stages/group-statistics.ts';
import { type NormalizedGroups, normalizeGroups } from './stages/normalize-groups.ts';
import {
  choosesByReward,
  gatherRewards,
  type RolloutRows,
  type RowOrder,
  selectRepresentatives,
} from './stages/select-representatives.ts';
import { KERNELS } from './table.ts';

/** A validated batch and what to do with it. */
export interface Work {
  readonly columns: SampleColumns;
  readonly plan: Plan;
  readonly estimator: Estimator;
  readonly policies: Policies;
  /** Keep what the computation knew on its way. */
  readonly detailed?: boolean | undefined;
  /** Ends the computation; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
}

/** Why there are no advantages: a number left the range of binary64, in a group or in the statistics of the batch. */
export interface ProgramFailure {
  readonly group: number | 'batch';
  readonly status: 'overflow' | 'vanishing';
}

export interface Outcome {
  /** Groups of two or more counted rollouts whose rewards are all equal, or as good as equal by the rule's limit. */
  readonly flatGroups: number;
  /** Groups of one counted rollout. */
  readonly singletonGroups: number;
  /** Groups in which no rollout is counted. */
  readonly emptyGroups: number;
  /** Groups that are only centred: their scale is 0 although their rewards differ. */
  readonly unscaledGroups: number;
  /** Groups with advantage 0 although their rewards differ: the mean that the rule divides by is not above 0. */
  readonly notPositiveGroups: number;
  /** Groups of two or more whose rollouts have no trainable token to be weighed by. */
  readonly groupsWithoutTokens: number;
  readonly countedRollouts: number;
  readonly excluded: Partial<Record<ExclusionReason, number>>;
  readonly failure: ProgramFailure | null;
  readonly details: Details | null;
}

/** How long tiles may follow each other before the event loop has a turn. */
const BUSY_MS = 50;

/**
 * Fills `rowAdvantages` (binary32, one per row) on the given executor.
 * @throws BackendError where the executor is a GPU that failed; never returns numbers that were not computed.
 * InputError where a step over tokens has none
 */
export async function runProgram(anyExecutor: Executor, work: Work, rowAdvantages: Float32Array): Promise<Outcome> {
  const executor = abortable(anyExecutor, work.signal);
  if (isPassThrough(work.estimator)) return passThroughRewards(executor, work, rowAdvantages);
  const sizes = wholeBatchBytes(work);
  const whole = executor.fits(sizes);
  const shared = executor.workspace(sizes);
  try {
    const run = new BatchRun(executor, work, shared, whole);
    await run.countTokens();
    const { plan, estimator } = work;
    const tiles = whole
      ? [tileOf(plan, 0, plan.groupCount)]
      : [...tilesOf(plan, executor.tileRollouts, executor.tileRows)];
    if (estimator.scale === 'batch') {
      await forEachTile(tiles, (tile) => run.collect(tile));
      await run.findBatchScale();
      await forEachTile(tiles, (tile, i) => run.normalizeCollected(tile, i));
    } else await forEachTile(tiles, (tile) => run.normalizeTile(tile));
    await run.step();
    await run.scatter(rowAdvantages);
    return run.outcome();
  } finally {
    shared.close();
  }
}

async function forEachTile(tiles: readonly Tile[], visit: (tile: Tile, i: number) => Promise<void>): Promise<void> {
  let yielded = performance.now();
  for (const [i, tile] of tiles.entries()) {
    await visit(tile, i);
    if (performance.now() - yielded < BUSY_MS) continue;
    // On the CPU nothing else gets a turn: not a page, not a signal.
    await new Promise((resolve) => setTimeout(resolve));
    yielded = performance.now();
  }
}

async function passThroughRewards(
  executor: Executor,
  { columns, estimator }: Work,
  rowAdvantages: Float32Array,
): Promise<Outcome> {
  const { rewards, rowCount } = columns;
  const workspace = executor.workspace([rewards.byteLength, rowAdvantages.byteLength]);
  try {
    const output = workspace.output('f32', rowCount);
    const advantages = workspace.input('f64', rewards);
    await workspace.run(KERNELS.roundAdvantages, boundsOf(estimator), rowCount, { advantages, rounded: output });
    rowAdvantages.set(await workspace.read(output));
    const none = {
      flatGroups: 0,
      singletonGroups: 0,
      emptyGroups: 0,
      unscaledGroups: 0,
      notPositiveGroups: 0,
      groupsWithoutTokens: 0,
      excluded: {},
    };
    return { ...none, countedRollouts: 0, failure: null, details: null };
  } finally {
    workspace.close();
  }
}

/** Bounds of advantages as parameters. */
function boundsOf({ clip }: Estimator) {
  const [lowLow, lowHigh] = wordsOf((clip?.[0] ?? 0) + 0);
  const [highLow, highHigh] = wordsOf((clip?.[1] ?? 0) + 0);
  return { bounded: clip ? 1 : 0, lowLow, lowHigh, highLow, highHigh };
}

/** Bytes of the arrays that live at the same time when a batch is worked on without tiles. */
function wholeBatchBytes({ columns, plan, estimator }: Work): number[] {
  const rewardCount = columns.rewardParts?.length ?? 1;
  const perRow = [8, 4, 4, 4, plan.rowsByRollout ? 4 : 0].map((bytes) => bytes * columns.rowCount);
  const more = Array.from({ length: rewardCount - 1 }, () => 8 * columns.rowCount);
  const values = Array.from(
    { length: rewardCount + EXTRA_ARRAYS[estimator.scale === 'peers' ? 'peers' : 'others'] },
    () => 8,
  );
  const perRollout = [4, 4, 8, 8, 8, 4, 4, ...values].map((bytes) => bytes * (plan.rolloutCount + 1));
  const perGroup = [4, 8, 8, 8, 8, 8, 4, 4, 4, 4].map((bytes) => bytes * (plan.groupCount + 1));
  const masks = columns.lossMasks ? [columns.lossMasks.words.byteLength, columns.lossMasks.wordOffsets.byteLength] : [];
  return [...perRow, ...more, ...perRollout, ...perGroup, ...masks];
}

/** Binary64 arrays per rollout beside the rewards and the advantages. */
const EXTRA_ARRAYS = { peers: 3, others: 2 };

/** The same for one tile. */
function tileBytes({ firstRollout, rolloutEnd, firstPosition, positionEnd }: Tile): number[] {
  const perRow = [8, 4, 4].map((bytes) => bytes * (positionEnd - firstPosition));
  const perRolloutOrGroup = [4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 4].map(
    (bytes) => bytes * (rolloutEnd - firstRollout + 1),
  );
  return [...perRow, ...perRolloutOrGroup];
}

/** The counted rollouts of a tile. */
interface Counted {
  /** Counted rollouts of each group, from 0. */
  readonly groupOffsets: Uint32Array;
  /** Their rollouts, in order; null: all of the tile. */
  readonly rollouts: Uint32Array | null;
  /** Binary64 per counted rollout, by reward. */
  readonly values: readonly KernelArray<'f64'>[];
  readonly baselines: KernelArray<'f64'> | null;
  /** Place of the first among the counted rollouts of the batch. */
  readonly firstSlot: number;
}

class BatchRun {
  readonly #executor: Executor;
  readonly #work: Work;
  /** Arrays of the whole batch. */
  readonly #shared: Workspace;
  readonly #whole: boolean;
  /** Columns of the host that kernels can reach as a whole. */
  readonly #sharedInputs = new Map<Float64Array, KernelArray<'f64'>>();
  /** Trainable tokens per row where they are known and wanted; on the host where something there needs them. */
  #tokens: KernelArray<'u32'> | null = null;
  #hostTokens: Uint32Array | null = null;
  #rolloutTokens: Float64Array | null = null;
  /** Binary64 rewards by row, one column or several. */
  readonly #rewards: readonly Float64Array[];
  /** Advantages of the counted rollouts: one array, or on the host when there are tiles. */
  #advantages: KernelArray<'f64'> | null = null;
  readonly #hostAdvantages: Float64Array;
  /** Place of each rollout among the counted ones, or NOT_COUNTED; null: all count. */
  readonly #slots: Uint32Array | null;
  /** Under mean and sum, by reward and for the baselines: the number of each rollout. */
  readonly #combined = new Map<Float64Array, Float64Array>();
  #exclusion: Exclusion | null = null;
  #collected: Counted[] = [];
  /** Rewards of collected tiles, where they do not stay on the device. */
  #hostValues: Float64Array[] = [];
  #hostBaselines: Float64Array | null = null;
  #batchDivisors: (number | null)[] = [];
  /** Judged where a group is divided by them: no flat one is. */
  #batchScales: BatchMoments[] = [];
  readonly #details: ReturnType<typeof emptyDetails> | null;
  #countedRollouts = 0;
  #flatGroups = 0;
  #singletonGroups = 0;
  #emptyGroups = 0;
  #unscaledGroups = 0;
  #notPositiveGroups = 0;
  #groupsWithoutTokens = 0;
  #failure: ProgramFailure | null = null;

  constructor(executor: Executor, work: Work, shared: Workspace, whole: boolean) {
    this.#executor = executor;
    this.#work = work;
    this.#shared = shared;
    this.#whole = whole;
    const { plan, columns, policies, estimator } = work;
    this.#rewards = estimator.perReward && columns.rewardParts ? columns.rewardParts : [columns.rewards];
    this.#hostAdvantages = new Float64Array(whole ? 0 : plan.rolloutCount);
    this.#slots = policies.exclude.length > 0 ? new Uint32Array(plan.rolloutCount) : null;
    this.#details = work.detailed ? emptyDetails(plan, this.#rewards.length) : null;
    if (policies.siblings !== 'mean' && policies.siblings !== 'sum') return;
    for (const column of this.#columnsOfRollouts())
      this.#combined.set(column, combineSiblings(plan, column, policies.siblings));
  }

  outcome(): Outcome {
    return {
      flatGroups: this.#flatGroups,
      singletonGroups: this.#singletonGroups,
      emptyGroups: this.#emptyGroups,
      unscaledGroups: this.#unscaledGroups,
      notPositiveGroups: this.#notPositiveGroups,
      groupsWithoutTokens: this.#groupsWithoutTokens,
      countedRollouts: this.#countedRollouts,
      excluded: this.#exclusion?.counts ?? {},
      failure: this.#failure,
      details: this.#details,
    };
  }

  /** Counts what is still to be counted, where a choice, an exclusion or a weight depends on it. */
  async countTokens(): Promise<void> {
    const { columns, plan, policies, estimator } = this.#work;
    const { fixedTokens, lossMasks } = columns;
    const weighs = estimator.baseline === 'length-mean' || estimator.step?.weight === 'tokens';
    const onHost = policies.exclude.includes('untrainable') || weighs || this.#details !== null;
    if (fixedTokens !== null && (policies.siblings === 'mainstream' || onHost)) {
      if (lossMasks === null) {
        this.#tokens = this.#shared.input('u32', fixedTokens);
        this.#hostTokens = fixedTokens;
      } else {
        this.#tokens = await countMaskTokens(this.#shared, this.#executor.pieceLength, fixedTokens, lossMasks);
        if (!this.#whole || onHost) this.#hostTokens = await this.#shared.read(this.#tokens);
      }
    }
    if (weighs || this.#details) this.#rolloutTokens = rolloutTokens(plan, this.#hostTokens);
    if (this.#details) Object.assign(this.#details, { tokens: this.#rolloutTokens });
    if (policies.exclude.length > 0) this.#exclusion = new Exclusion(plan, columns, policies, this.#hostTokens);
  }

  /** Everything between the rows and the advantages of the counted rollouts, for the groups of one tile. */
  async normalizeTile(tile: Tile): Promise<void> {
    await this.#inWorkspace(tile, async (workspace) => {
      const counted = await this.#countedOf(workspace, tile);
      await this.#normalize(workspace, tile, counted);
    });
  }

  /** Only brings the counted rewards together, for statistics of the batch. */
  async collect(tile: Tile): Promise<void> {
    const { plan } = this.#work;
    await this.#inWorkspace(tile, async (workspace) => {
      const counted = await this.#countedOf(workspace, tile);
      if (!this.#whole) {
        if (this.#hostValues.length === 0) {
          this.#hostValues = this.#rewards.map(() => new Float64Array(plan.rolloutCount));
          this.#hostBaselines = counted.baselines && new Float64Array(plan.rolloutCount);
        }
        for (const [k, values] of counted.values.entries())
          this.#hostValues[k].set(await workspace.read(values), counted.firstSlot);
        if (counted.baselines) this.#hostBaselines!.set(await workspace.read(counted.baselines), counted.firstSlot);
      }
      this.#collected.push(counted);
    });
  }

  async findBatchScale(): Promise<void> {
    const { estimator } = this.#work;
    const count = this.#countedRollouts;
    for (let k = 0; k < this.#rewards.length; k++) {
      const values = this.#whole
        ? this.#collected[0]?.values[k]
        : this.#shared.input('f64', (this.#hostValues[k] ?? new Float64Array(0)).subarray(0, count));
      if (count === 0 || !values) {
        this.#batchDivisors.push(1);
        continue;
      }
      const moments = await batchDivisorOf(this.#shared, this.#executor.pieceLength, values, estimator);
      this.#details?.batchScale.push(moments);
      const { divisor } = moments;
      this.#batchScales[k] = moments;
      this.#batchDivisors.push(divisor === 0 ? 1 : divisor);
    }
  }

  async normalizeCollected(tile: Tile, i: number): Promise<void> {
    const counted = this.#collected[i];
    await this.#inWorkspace(tile, async (workspace) => {
      if (this.#whole) return this.#normalize(workspace, tile, counted);
      const from = counted.firstSlot;
      const to = from + last(counted.groupOffsets);
      const own = (column: Float64Array) => workspace.input('f64', column.subarray(from, to));
      const baselines = this.#hostBaselines && own(this.#hostBaselines);
      await this.#normalize(workspace, tile, { ...counted, values: this.#hostValues.map(own), baselines });
    });
  }

  /** The statistics of the batch that some rules end with. */
  async step(): Promise<void> {
    const { step } = this.#work.estimator;
    if (step === null || this.#countedRollouts === 0) return;
    const advantages = this.#countedAdvantages();
    const weights = step.weight === 'tokens' ? this.#tokenWeights(step.ddof) : null;
    const stepped = await stepOverBatch(this.#shared, this.#executor.pieceLength, advantages, weights, step);
    this.#advantages = stepped.advantages;
    this.#judgeBatch(stepped.moments);
    if (this.#details) await this.#noteStep(stepped);
  }

  /** Gives every row the advantage of its rollout. */
  async scatter(rowAdvantages: Float32Array): Promise<void> {
    const shared = this.#shared;
    const { rowCount, rowRollout } = this.#work.plan;
    const counted = this.#countedAdvantages();
    const advantages = shared.output('f32', counted.length);
    await shared.run(KERNELS.roundAdvantages, boundsOf(this.#work.estimator), counted.length, {
      advantages: counted,
      rounded: advantages,
    });
    shared.release(counted);
    const rows = shared.output('f32', rowCount);
    const arrays = {
      rowRollout: shared.input('u32', rowRollout),
      slots: this.#slots && shared.input('u32', this.#slots),
      advantages,
      rowAdvantages: rows,
    };
    await shared.run(KERNELS.scatterAdvantages, { everyRolloutCounts: this.#slots ? 0 : 1 }, rowCount, arrays);
    rowAdvantages.set(await shared.read(rows));
  }

  async #inWorkspace(tile: Tile, work: (workspace: Workspace) => Promise<void>): Promise<void> {
    const workspace = this.#whole ? this.#shared : this.#executor.workspace(tileBytes(tile));
    try {
      await work(workspace);
    } finally {
      if (!this.#whole) workspace.close();
    }
  }

  #columnsOfRollouts(): Float64Array[] {
    const { columns, estimator } = this.#work;
    return estimator.baseline === 'column' && columns.baselines
      ? [...this.#rewards, columns.baselines]
      : [...this.#rewards];
  }

  async #normalize(workspace: Workspace, tile: Tile, counted: Counted): Promise<void> {
    const { estimator } = this.#work;
    const { pieceLength } = this.#executor;
    const { groupOffsets, values, baselines } = counted;
    const lengths = estimator.baseline === 'length-mean' ? this.#lengths(workspace, tile, counted) : null;
    const statuses: Uint32Array[] = [];
    let advantages: KernelArray<'f64'> | null = null;
    for (const [k, own] of values.entries()) {
      const batchDivisor = this.#batchDivisors[k] ?? null;
      const rewards = { groupOffsets, values: own, lengths, baselines, batchDivisor };
      const normalized = await normalizeGroups(workspace, pieceLength, rewards, estimator);
      statuses.push(await workspace.read(normalized.statuses));
      if (this.#details) {
        await this.#noteGroups(workspace, tile, groupOffsets, own, normalized, k);
        const { advantages: quotients } = normalized;
        this.#spread(tile, counted, await workspace.read(quotients), this.#details.quotients[k]);
      }
      advantages = estimator.perReward
        ? await this.#addWeighted(workspace, normalized.advantages, advantages, k)
        : normalized.advantages;
    }
    this.#judge(tile, groupOffsets, statuses);
    if (this.#details) await this.#noteRollouts(workspace, tile, counted, advantages!);
    if (this.#whole) this.#advantages = advantages;
    else this.#hostAdvantages.set(await workspace.read(advantages!), counted.firstSlot);
  }

  async #addWeighted(
    workspace: Workspace,
    advantages: KernelArray<'f64'>,
    before: KernelArray<'f64'> | null,
    k: number,
  ): Promise<KernelArray<'f64'>> {
    const sums = workspace.output('f64', advantages.length);
    const [weightLow, weightHigh] = wordsOf((this.#work.estimator.rewardWeights?.[k] ?? 1) + 0);
    const parameters = { first: before ? 0 : 1, weightLow, weightHigh };
    await workspace.run(KERNELS.addWeighted, parameters, advantages.length, { advantages, before, sums });
    workspace.release(advantages, before);
    return sums;
  }

  /** Trainable tokens of the counted rollouts of a tile. */
  #lengths(workspace: Workspace, { firstRollout, rolloutEnd }: Tile, { groupOffsets, rollouts }: Counted) {
    const all = this.#rolloutTokens;
    const own =
      all &&
      (rollouts ? Float64Array.from(rollouts, (rollout) => all[rollout]) : all.subarray(firstRollout, rolloutEnd));
    const { weights, totals, withoutTokens } = groupLengths(groupOffsets, own);
    this.#groupsWithoutTokens += withoutTokens;
    return { weights: workspace.input('f64', weights), totals: workspace.input('f64', totals) };
  }

  /** Weights of the counted rollouts of the batch. @throws InputError where there are none to speak of */
  #tokenWeights(ddof: number): { weights: Float64Array; total: number } {
    const all = this.#rolloutTokens;
    if (all === null)
      throw new InputError(
        'weighing by tokens needs trainable tokens, and no row says how many it has (loss_mask, response_length or trainable_tokens)',
      );
    let weights = all;
    if (this.#slots) {
      weights = new Float64Array(this.#countedRollouts);
      for (let rollout = 0; rollout < all.length; rollout++)
        if (this.#slots[rollout] !== NOT_COUNTED) weights[this.#slots[rollout]] = all[rollout];
    }
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    if (total <= ddof)
      throw new InputError(
        `weighing by tokens needs more than ${ddof} trainable tokens in the batch, and the counted rollouts have ${total}`,
      );
    return { weights, total };
  }

  #countedAdvantages(): KernelArray<'f64'> {
    return this.#advantages ?? this.#shared.input('f64', this.#hostAdvantages.subarray(0, this.#countedRollouts));
  }

  /** Finds a reward for every rollout of the tile and brings those that count together. */
  async #countedOf(workspace: Workspace, tile: Tile): Promise<Counted> {
    const { policies, columns, estimator, plan } = this.#work;
    const { siblings } = policies;
    const firstSlot = this.#countedRollouts;
    let kept: { groupOffsets: Uint32Array; rollouts: Uint32Array | null };
    let valuesOf: (column: Float64Array) => Promise<KernelArray<'f64'>>;
    if (siblings === 'mean' || siblings === 'sum') {
      kept = this.#keepCounted(tile, (rollout) => plan.rowOffsets[rollout]);
      const { rollouts } = kept;
      valuesOf = async (column) => {
        const combined = this.#combined.get(column)!;
        const own = rollouts
          ? Float64Array.from(rollouts, (rollout) => combined[rollout])
          : combined.subarray(tile.firstRollout, tile.rolloutEnd);
        return workspace.input('f64', own);
      };
    } else {
      const rows = this.#rowsOf(workspace, tile, siblings);
      const rowOffsets = plan.rowOffsets.subarray(tile.firstRollout, tile.rolloutEnd + 1);
      const winners = await selectRepresentatives(workspace, this.#executor.pieceLength, rowOffsets, rows, siblings);
      const positions = this.#exclusion || this.#details ? await workspace.read(winners) : null;
      if (positions) this.#noteRepresentatives(tile, positions);
      kept = this.#keepCounted(tile, (rollout) => positions![rollout - tile.firstRollout]);
      const chosen = kept.rollouts
        ? workspace.input(
            'u32',
            kept.rollouts.map((rollout) => positions![rollout - tile.firstRollout]),
          )
        : winners;
      const order = this.#orderOf(workspace, tile);
      valuesOf = (column) => gatherRewards(workspace, order, this.#columnOf(workspace, tile, column), chosen);
    }
    const values: KernelArray<'f64'>[] = [];
    for (const column of this.#rewards) values.push(await valuesOf(column));
    const isRecorded = estimator.baseline === 'column' && columns.baselines;
    const baselines = isRecorded ? await valuesOf(columns.baselines!) : null;
    this.#countedRollouts += values[0].length;
    return { ...kept, values, baselines, firstSlot };
  }

  /** The rollouts of the tile that count; gives each its slot. Null: all do. */
  #keepCounted(
    { firstGroup, groupEnd, firstRollout, rolloutEnd }: Tile,
    representative: (rollout: number) => number,
  ): { groupOffsets: Uint32Array; rollouts: Uint32Array | null } {
    const offsets = this.#work.plan.groupOffsets.subarray(firstGroup, groupEnd + 1);
    if (!this.#exclusion)
      return {
        groupOffsets: fromZero(offsets),
        rollouts: null,
      };
    const groupOffsets = new Uint32Array(offsets.length);
    const rollouts = new Uint32Array(rolloutEnd - firstRollout);
    let count = 0;
    for (let group = 0; group + 1 < offsets.length; group++) {
      for (let rollout = offsets[group]; rollout < offsets[group + 1]; rollout++) {
        const isCounted = this.#exclusion.isCounted(rollout, representative(rollout));
        this.#slots![rollout] = isCounted ? this.#countedRollouts + count : NOT_COUNTED;
        if (isCounted) rollouts[count++] = rollout;
      }
      groupOffsets[group + 1] = count;
    }
    return { groupOffsets, rollouts: rollouts.subarray(0, count) };
  }

  /** What the rows of a rollout are compared by; in a tile it is brought into order here. */
  #rowsOf(workspace: Workspace, tile: Tile, policy: SiblingPolicy): RolloutRows {
    const { rewards } = this.#work.columns;
    if (this.#whole)
      return {
        ...this.#orderOf(workspace, tile),
        tokens: this.#tokens,
        rewards: this.#columnOf(workspace, tile, rewards),
      };
    return {
      rowsInOrder: 1,
      rowsByRollout: null,
      firstPosition: tile.firstPosition,
      tokens: this.#hostTokens && workspace.input('u32', this.#packed(tile, this.#hostTokens, gatherWords)),
      rewards: choosesByReward(policy) ? workspace.input('f64', this.#packed(tile, rewards, gatherDoubles)) : null,
    };
  }

  /** Rows as they lie where kernels can reach all of them; else the tile's rows alone, in order. */
  #orderOf(workspace: Workspace, { firstPosition, positionEnd }: Tile): RowOrder {
    const order = this.#work.plan.rowsByRollout?.subarray(firstPosition, positionEnd) ?? null;
    if (!this.#reachesAll()) return { rowsInOrder: 1, rowsByRollout: null, firstPosition };
    return { rowsInOrder: order ? 0 : 1, rowsByRollout: order && workspace.input('u32', order), firstPosition };
  }

  /** Whether kernels find the rows of the whole batch, wherever a rollout's rows are. */
  #reachesAll(): boolean {
    return this.#whole || (this.#work.plan.rowsByRollout !== null && this.#executor.hasTables);
  }

  #columnOf(workspace: Workspace, tile: Tile, column: Float64Array): KernelArray<'f64'> {
    if (!this.#reachesAll()) return workspace.input('f64', this.#packed(tile, column, gatherDoubles));
    let array = this.#sharedInputs.get(column);
    if (!array) {
      array = this.#shared.input('f64', column);
      this.#sharedInputs.set(column, array);
    }
    return array;
  }

  /** The rows of a tile in order. */
  #packed<T extends Float64Array | Uint32Array>(
    { firstPosition, positionEnd }: Tile,
    rows: T,
    gather: (from: T, order: Uint32Array) => T,
  ): T {
    const order = this.#work.plan.rowsByRollout?.subarray(firstPosition, positionEnd);
    return order ? gather(rows, order) : (rows.subarray(firstPosition, positionEnd) as T);
  }

  #judge(tile: Tile, groupOffsets: Uint32Array, statuses: readonly Uint32Array[]): void {
    for (let group = 0; group + 1 < groupOffsets.length; group++) {
      const counted = groupOffsets[group + 1] - groupOffsets[group];
      if (counted === 1) this.#singletonGroups++;
      if (counted === 0) this.#emptyGroups++;
      let flat = 0;
      for (const [k, own] of statuses.entries()) {
        const status = own[group];
        const isZero = zeroesFlatGroups(this.#work.estimator) && (counted === 1 || status === GROUP_STATUS.flat);
        if (counted > 0 && !isZero && this.#batchScales[k]) this.#judgeBatch(this.#batchScales[k]);
        if (status === GROUP_STATUS.flat) flat++;
        else if (status === GROUP_STATUS.overflow) this.#fail(tile.firstGroup + group, 'overflow');
        else if (status === GROUP_STATUS.vanishing) this.#fail(tile.firstGroup + group, 'vanishing');
      }
      // Under any of the rewards: a group is counted once.
      const has = (status: number) => statuses.some((own) => own[group] === status);
      if (counted > 1 && flat === statuses.length) this.#flatGroups++;
      if (has(GROUP_STATUS.unscaled)) this.#unscaledGroups++;
      if (has(GROUP_STATUS.notPositive)) this.#notPositiveGroups++;
    }
  }

  #judgeBatch({ status }: BatchMoments): void {
    if (status === GROUP_STATUS.overflow) this.#fail('batch', 'overflow');
    if (status === GROUP_STATUS.vanishing) this.#fail('batch', 'vanishing');
  }

  #fail(group: ProgramFailure['group'], status: ProgramFailure['status']): void {
    this.#failure ??= { group, status };
  }

  #noteRepresentatives({ firstRollout }: Tile, positions: Uint32Array): void {
    const { plan } = this.#work;
    if (!this.#details) return;
    for (let i = 0; i < positions.length; i++)
      this.#details.representatives[firstRollout + i] = rowAt(plan, positions[i]);
  }

  async #noteGroups(
    workspace: Workspace,
    { firstGroup }: Tile,
    groupOffsets: Uint32Array,
    values: KernelArray<'f64'>,
    { references, centres, divisors, statuses }: NormalizedGroups,
    k: number,
  ): Promise<void> {
    const { estimator } = this.#work;
    const noted = this.#details!.groups[k];
    const groups = new Groups(workspace, this.#executor.pieceLength, groupOffsets, values);
    const plain = await groups.means(null, false);
    const squares = await groups.squares(plain.centres);
    const spread = { measure: 'deviation', ddof: estimator.ddof, flatToo: true } as const;
    const scaled = await divisorsOf(workspace, groups, squares, plain.statuses, spread);
    const firsts = await workspace.read(await groups.references());
    const shifts = await workspace.read(references);
    const middle = await workspace.read(plain.centres);
    const deviations = await workspace.read(scaled.divisors);
    const taken = centres && (await workspace.read(centres));
    const dividing = divisors && (await workspace.read(divisors));
    const distances = estimator.scale === 'mad' ? await workspace.read(await groups.medianDistances()) : null;
    const isOne = ['mean', 'median', 'length-mean', 'leave-one-out'].includes(estimator.baseline);
    noted.statuses.set(await workspace.read(statuses), firstGroup);
    for (let i = 0; i + 1 < groupOffsets.length; i++) {
      if (groupOffsets[i + 1] === groupOffsets[i]) continue;
      const group = firstGroup + i;
      noted.means[group] = firsts[i] + middle[i];
      noted.deviations[group] = deviations[i];
      noted.references[group] = shifts[i];
      if (taken) noted.centres[group] = taken[i];
      if (distances) noted.medianDistances[group] = distances[i];
      if (taken && isOne) noted.baselines[group] = shifts[i] + taken[i];
      else if (estimator.baseline === 'none') noted.baselines[group] = 0;
      noted.divisors[group] = estimator.scale === 'peers' ? Number.NaN : (dividing?.[i] ?? 1);
    }
  }

  async #noteRollouts(
    workspace: Workspace,
    tile: Tile,
    counted: Counted,
    advantages: KernelArray<'f64'>,
  ): Promise<void> {
    const details = this.#details!;
    const { values, baselines } = counted;
    this.#spread(tile, counted, new Uint8Array(values[0].length).fill(1), details.counted);
    for (const [k, own] of values.entries()) this.#spread(tile, counted, await workspace.read(own), details.rewards[k]);
    this.#spread(tile, counted, await workspace.read(advantages), details.beforeStep);
    if (!baselines) return;
    const recorded = details.recordedBaselines ?? new Float64Array(this.#work.plan.rolloutCount).fill(Number.NaN);
    this.#spread(tile, counted, await workspace.read(baselines), recorded);
    Object.assign(details, { recordedBaselines: recorded });
  }

  /** Numbers of the counted rollouts of a tile to the places of their rollouts. */
  #spread<T extends Float64Array | Uint8Array>({ firstRollout }: Tile, { rollouts }: Counted, from: T, to: T): void {
    for (let i = 0; i < from.length; i++) to[rollouts ? rollouts[i] : firstRollout + i] = from[i];
  }

  async #noteStep({ advantages, moments }: Awaited<ReturnType<typeof stepOverBatch>>): Promise<void> {
    const details = this.#details!;
    const stepped = await this.#shared.read(advantages);
    const slots = this.#slots;
    details.step = moments;
    details.afterStep = details.beforeStep.map((before, rollout) =>
      Number.isNaN(before) ? before : stepped[slots ? slots[rollout] : rollout],
    );
  }
}

const last = (offsets: Uint32Array) => offsets[offsets.length - 1];

/** Offsets less the first. */
function fromZero(offsets: Uint32Array): Uint32Array {
  if (offsets[0] === 0) return offsets;
  const moved = new Uint32Array(offsets.length);
  for (let i = 0; i < offsets.length; i++) moved[i] = offsets[i] - offsets[0];
  return moved;
}
