/** Which rollouts are counted, and under which reason the others are reported. */
import { type Plan, rowAt } from '../plan/plan.ts';
import { isRemoved, type SampleColumns, statusOf } from '../samples/columns.ts';
import type { ExclusionReason, Policies } from './policies.ts';

/** Under these no single row stands for the rollout: it is left out when all its siblings are. */
const WITHOUT_CHOSEN_ROW = ['mean', 'sum', 'shared'];

/** Decides for the rollouts of one batch; counts as it goes. */
export class Exclusion {
  readonly counts: Partial<Record<ExclusionReason, number>> = {};
  readonly #plan: Plan;
  readonly #columns: SampleColumns;
  readonly #policies: Policies;
  readonly #tokens: Uint32Array | null;

  /** @param tokens trainable tokens per row, or null where they are unknown (then nothing is untrainable) */
  constructor(plan: Plan, columns: SampleColumns, policies: Policies, tokens: Uint32Array | null) {
    this.#plan = plan;
    this.#columns = columns;
    this.#policies = policies;
    this.#tokens = tokens;
    for (const reason of policies.exclude) this.counts[reason] = 0;
  }

  /** Whether the rollout is counted. @param representative position of the row that was chosen for it */
  isCounted(rollout: number, representative: number): boolean {
    const reason = this.reasonFor(rollout, rowAt(this.#plan, representative));
    if (reason === null) return true;
    this.counts[reason] = (this.counts[reason] ?? 0) + 1;
    return false;
  }

  /** Why the rollout is left out; null: it is counted. @param representative row that was chosen for it */
  reasonFor(rollout: number, representative: number): ExclusionReason | null {
    return WITHOUT_CHOSEN_ROW.includes(this.#policies.siblings)
      ? this.#reasonOfAll(rollout)
      : this.#reasonOf(representative);
  }

  #reasonOfAll(rollout: number): ExclusionReason | null {
    const { rowOffsets } = this.#plan;
    let earliest: ExclusionReason | null = null;
    for (let position = rowOffsets[rollout]; position < rowOffsets[rollout + 1]; position++) {
      const reason = this.#reasonOf(rowAt(this.#plan, position));
      if (reason === null) return null;
      const { exclude } = this.#policies;
      if (earliest === null || exclude.indexOf(reason) < exclude.indexOf(earliest)) earliest = reason;
    }
    return earliest;
  }

  #reasonOf(row: number): ExclusionReason | null {
    return this.#policies.exclude.find((reason) => this.#applies(reason, row)) ?? null;
  }

  #applies(reason: ExclusionReason, row: number): boolean {
    const { flags, rewards } = this.#columns;
    if (reason === 'removed') return isRemoved(flags, row);
    if (reason === 'untrainable') return this.#tokens !== null && this.#tokens[row] === 0;
    if (reason === 'missing-reward') return Number.isNaN(rewards[row]);
    return statusOf(flags, row) === reason;
  }
}
