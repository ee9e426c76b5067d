/** The computation of a batch as a sequence of kernels: rewards in row order to one advantage per row. */
import { type Estimator, isPassThrough } from '../estimators/estimators.ts';
import { Exclusion } from '../estimators/exclusion.ts';
import type { ExclusionReason, Policies } from '../estimators/policies.ts';
import { combineSiblings } from '../estimators/siblings.ts';
import type { Plan } from '../plan/plan.ts';
import { planReduction, type ReductionLevel } from '../plan/reduction.ts';
import { type Tile, tileOf, tilesOf } from '../plan/tiles.ts';
import type { SampleColumns } from '../samples/columns.ts';
import { CHOICE, GROUP_STATUS, NOT_COUNTED } from './codes.ts';
import type { Executor, KernelArray, Workspace } from './executor.ts';
import { BYTES_PER_ELEMENT, type HostArray } from './kernel.ts';
import { KERNELS } from './table.ts';

/** A validated batch and what to do with it. */
export interface Work {
  readonly columns: SampleColumns;
  readonly plan: Plan;
  readonly estimator: Estimator;
  readonly policies: Policies;
}

export interface Outcome {
  /** Groups of two or more counted rollouts whose rewards are all equal. */
  readonly flatGroups: number;
  /** Groups of one counted rollout. */
  readonly singletonGroups: number;
  readonly excluded: Partial<Record<ExclusionReason, number>>;
  /** The first group that has no advantages because a number left the range of binary64. */
  readonly failedGroup: { readonly group: number; readonly status: 'overflow' | 'vanishing' } | null;
}

/**
 * Fills `rowAdvantages` (binary32, one per row) on the given executor.
 * @throws BackendError where the executor is a GPU that failed; never returns numbers that were not computed
 */
export async function runProgram(executor: Executor, work: Work, rowAdvantages: Float32Array): Promise<Outcome> {
  if (isPassThrough(work.estimator)) return passThroughRewards(executor, work, rowAdvantages);
  const sizes = wholeBatchBytes(work);
  const whole = executor.fits(sizes);
  const shared = executor.workspace(sizes);
  try {
    const run = new BatchRun(executor, work, shared, whole);
    await run.countTokens();
    const { plan } = work;
    const tiles = whole ? [tileOf(plan, 0, plan.groupCount)] : tilesOf(plan, executor.tileRollouts, executor.tileRows);
    for (const tile of tiles) await run.normalizeTile(tile);
    await run.scatter(rowAdvantages);
    return run.outcome();
  } finally {
    shared.close();
  }
}

async function passThroughRewards(
  executor: Executor,
  { columns }: Work,
  rowAdvantages: Float32Array,
): Promise<Outcome> {
  const rewards = columns.rewards;
  const workspace = executor.workspace([rewards.byteLength, rowAdvantages.byteLength]);
  try {
    const advantages = workspace.output('f32', columns.rowCount);
    const arrays = { rewards: workspace.input('f64', rewards), rowAdvantages: advantages };
    await workspace.run(KERNELS.passThrough, {}, columns.rowCount, arrays);
    rowAdvantages.set(await workspace.read(advantages));
    return { flatGroups: 0, singletonGroups: 0, excluded: {}, failedGroup: null };
  } finally {
    workspace.close();
  }
}

/** Bytes of the arrays that live at the same time when a batch is worked on without tiles. */
function wholeBatchBytes({ columns, plan }: Work): number[] {
  const { rowCount } = columns;
  const { rolloutCount, groupCount } = plan;
  const perRow = [8, 4, 4, 4, plan.rowsByRollout ? 4 : 0].map((bytes) => bytes * rowCount);
  const perRollout = [4, 4, 8, 8, 4, 4].map((bytes) => bytes * (rolloutCount + 1));
  const perGroup = [4, 8, 8, 8, 8, 4, 4, 4].map((bytes) => bytes * (groupCount + 1));
  return [...perRow, ...perRollout, ...perGroup, columns.lossMasks?.words.byteLength ?? 0];
}

/** The arrays of rows as the kernels of one tile see them. */
interface TileRows {
  readonly rowsInOrder: 0 | 1;
  readonly rowsByRollout: KernelArray<'u32'> | null;
  readonly tokens: KernelArray<'u32'> | null;
  readonly rewards: KernelArray<'f64'>;
}

/** The counted rollouts of one tile. */
interface CountedRollouts {
  /** Per group; begins at 0. */
  readonly groupOffsets: Uint32Array;
  readonly values: KernelArray<'f64'>;
}

