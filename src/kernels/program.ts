/** The computation of a batch as a sequence of kernels: rewards in row order to one advantage per row. */
import { type Estimator, isPassThrough } from '../estimators/estimators.ts';
import { Exclusion } from '../estimators/exclusion.ts';
import type { ExclusionReason, Policies } from '../estimators/policies.ts';
import { combineSiblings } from '../estimators/siblings.ts';
import type { Plan } from '../plan/plan.ts';
import { type Tile, tileOf, tilesOf } from '../plan/tiles.ts';
import type { SampleColumns } from '../samples/columns.ts';
import { GROUP_STATUS, NOT_COUNTED } from './codes.ts';
import type { Executor, KernelArray, Workspace } from './executor.ts';
import { countMaskTokens } from './stages/count-tokens.ts';
import { type GroupedRewards, normalizeGroups } from './stages/normalize-groups.ts';
import { gatherRewards, type RolloutRows, selectRepresentatives } from './stages/select-representatives.ts';
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

/** How long tiles may follow each other before the event loop has a turn. */
const BUSY_MS = 50;

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
    let yielded = performance.now();
    for (const tile of tiles) {
      await run.normalizeTile(tile);
      if (performance.now() - yielded < BUSY_MS) continue;
      // On the CPU nothing else gets a turn: not a page, not a signal.
      await new Promise((resolve) => setTimeout(resolve));
      yielded = performance.now();
    }
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
  const { rewards, rowCount } = columns;
  const workspace = executor.workspace([rewards.byteLength, rowAdvantages.byteLength]);
  try {
    const output = workspace.output('f32', rowCount);
    await workspace.run(KERNELS.passThrough, {}, rowCount, {
      rewards: workspace.input('f64', rewards),
      rowAdvantages: output,
    });
    rowAdvantages.set(await workspace.read(output));
    return { flatGroups: 0, singletonGroups: 0, excluded: {}, failedGroup: null };
  } finally {
    workspace.close();
  }
}

/** Bytes of the arrays that live at the same time when a batch is worked on without tiles. */
function wholeBatchBytes({ columns, plan }: Work): number[] {
  const perRow = [8, 4, 4, 4, plan.rowsByRollout ? 4 : 0].map((bytes) => bytes * columns.rowCount);
  const perRollout = [4, 4, 8, 8, 4, 4].map((bytes) => bytes * (plan.rolloutCount + 1));
  const perGroup = [4, 8, 8, 8, 8, 4, 4, 4].map((bytes) => bytes * (plan.groupCount + 1));
  const masks = columns.lossMasks ? [columns.lossMasks.words.byteLength, columns.lossMasks.wordOffsets.byteLength] : [];
  return [...perRow, ...perRollout, ...perGroup, ...masks];
}

/** The same for one tile. */
function tileBytes({ firstRollout, rolloutEnd, firstPosition, positionEnd }: Tile): number[] {
  const perRow = [8, 4, 4].map((bytes) => bytes * (positionEnd - firstPosition));
  const perRolloutOrGroup = [4, 4, 8, 8, 4, 8, 8, 8, 8, 4, 4].map((bytes) => bytes * (rolloutEnd - firstRollout + 1));
  return [...perRow, ...perRolloutOrGroup];
}

class BatchRun {
  readonly #executor: Executor;
  readonly #work: Work;
  /** Arrays of the whole batch. */
  readonly #shared: Workspace;
  readonly #whole: boolean;
  /** Trainable tokens per row where they are known and wanted; on the host where tiles or exclusion need them there. */
  #tokens: KernelArray<'u32'> | null = null;
  #hostTokens: Uint32Array | null = null;
  #rewards: KernelArray<'f64'> | null = null;
  /** Advantages of the counted rollouts: one array, or on the host when there are tiles. */
  #advantages: KernelArray<'f32'> | null = null;
  readonly #hostAdvantages: Float32Array;
  /** Place of each rollout among the counted ones, or NOT_COUNTED; null: all count. */
  readonly #slots: Uint32Array | null;
  /** Reward of each rollout under mean and sum. */
  readonly #combined: Float64Array | null;
  #exclusion: Exclusion | null = null;
  #countedRollouts = 0;
  #flatGroups = 0;
  #singletonGroups = 0;
  #failedGroup: Outcome['failedGroup'] = null;

