/** Means, sums of squares and other numbers of each group, for whatever makes advantages of them. */
import { planReduction, type ReductionLevel } from '../../plan/reduction.ts';
import type { KernelArray, Workspace } from '../executor.ts';
import { KERNELS } from '../table.ts';
import { gatherRewards } from './select-representatives.ts';

/** Weights of the counted rollouts and their sums by group; both binary64. */
export interface Weights {
  readonly weights: KernelArray<'f64'>;
  readonly totals: KernelArray<'f64'>;
}

export interface GroupMeans {
  /** Mean of each group less its reference. */
  readonly centres: KernelArray<'f64'>;
  /** GROUP_STATUS. */
  readonly statuses: KernelArray<'u32'>;
}

/** The median of a group is the sum of the two, which may be no number of binary64. */
export interface Medians {
  readonly references: KernelArray<'f64'>;
  readonly centres: KernelArray<'f64'>;
}

/** The groups of some counted rewards, and the cuts of their sums. */
export class Groups {
  readonly count: number;
  readonly bounds: KernelArray<'u32'>;
  readonly levels: readonly ReductionLevel[];
  readonly values: KernelArray<'f64'>;
  readonly #workspace: Workspace;
  readonly #firsts: Uint32Array;
  #references: KernelArray<'f64'> | null = null;

  /**
   * @param offsets counted rollouts of each group; begins at 0
   * @param firsts place of the one of each group that the rest are shifted by
   */
  constructor(
    workspace: Workspace,
    pieceLength: number,
    offsets: Uint32Array,
    values: KernelArray<'f64'>,
    firsts: Uint32Array = offsets.subarray(0, -1),
  ) {
    this.#workspace = workspace;
    this.#firsts = firsts;
    this.count = offsets.length - 1;
    this.levels = planReduction(offsets, pieceLength);
    this.bounds = workspace.input('u32', offsets);
    this.values = values;
  }

  /** Each group's first counted reward, by which the rest are shifted. */
  async references(): Promise<KernelArray<'f64'>> {
    if (this.#references) return this.#references;
    const last = Math.max(0, this.values.length - 1);
    // A group without counted rollouts reads some other group's value; nothing is computed from it.
    const firsts = new Uint32Array(this.count);
    for (let group = 0; group < firsts.length; group++) firsts[group] = Math.min(this.#firsts[group], last);
    const rewards = this.values.length > 0 ? this.values : this.#workspace.input('f64', new Float64Array(1));
    const positions = this.#workspace.input('u32', firsts);
    const order = { rowsInOrder: 1, rowsByRollout: null, firstPosition: 0 } as const;
    this.#references = await gatherRewards(this.#workspace, order, rewards, positions);
    this.#workspace.release(positions);
    return this.#references;
  }

  /** The same number for every group. */
  fill(value: number): KernelArray<'f64'> {
    return this.#workspace.input('f64', new Float64Array(this.count).fill(value));
  }

  async means(weights: Weights | null, singleKeepsReward: boolean): Promise<GroupMeans> {
    const references = await this.references();
    const { sums, spreads } = await this.#sums(references, null, weights);
    const centres = this.#workspace.output('f64', this.count);
    const statuses = this.#workspace.output('u32', this.count);
    const parameters = { weighted: weights ? 1 : 0, singleKeepsReward: singleKeepsReward ? 1 : 0 };
    const arrays = { bounds: this.bounds, sums, spreads, references, totals: weights?.totals ?? null };
    await this.#workspace.run(KERNELS.groupMean, parameters, this.count, { ...arrays, centres, statuses });
    this.#workspace.release(sums, spreads);
    return { centres, statuses };
  }

  /** Per group the sum of (d - centre)^2, weighted if need be. */
  async squares(centres: KernelArray<'f64'>, weights: Weights | null = null): Promise<KernelArray<'f64'>> {
    const { sums, spreads } = await this.#sums(await this.references(), centres, weights);
    this.#workspace.release(spreads);
    return sums;
  }

  /** Median of each group, as a reward of it and the rest. */
  async medians(): Promise<Medians> {
    const { middles, medians } = await this.#medians(null);
    return { references: middles, centres: medians };
  }

  /** Median of the distances from the median. */
  async medianDistances(): Promise<KernelArray<'f64'>> {
    const { middles, medians } = await this.#medians(await this.medians());
    this.#workspace.release(middles);
    return medians;
  }

  async #medians(from: Medians | null) {
    const output = () => this.#workspace.output('f64', this.count);
    const outputs = { middles: output(), medians: output() };
    const { references, centres } = from ?? { references: null, centres: null };
    const arrays = { bounds: this.bounds, values: this.values, references, centres, ...outputs };
    await this.#workspace.run(KERNELS.groupMedian, { distances: from ? 1 : 0 }, this.count, arrays);
    return outputs;
  }

  /** The sum of the rewards as they are. */
  async totals(): Promise<KernelArray<'f64'>> {
    const sums = this.#workspace.output('f64', this.count);
    await this.#workspace.run(KERNELS.groupTotal, {}, this.count, { bounds: this.bounds, values: this.values, sums });
    return sums;
  }

  /** Per group the tree sum of w d, or with `centres` of w (d - centre)^2, and whether any d is not zero. */
  async #sums(references: KernelArray<'f64'>, centres: KernelArray<'f64'> | null, weights: Weights | null) {
    const workspace = this.#workspace;
    const [lowest, ...upper] = this.levels;
    const outputs = (itemCount: number) => ({
      sums: workspace.output('f64', itemCount),
      spreads: workspace.output('u32', itemCount),
    });
    const bounds = workspace.input('u32', lowest.elementOffsets);
    const itemSegments = lowest.itemSegments && workspace.input('u32', lowest.itemSegments);
    let below = outputs(lowest.itemCount);
    const parameters = { wholeSegments: itemSegments ? 0 : 1, squared: centres ? 1 : 0, weighted: weights ? 1 : 0 };
    const inputs = {
      bounds,
      itemSegments,
      values: this.values,
      references,
      centres,
      weights: weights?.weights ?? null,
    };
    await workspace.run(KERNELS.sumDeviations, parameters, lowest.itemCount, { ...inputs, ...below });
    workspace.release(bounds, itemSegments);
    for (const { itemCount, elementOffsets } of upper) {
      const above = outputs(itemCount);
      const pieces = workspace.input('u32', elementOffsets);
      const partials = { partialSums: below.sums, partialSpreads: below.spreads };
      await workspace.run(KERNELS.foldSums, {}, itemCount, { bounds: pieces, ...partials, ...above });
      workspace.release(pieces, below.sums, below.spreads);
      below = above;
    }
    return below;
  }
}