class BatchRun {
  readonly #executor: Executor;
  readonly #work: Work;
  readonly #shared: Workspace;
  readonly #whole: boolean;
  /** Trainable tokens per row where they are known: on the host when there are tiles. */
  #tokens: KernelArray<'u32'> | null = null;
  #hostTokens: Uint32Array | null = null;
  #rewards: KernelArray<'f64'> | null = null;
  /** Advantages of the counted rollouts: one array, or on the host when there are tiles. */
  #advantages: KernelArray<'f32'> | null = null;
  readonly #hostAdvantages: Float32Array;
  readonly #slots: Uint32Array | null;
  readonly #combined: Float64Array | null;
  #exclusion: Exclusion | null = null;
  #counted = 0;
  #flatGroups = 0;
  #singletonGroups = 0;
  #failedGroup: Outcome['failedGroup'] = null;

  constructor(executor: Executor, work: Work, shared: Workspace, whole: boolean) {
    this.#executor = executor;
    this.#work = work;
    this.#shared = shared;
    this.#whole = whole;
    const { plan, columns, policies } = work;
    this.#hostAdvantages = new Float32Array(whole ? 0 : plan.rolloutCount);
    this.#slots = policies.exclude.length > 0 ? new Uint32Array(plan.rolloutCount) : null;
    const { siblings } = policies;
    const combines = siblings === 'mean' || siblings === 'sum';
    this.#combined = combines ? combineSiblings(plan, columns.rewards, siblings) : null;
  }

  outcome(): Outcome {
    return {
      flatGroups: this.#flatGroups,
      singletonGroups: this.#singletonGroups,
      excluded: this.#exclusion?.counts ?? {},
      failedGroup: this.#failedGroup,
    };
  }

  /** Loss masks to trainable tokens per row, and the decision who is left out for them. */
  async countTokens(): Promise<void> {
    const { columns, plan, policies } = this.#work;
    const { fixedTokens, lossMasks } = columns;
    const wantsTokens = policies.siblings === 'mainstream' || policies.exclude.includes('untrainable');
    if (fixedTokens !== null && wantsTokens) {
      this.#tokens = this.#shared.input('u32', fixedTokens);
      this.#hostTokens = fixedTokens;
      if (lossMasks !== null) await this.#countMasks(fixedTokens, lossMasks.words, lossMasks.wordOffsets);
    }
    if (policies.exclude.length > 0) this.#exclusion = new Exclusion(plan, columns, policies, this.#hostTokens);
  }

  async #countMasks(fixedTokens: Uint32Array, words: Uint32Array, wordOffsets: Uint32Array): Promise<void> {
    const shared = this.#shared;
    const levels = planReduction(wordOffsets, this.#executor.pieceLength);
    const fixed = shared.input('u32', fixedTokens);
    let partials = shared.input('u32', words);
    for (const [height, level] of levels.entries()) {
      const wholeRows = height === levels.length - 1 ? 1 : 0;
      const bounds = shared.input('u32', level.elementOffsets);
      const counts = shared.output('u32', level.itemCount);
      const fixedTokensOfItems = wholeRows === 1 ? fixed : null;
      const common = { bounds, fixedTokens: fixedTokensOfItems, counts };
      const { countTokens, foldCounts } = KERNELS;
      if (height === 0) await shared.run(countTokens, { wholeRows }, level.itemCount, { ...common, words: partials });
      else await shared.run(foldCounts, { wholeRows }, level.itemCount, { ...common, partials });
      shared.release(bounds, partials);
      partials = counts;
    }
    this.#tokens = partials;
    const needsHost = !this.#whole || this.#work.policies.exclude.includes('untrainable');
    if (needsHost) this.#hostTokens = await shared.read(partials);
  }