  constructor(executor: Executor, work: Work, shared: Workspace, whole: boolean) {
    this.#executor = executor;
    this.#work = work;
    this.#shared = shared;
    this.#whole = whole;
    const { plan, columns, policies } = work;
    const { siblings, exclude } = policies;
    this.#hostAdvantages = new Float32Array(whole ? 0 : plan.rolloutCount);
    this.#slots = exclude.length > 0 ? new Uint32Array(plan.rolloutCount) : null;
    this.#combined =
      siblings === 'mean' || siblings === 'sum' ? combineSiblings(plan, columns.rewards, siblings) : null;
  }

  outcome(): Outcome {
    return {
      flatGroups: this.#flatGroups,
      singletonGroups: this.#singletonGroups,
      excluded: this.#exclusion?.counts ?? {},
      failedGroup: this.#failedGroup,
    };
  }

  /** Counts what is still to be counted, where a choice or an exclusion depends on it. */
  async countTokens(): Promise<void> {
    const { columns, plan, policies } = this.#work;
    const { fixedTokens, lossMasks } = columns;
    const excludesByTokens = policies.exclude.includes('untrainable');
    if (fixedTokens !== null && (policies.siblings === 'mainstream' || excludesByTokens)) {
      if (lossMasks === null) {
        this.#tokens = this.#shared.input('u32', fixedTokens);
        this.#hostTokens = fixedTokens;
      } else {
        this.#tokens = await countMaskTokens(this.#shared, this.#executor.pieceLength, fixedTokens, lossMasks);
        if (!this.#whole || excludesByTokens) this.#hostTokens = await this.#shared.read(this.#tokens);
      }
    }
    if (policies.exclude.length > 0) this.#exclusion = new Exclusion(plan, columns, policies, this.#hostTokens);
  }

  /** Everything between the rows and the advantages of the counted rollouts, for the groups of one tile. */
  async normalizeTile(tile: Tile): Promise<void> {
    const workspace = this.#whole ? this.#shared : this.#executor.workspace(tileBytes(tile));
    try {
      const counted = await this.#groupedRewards(workspace, tile);
      const { pieceLength } = this.#executor;
      const { advantages, statuses } = await normalizeGroups(workspace, pieceLength, counted, this.#work.estimator);
      this.#judge(tile, counted.groupOffsets, await workspace.read(statuses));
      if (this.#whole) this.#advantages = advantages;
      else this.#hostAdvantages.set(await workspace.read(advantages), this.#countedRollouts);
      this.#countedRollouts += counted.values.length;
    } finally {
      if (!this.#whole) workspace.close();
    }
  }

  /** Finds a reward for every rollout of the tile and brings those that count together. */
  async #groupedRewards(workspace: Workspace, tile: Tile): Promise<GroupedRewards> {
    const { plan, policies } = this.#work;
    const { siblings } = policies;
    if (this.#combined || siblings === 'mean' || siblings === 'sum')
      return this.#groupCombined(workspace, tile, this.#combined!);
    const rows = this.#rowsOf(workspace, tile);
    const rowOffsets = plan.rowOffsets.subarray(tile.firstRollout, tile.rolloutEnd + 1);
    const winners = await selectRepresentatives(workspace, this.#executor.pieceLength, rowOffsets, rows, siblings);
    if (!this.#exclusion) {
      return { groupOffsets: this.#groupOffsets(tile), values: await gatherRewards(workspace, rows, winners) };
    }
    const positions = await workspace.read(winners);
    const { groupOffsets, rollouts } = this.#keepCounted(tile, (rollout) => positions[rollout - tile.firstRollout]);
    const kept = workspace.input(
      'u32',
      rollouts.map((rollout) => positions[rollout - tile.firstRollout]),
    );
    return { groupOffsets, values: await gatherRewards(workspace, rows, kept) };
  }

  /** Under mean and sum the rewards of rollouts are there already. */
  #groupCombined(workspace: Workspace, tile: Tile, combined: Float64Array): GroupedRewards {
    if (!this.#exclusion) {
      const values = workspace.input('f64', combined.subarray(tile.firstRollout, tile.rolloutEnd));
      return { groupOffsets: this.#groupOffsets(tile), values };
    }
    const { groupOffsets, rollouts } = this.#keepCounted(tile, (rollout) => this.#work.plan.rowOffsets[rollout]);
    return {
      groupOffsets,
      values: workspace.input(
        'f64',
        Float64Array.from(rollouts, (rollout) => combined[rollout]),
      ),
    };
  }

  /** Offsets of the tile's groups where every rollout counts; from 0. */
  #groupOffsets({ firstGroup, groupEnd, firstRollout }: Tile): Uint32Array {
    const offsets = this.#work.plan.groupOffsets.subarray(firstGroup, groupEnd + 1);
    return firstRollout === 0 ? offsets : offsets.map((offset) => offset - firstRollout);
  }

  /** The rollouts of the tile that count; gives each its slot. */
  #keepCounted(tile: Tile, representative: (rollout: number) => number) {
    const offsets = this.#work.plan.groupOffsets.subarray(tile.firstGroup, tile.groupEnd + 1);
    const groupOffsets = new Uint32Array(offsets.length);
    const rollouts = new Uint32Array(tile.rolloutEnd - tile.firstRollout);
    let count = 0;
    for (let group = 0; group + 1 < offsets.length; group++) {
      for (let rollout = offsets[group]; rollout < offsets[group + 1]; rollout++) {
        const isCounted = this.#exclusion!.isCounted(rollout, representative(rollout));
        this.#slots![rollout] = isCounted ? this.#countedRollouts + count : NOT_COUNTED;
        if (isCounted) rollouts[count++] = rollout;
      }
      groupOffsets[group + 1] = count;
    }
    return { groupOffsets, rollouts: rollouts.subarray(0, count) };
  }

  /** Rows as they lie where kernels can reach all of them; else the tile's rows alone, brought into order here. */
  #rowsOf(workspace: Workspace, { firstPosition, positionEnd }: Tile): RolloutRows {
    const { plan, columns } = this.#work;
    const order = plan.rowsByRollout?.subarray(firstPosition, positionEnd) ?? null;
    if (this.#whole || (order !== null && this.#executor.hasTables)) {
      this.#rewards ??= this.#shared.input('f64', columns.rewards);
      const rowsByRollout = order && workspace.input('u32', order);
      return { rowsInOrder: order ? 0 : 1, rowsByRollout, tokens: this.#tokens, rewards: this.#rewards, firstPosition };
    }
    const own = <T extends Float64Array | Uint32Array>(rows: T): T =>
      order ? pack(rows, order) : (rows.subarray(firstPosition, positionEnd) as T);
    const tokens = this.#hostTokens && workspace.input('u32', own(this.#hostTokens));
    return {
      rowsInOrder: 1,
      rowsByRollout: null,
      tokens,
      rewards: workspace.input('f64', own(columns.rewards)),
      firstPosition,
    };
  }

  #judge(tile: Tile, groupOffsets: Uint32Array, statuses: Uint32Array): void {
    for (let group = 0; group < statuses.length; group++) {
      const counted = groupOffsets[group + 1] - groupOffsets[group];
      const status = statuses[group];
      if (counted === 1) this.#singletonGroups++;
      else if (counted > 1 && status === GROUP_STATUS.flat) this.#flatGroups++;
      if (status === GROUP_STATUS.overflow)
        this.#failedGroup ??= { group: tile.firstGroup + group, status: 'overflow' };
      if (status === GROUP_STATUS.vanishing)
        this.#failedGroup ??= { group: tile.firstGroup + group, status: 'vanishing' };
    }
  }

  /** Gives every row the advantage of its rollout. */
  async scatter(rowAdvantages: Float32Array): Promise<void> {
    const shared = this.#shared;
    const { rowCount, rowRollout } = this.#work.plan;
    const rows = shared.output('f32', rowCount);
    const arrays = {
      rowRollout: shared.input('u32', rowRollout),
      slots: this.#slots && shared.input('u32', this.#slots),
      advantages: this.#advantages ?? shared.input('f32', this.#hostAdvantages.subarray(0, this.#countedRollouts)),
      rowAdvantages: rows,
    };
    await shared.run(KERNELS.scatterAdvantages, { everyRolloutCounts: this.#slots ? 0 : 1 }, rowCount, arrays);
    rowAdvantages.set(await shared.read(rows));
  }
}

/** The entries at some rows, in their order. */
function pack<T extends Float64Array | Uint32Array>(rows: T, order: Uint32Array): T {
  const packed = rows.slice(0, order.length) as T;
  for (let i = 0; i < order.length; i++) packed[i] = rows[order[i]];
  return packed;
}
