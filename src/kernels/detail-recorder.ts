/** Writes down what a computation knows on its way, for those who asked. */
import type { Estimator } from '../estimators/estimators.ts';
import { type Plan, rowAt } from '../plan/plan.ts';
import type { Tile } from '../plan/tiles.ts';
import type { Counted } from './counted.ts';
import { type DetailsToFill, emptyDetails } from './details.ts';
import type { KernelArray, Workspace } from './executor.ts';
import type { BatchMoments } from './stages/batch-step.ts';
import { divisorsOf } from './stages/divisors.ts';
import { Groups } from './stages/group-statistics.ts';
import type { NormalizedGroups } from './stages/normalize-groups.ts';

export class DetailRecorder {
  readonly details: DetailsToFill;
  readonly #plan: Plan;
  readonly #estimator: Estimator;
  readonly #pieceLength: number;

  constructor(plan: Plan, estimator: Estimator, rewardCount: number, pieceLength: number) {
    this.details = emptyDetails(plan, rewardCount);
    this.#plan = plan;
    this.#estimator = estimator;
    this.#pieceLength = pieceLength;
  }

  /** @param positions of the rows that stand for the rollouts of a tile */
  noteRepresentatives({ firstRollout }: Tile, positions: Uint32Array): void {
    for (let i = 0; i < positions.length; i++)
      this.details.representatives[firstRollout + i] = rowAt(this.#plan, positions[i]);
  }

  /** Statistics of a tile's groups by one reward, whatever the rule needs of them. */
  async noteGroups(
    workspace: Workspace,
    tile: Tile,
    counted: Counted,
    { advantages, references, centres, divisors, statuses }: NormalizedGroups,
    k: number,
  ): Promise<void> {
    const estimator = this.#estimator;
    const { firstGroup } = tile;
    const { groupOffsets } = counted;
    const noted = this.details.groups[k];
    const groups = new Groups(workspace, this.#pieceLength, groupOffsets, counted.values[k]);
    const plain = await groups.means(null, false);
    const squares = await groups.squares(plain.centres);
    const asDeviation = { measure: 'deviation', ddof: estimator.ddof, flatToo: true } as const;
    const scaled = await divisorsOf(workspace, groups, squares, plain.statuses, asDeviation);
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
    spread(tile, counted, await workspace.read(advantages), this.details.quotients[k]);
  }

  /** @param advantages of the tile's counted rollouts, before a step */
  async noteRollouts(
    workspace: Workspace,
    tile: Tile,
    counted: Counted,
    advantages: KernelArray<'f64'>,
  ): Promise<void> {
    const { details } = this;
    const { values, baselines } = counted;
    spread(tile, counted, new Uint8Array(values[0].length).fill(1), details.counted);
    for (const [k, own] of values.entries()) spread(tile, counted, await workspace.read(own), details.rewards[k]);
    spread(tile, counted, await workspace.read(advantages), details.beforeStep);
    if (!baselines) return;
    const recorded = details.recordedBaselines ?? new Float64Array(this.#plan.rolloutCount).fill(Number.NaN);
    spread(tile, counted, await workspace.read(baselines), recorded);
    details.recordedBaselines = recorded;
  }

  /**
   * @param stepped advantages of the counted rollouts of the batch
   * @param slots place of each rollout among them; null: all count
   */
  noteStep(stepped: Float64Array, moments: BatchMoments, slots: Uint32Array | null): void {
    const { details } = this;
    details.step = moments;
    details.afterStep = details.beforeStep.map((before, rollout) =>
      Number.isNaN(before) ? before : stepped[slots ? slots[rollout] : rollout],
    );
  }
}

/** Numbers of the counted rollouts of a tile to the places of their rollouts. */
function spread<T extends Float64Array | Uint8Array>(
  { firstRollout }: Tile,
  { rollouts }: Counted,
  from: T,
  to: T,
): void {
  for (let i = 0; i < from.length; i++) to[rollouts ? rollouts[i] : firstRollout + i] = from[i];
}