  /** Everything between the rows and the advantages of the counted rollouts, for the groups of one tile. */
  async normalizeTile(tile: Tile): Promise<void> {
    const workspace = this.#whole ? this.#shared : this.#executor.workspace(this.#tileBytes(tile));
    try {
      const counted = await this.#countedRollouts(workspace, tile);
      const advantages = await this.#normalizeGroups(workspace, tile, counted);
      const countedHere = counted.groupOffsets[counted.groupOffsets.length - 1];
      if (this.#whole) this.#advantages = advantages;
      else this.#hostAdvantages.set(await workspace.read(advantages), this.#counted);
      this.#counted += countedHere;
    } finally {
      if (!this.#whole) workspace.close();
    }
  }

  #tileBytes({ firstRollout, rolloutEnd, firstPosition, positionEnd }: Tile): number[] {
    const rows = positionEnd - firstPosition;
    const rollouts = rolloutEnd - firstRollout + 1;
    return [rows * 8, rows * 4, rows * 4, ...[4, 4, 8, 8, 4, 8, 8, 8, 8, 4, 4].map((bytes) => bytes * rollouts)];
  }

  /** Chooses a reward for every rollout of the tile and brings those that count together. */
  async #countedRollouts(workspace: Workspace, tile: Tile): Promise<CountedRollouts> {
    const { plan } = this.#work;
    const offsets = plan.groupOffsets.subarray(tile.firstGroup, tile.groupEnd + 1);
    const rollouts = tile.rolloutEnd - tile.firstRollout;
    if (this.#combined) return this.#countCombined(workspace, tile, offsets, this.#combined);
    const rows = this.#rowsOf(workspace, tile);
    const winners = await this.#selectRepresentatives(workspace, tile, rows);
    if (!this.#exclusion) {
      const values = await this.#gather(workspace, tile, rows, winners, rollouts);
      return { groupOffsets: rebase(offsets, tile.firstRollout), values };
    }
    const positions = await workspace.read(winners);
    const kept = this.#keep(tile, offsets, (rollout) => positions[rollout - tile.firstRollout]);
    const keptPositions = workspace.input(
      'u32',
      kept.rollouts.map((rollout) => positions[rollout - tile.firstRollout]),
    );
    const values = await this.#gather(workspace, tile, rows, keptPositions, kept.rollouts.length);
    return { groupOffsets: kept.groupOffsets, values };
  }

  #countCombined(workspace: Workspace, tile: Tile, offsets: Uint32Array, combined: Float64Array): CountedRollouts {
    if (!this.#exclusion) {
      const values = workspace.input('f64', combined.subarray(tile.firstRollout, tile.rolloutEnd));
      return { groupOffsets: rebase(offsets, tile.firstRollout), values };
    }
    const kept = this.#keep(tile, offsets, () => 0);
    const values = Float64Array.from(kept.rollouts, (rollout) => combined[rollout]);
    return { groupOffsets: kept.groupOffsets, values: workspace.input('f64', values) };
  }

