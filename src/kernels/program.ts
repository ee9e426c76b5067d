/** The computation of a batch as a sequence of kernels: rewards in row order to one advantage per row. */
import type { Estimator } from '../estimators/estimators.ts';
import { Exclusion } from '../estimators/exclusion.ts';
import { isPassThrough } from '../estimators/rule.ts';
import { combineSiblings } from '../estimators/siblings.ts';
import { wordsOf } from '../numeric/words.ts';
import { type Tile, tileOf, tilesOf } from '../plan/tiles.ts';
import { abortable } from './abortable.ts';
import { NOT_COUNTED } from './codes.ts';
import type { Counted } from './counted.ts';
import { DetailRecorder } from './detail-recorder.ts';
import type { Executor, KernelArray, Workspace } from './executor.ts';
import { groupLengths, rolloutTokens, tokenWeights } from './rollout-tokens.ts';
import { type BatchMoments, batchDivisorOf, stepOverBatch } from './stages/batch-step.ts';
import { countMaskTokens } from './stages/count-tokens.ts';
import { normalizeGroups } from './stages/normalize-groups.ts';
import { gatherRewards, selectRepresentatives } from './stages/select-representatives.ts';
import { KERNELS } from './table.ts';
import { type RowTokens, TileRows } from './tile-rows.ts';
import { Verdict } from './verdict.ts';
import type { Outcome, Work } from './work.ts';
import { tileBytes, wholeBatchBytes } from './working-set.ts';

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
    const { counters } = new Verdict(estimator);
    return { ...counters, excluded: {}, countedRollouts: 0, failure: null, details: null };
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

class BatchRun {
  readonly #executor: Executor;
  readonly #work: Work;
  /** Arrays of the whole batch. */
  readonly #shared: Workspace;
  readonly #whole: boolean;
  readonly #rows: TileRows;
  readonly #verdict: Verdict;
  readonly #recorder: DetailRecorder | null;
  #tokens: RowTokens = { array: null, host: null };
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
  #countedRollouts = 0;

  constructor(executor: Executor, work: Work, shared: Workspace, whole: boolean) {
    this.#executor = executor;
    this.#work = work;
    this.#shared = shared;
    this.#whole = whole;
    const { plan, columns, policies, estimator } = work;
    this.#rewards = estimator.perReward && columns.rewardParts ? columns.rewardParts : [columns.rewards];
    this.#hostAdvantages = new Float64Array(whole ? 0 : plan.rolloutCount);
    this.#slots = policies.exclude.length > 0 ? new Uint32Array(plan.rolloutCount) : null;
    this.#rows = new TileRows(executor, columns, plan, shared, whole);
    this.#verdict = new Verdict(estimator);
    const { pieceLength } = executor;
    this.#recorder = work.detailed ? new DetailRecorder(plan, estimator, this.#rewards.length, pieceLength) : null;
    if (policies.siblings !== 'mean' && policies.siblings !== 'sum') return;
    for (const column of this.#columnsOfRollouts())
      this.#combined.set(column, combineSiblings(plan, column, policies.siblings));
  }

  outcome(): Outcome {
    return {
      ...this.#verdict.counters,
      failure: this.#verdict.failure,
      countedRollouts: this.#countedRollouts,
      excluded: this.#exclusion?.counts ?? {},
      details: this.#recorder?.details ?? null,
    };
  }

  /** Counts what is still to be counted, where a choice, an exclusion or a weight depends on it. */
  async countTokens(): Promise<void> {
    const { columns, plan, policies, estimator } = this.#work;
    const { fixedTokens, lossMasks } = columns;
    const weighs = estimator.baseline === 'length-mean' || estimator.step?.weight === 'tokens';
    const onHost = policies.exclude.includes('untrainable') || weighs || this.#recorder !== null;
    if (fixedTokens !== null && (policies.siblings === 'mainstream' || onHost)) {
      if (lossMasks === null) this.#tokens = { array: this.#shared.input('u32', fixedTokens), host: fixedTokens };
      else {
        const array = await countMaskTokens(this.#shared, this.#executor.pieceLength, fixedTokens, lossMasks);
        this.#tokens = { array, host: !this.#whole || onHost ? await this.#shared.read(array) : null };
      }
    }
    if (weighs || this.#recorder) this.#rolloutTokens = rolloutTokens(plan, this.#tokens.host);
    if (this.#recorder) this.#recorder.details.tokens = this.#rolloutTokens;
    if (policies.exclude.length > 0) this.#exclusion = new Exclusion(plan, columns, policies, this.#tokens.host);
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
      const { pieceLength } = this.#executor;
      const isNoted = this.#recorder !== null;
      const moments = await batchDivisorOf(this.#shared, pieceLength, values, estimator, isNoted);
      this.#recorder?.details.batchScale.push(moments);
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
    const isEmpty = this.#countedRollouts === 0;
    // No tokens of no rollouts are too few, but in a batch without rows.
    if (step === null || (isEmpty && (step.weight !== 'tokens' || this.#work.plan.rolloutCount === 0))) return;
    const advantages = this.#countedAdvantages();
    const weights =
      step.weight === 'tokens'
        ? tokenWeights(this.#rolloutTokens, this.#slots, this.#countedRollouts, step.ddof)
        : null;
    const stepped = await stepOverBatch(this.#shared, this.#executor.pieceLength, advantages, weights, step);
    const { moments } = stepped;
    this.#advantages = stepped.advantages;
    this.#verdict.judge('batch', moments.status);
    this.#recorder?.noteStep(await this.#shared.read(stepped.advantages), moments, this.#slots);
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
      await this.#recorder?.noteGroups(workspace, tile, counted, normalized, k);
      advantages = estimator.perReward
        ? await this.#addWeighted(workspace, normalized.advantages, advantages, k)
        : normalized.advantages;
    }
    this.#verdict.addGroups(tile.firstGroup, groupOffsets, statuses, this.#batchScales);
    await this.#recorder?.noteRollouts(workspace, tile, counted, advantages!);
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
    this.#verdict.counters.groupsWithoutTokens += withoutTokens;
    return { weights: workspace.input('f64', weights), totals: workspace.input('f64', totals) };
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
      const rows = this.#rows.rowsOf(workspace, tile, this.#tokens, siblings);
      const rowOffsets = plan.rowOffsets.subarray(tile.firstRollout, tile.rolloutEnd + 1);
      const winners = await selectRepresentatives(workspace, this.#executor.pieceLength, rowOffsets, rows, siblings);
      const positions = this.#exclusion || this.#recorder ? await workspace.read(winners) : null;
      if (positions) this.#recorder?.noteRepresentatives(tile, positions);
      kept = this.#keepCounted(tile, (rollout) => positions![rollout - tile.firstRollout]);
      const chosen = kept.rollouts
        ? workspace.input(
            'u32',
            kept.rollouts.map((rollout) => positions![rollout - tile.firstRollout]),
          )
        : winners;
      const order = this.#rows.orderOf(workspace, tile);
      valuesOf = (column) => gatherRewards(workspace, order, this.#rows.columnOf(workspace, tile, column), chosen);
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
}

const last = (offsets: Uint32Array) => offsets[offsets.length - 1];

/** Offsets less the first. */
function fromZero(offsets: Uint32Array): Uint32Array {
  if (offsets[0] === 0) return offsets;
  const moved = new Uint32Array(offsets.length);
  for (let i = 0; i < offsets.length; i++) moved[i] = offsets[i] - offsets[0];
  return moved;
}