  /** The rollouts of the tile that count, and the slot of each in the order of advantages. */
  #keep(tile: Tile, offsets: Uint32Array, representative: (rollout: number) => number) {
    const groupOffsets = new Uint32Array(offsets.length);
    const rollouts = new Uint32Array(tile.rolloutEnd - tile.firstRollout);
    let count = 0;
    for (let group = 0; group + 1 < offsets.length; group++) {
      for (let rollout = offsets[group]; rollout < offsets[group + 1]; rollout++) {
        const isCounted = this.#exclusion!.isCounted(rollout, representative(rollout));
        this.#slots![rollout] = isCounted ? this.#counted + count : NOT_COUNTED;
        if (isCounted) rollouts[count++] = rollout;
      }
      groupOffsets[group + 1] = count;
    }
    return { groupOffsets, rollouts: rollouts.subarray(0, count) };
  }

  #rowsOf(workspace: Workspace, tile: Tile): TileRows {
    const { plan, columns } = this.#work;
    const { firstPosition, positionEnd } = tile;
    const order = plan.rowsByRollout?.subarray(firstPosition, positionEnd) ?? null;
    const tokens = this.#hostTokens;
    if (order === null && !this.#whole) {
      const rewards = workspace.input('f64', columns.rewards.subarray(firstPosition, positionEnd));
      const ownTokens = tokens && workspace.input('u32', tokens.subarray(firstPosition, positionEnd));
      return { rowsInOrder: 1, rowsByRollout: null, tokens: ownTokens, rewards };
    }
    if (this.#whole || this.#executor.hasTables) {
      this.#rewards ??= this.#shared.input('f64', columns.rewards);
      const rowsByRollout = order && workspace.input('u32', order);
      return { rowsInOrder: order ? 0 : 1, rowsByRollout, tokens: this.#tokensOfBatch(), rewards: this.#rewards };
    }
    const packedRewards = workspace.input('f64', pack(new Float64Array(order!.length), columns.rewards, order!));
    const packedTokens = tokens && workspace.input('u32', pack(new Uint32Array(order!.length), tokens, order!));
    return { rowsInOrder: 1, rowsByRollout: null, tokens: packedTokens, rewards: packedRewards };
  }

  #tokensOfBatch(): KernelArray<'u32'> | null {
    return this.#tokens;
  }

  async #selectRepresentatives(workspace: Workspace, tile: Tile, rows: TileRows): Promise<KernelArray<'u32'>> {
    const { plan, policies } = this.#work;
    const offsets = plan.rowOffsets.subarray(tile.firstRollout, tile.rolloutEnd + 1);
    const choice = CHOICE[policies.siblings === 'rows' ? 'first' : (policies.siblings as keyof typeof CHOICE)];
    const { rowsInOrder, rowsByRollout, tokens, rewards } = rows;
    let below: { winners: KernelArray<'u32'>; ranks: KernelArray<'f64'> } | null = null;
    for (const { itemCount, elementOffsets } of planReduction(offsets, this.#executor.pieceLength)) {
      const bounds = workspace.input('u32', elementOffsets);
      const winners = workspace.output('u32', itemCount);
      const ranks = workspace.output('f64', itemCount);
      if (below === null) {
        const parameters = { choice, rowsInOrder, tokensKnown: tokens ? 1 : 0 };
        const arrays = { bounds, rowsByRollout, tokens, rewards, winners, ranks };
        await workspace.run(KERNELS.selectRepresentative, parameters, itemCount, arrays, {
          elementBase: tile.firstPosition,
        });
      } else {
        const arrays = { bounds, candidates: below.winners, candidateRanks: below.ranks, winners, ranks };
        await workspace.run(KERNELS.foldRepresentatives, {}, itemCount, arrays);
        workspace.release(below.winners, below.ranks);
      }
      workspace.release(bounds);
      below = { winners, ranks };
    }
    workspace.release(below!.ranks);
    return below!.winners;
  }

  async #gather(workspace: Workspace, tile: Tile, rows: TileRows, positions: KernelArray<'u32'>, count: number) {
    const values = workspace.output('f64', count);
    const { rowsInOrder, rowsByRollout, rewards } = rows;
    const parameters = { rowsInOrder, positionBase: tile.firstPosition };
    await workspace.run(KERNELS.gatherRewards, parameters, count, { positions, rowsByRollout, rewards, values });
    workspace.release(positions);
    return values;
  }

  /** Mean, deviation and advantages of the counted rollouts of each group. */
  async #normalizeGroups(workspace: Workspace, tile: Tile, { groupOffsets, values }: CountedRollouts) {
    const groupCount = groupOffsets.length - 1;
    const { estimator } = this.#work;
    const levels = planReduction(groupOffsets, this.#executor.pieceLength);
    const bounds = workspace.input('u32', groupOffsets);
    const references = await this.#references(workspace, groupOffsets, values);
    const deviations = await this.#sumDeviations(workspace, levels, values, references, null);
    const centres = workspace.output('f64', groupCount);
    let statuses = workspace.output('u32', groupCount);
    const { sums, spreads } = deviations;
    await workspace.run(KERNELS.groupMean, {}, groupCount, { bounds, sums, spreads, centres, statuses });
    workspace.release(sums, spreads);
    let divisors: KernelArray<'f64'> | null = null;
    if (estimator.scale === 'deviation') {
      const squares = await this.#sumDeviations(workspace, levels, values, references, centres);
      divisors = workspace.output('f64', groupCount);
      const means = statuses;
      statuses = workspace.output('u32', groupCount);
      const arrays = { bounds, squareSums: squares.sums, means, divisors, statuses };
      await workspace.run(
        KERNELS.groupDeviation,
        { ddof: estimator.ddof, ...wordsOf(estimator.epsilon) },
        groupCount,
        arrays,
      );
      workspace.release(squares.sums, squares.spreads, means);
    }
    const { itemCount, elementOffsets, itemSegments } = levels[0];
    const advantages = workspace.output('f32', values.length);
    await workspace.run(
      KERNELS.normalize,
      { wholeSegments: itemSegments ? 0 : 1, divide: divisors ? 1 : 0 },
      itemCount,
      {
        bounds: itemSegments ? workspace.input('u32', elementOffsets) : bounds,
        itemSegments: itemSegments && workspace.input('u32', itemSegments),
        ...{ values, references, centres, divisors, statuses, advantages },
      },
    );
    this.#judge(tile, groupOffsets, await workspace.read(statuses));
    return advantages;
  }

  /** Each group's first counted reward, by which the rest are shifted. */
  async #references(workspace: Workspace, groupOffsets: Uint32Array, values: KernelArray<'f64'>) {
    const groupCount = groupOffsets.length - 1;
    const last = Math.max(0, values.length - 1);
    // A group without counted rollouts reads some other group's value; nothing is computed from it.
    const firsts = groupOffsets.subarray(0, groupCount).map((offset) => Math.min(offset, last));
    const references = workspace.output('f64', groupCount);
    const positions = workspace.input('u32', firsts);
    const table = values.length > 0 ? values : workspace.input('f64', new Float64Array(1));
    const arrays = { positions, rowsByRollout: null, rewards: table, values: references };
    await workspace.run(KERNELS.gatherRewards, { rowsInOrder: 1, positionBase: 0 }, groupCount, arrays);
    return references;
  }

  async #sumDeviations(
    workspace: Workspace,
    levels: readonly ReductionLevel[],
    values: KernelArray<'f64'>,
    references: KernelArray<'f64'>,
    centres: KernelArray<'f64'> | null,
  ) {
    let below: { sums: KernelArray<'f64'>; spreads: KernelArray<'u32'> } | null = null;
    for (const { itemCount, elementOffsets, itemSegments } of levels) {
      const bounds = workspace.input('u32', elementOffsets);
      const sums = workspace.output('f64', itemCount);
      const spreads = workspace.output('u32', itemCount);
      if (below === null) {
        const segments = itemSegments && workspace.input('u32', itemSegments);
        const arrays = { bounds, itemSegments: segments, values, references, centres, sums, spreads };
        const parameters = { wholeSegments: segments ? 0 : 1, squared: centres ? 1 : 0 };
        await workspace.run(KERNELS.sumDeviations, parameters, itemCount, arrays);
        workspace.release(segments);
      } else {
        const arrays = { bounds, partialSums: below.sums, partialSpreads: below.spreads, sums, spreads };
        await workspace.run(KERNELS.foldSums, {}, itemCount, arrays);
        workspace.release(below.sums, below.spreads);
      }
      workspace.release(bounds);
      below = { sums, spreads };
    }
    return below!;
  }

  #judge(tile: Tile, groupOffsets: Uint32Array, statuses: HostArray<'u32'>): void {
    for (let group = 0; group < statuses.length; group++) {
      const counted = groupOffsets[group + 1] - groupOffsets[group];
      const status = statuses[group];
      if (counted === 1) this.#singletonGroups++;
      else if (counted > 1 && status === GROUP_STATUS.flat) this.#flatGroups++;
      if (status === GROUP_STATUS.overflow || status === GROUP_STATUS.vanishing) {
        const name = status === GROUP_STATUS.overflow ? 'overflow' : 'vanishing';
        this.#failedGroup ??= { group: tile.firstGroup + group, status: name };
      }
    }
  }

  /** Gives every row the advantage of its rollout. */
  async scatter(rowAdvantages: Float32Array): Promise<void> {
    const shared = this.#shared;
    const { plan } = this.#work;
    const advantages = this.#advantages ?? shared.input('f32', this.#hostAdvantages.subarray(0, this.#counted));
    const output = shared.output('f32', plan.rowCount);
    const arrays = {
      rowRollout: shared.input('u32', plan.rowRollout),
      slots: this.#slots && shared.input('u32', this.#slots),
      advantages,
      rowAdvantages: output,
    };
    const everyRolloutCounts = this.#slots ? 0 : 1;
    await shared.run(KERNELS.scatterAdvantages, { everyRolloutCounts }, plan.rowCount, arrays);
    rowAdvantages.set(await shared.read(output));
  }
}

function rebase(offsets: Uint32Array, base: number): Uint32Array {
  return base === 0 ? offsets : offsets.map((offset) => offset - base);
}

function pack<T extends Float64Array | Uint32Array>(packed: T, rows: T, order: Uint32Array): T {
  for (let i = 0; i < order.length; i++) packed[i] = rows[order[i]];
  return packed;
}

function wordsOf(value: number): { epsilonLow: number; epsilonHigh: number } {
  const [epsilonLow, epsilonHigh] = new Uint32Array(Float64Array.of(value).buffer);
  return { epsilonLow, epsilonHigh };
}

export const bytesOf = (array: KernelArray): number => array.length * BYTES_PER_ELEMENT[array.type];
