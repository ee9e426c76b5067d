/** Two advantages for each row of a batch: what changes between them, by row, rollout and prompt group. */
import { type Plan, rowAt } from '../plan/plan.ts';
import { Largest } from './largest.ts';

/** Of these, so many. */
export interface Counts {
  readonly rows: number;
  readonly rollouts: number;
  readonly groups: number;
}

/** The row of a rollout that changes most. */
export interface RolloutChange {
  readonly rollout: number;
  readonly row: number;
  /** Absolute. */
  readonly difference: number;
}

export interface GroupChange {
  readonly group: number;
  /** Rows that are compared, and of them those that change. */
  readonly rows: number;
  readonly changedRows: number;
  /** Of the absolute differences of the rows that are compared. */
  readonly mean: number;
  readonly largest: number;
}

export interface Comparison {
  readonly compared: Counts;
  readonly changed: Counts;
  /** Rows that have no second value. */
  readonly missing: number;
  /** Rows whose second value is infinite, NaN, or so large that binary32 has no place for it: they are compared to nothing. */
  readonly notFinite: number;
  /** Rows that differ and do not count as changed. */
  readonly unchanged: number;
  readonly signs: Readonly<Record<SignChange, Omit<Counts, 'groups'>>>;
  /** Absolute differences of the rows that change, in no particular order. */
  readonly differences: Float64Array;
  /** Largest absolute difference of all rows that are compared. */
  readonly largest: number;
  readonly rollouts: readonly RolloutChange[];
  readonly groups: readonly GroupChange[];
}

/** `flipped`: from one sign to the other. A zero has none. */
export const SIGN_CHANGES = ['flipped', 'from_zero', 'to_zero'] as const;
export type SignChange = (typeof SIGN_CHANGES)[number];

export interface CompareOptions {
  /** How many rollouts and groups are listed. */
  readonly top: number;
  /** Whether two values that differ are a change. Default: always. */
  readonly isChange?: (before: number, after: number) => boolean;
}

/** @param plan by which rollouts and groups are counted. @param after NaN: the row has no value there */
export function compare(plan: Plan, before: Float32Array, after: Float32Array, options: CompareOptions): Comparison {
  const comparer = new Comparer(plan, before, after, options);
  for (let group = 0; group < plan.groupCount; group++) comparer.addGroup(group);
  return comparer.finish();
}

/** Goes through the rows group by group and rollout by rollout, and counts. */
class Comparer {
  readonly #plan: Plan;
  readonly #before: Float32Array;
  readonly #after: Float32Array;
  readonly #isChange: (before: number, after: number) => boolean;
  readonly #compared = { rows: 0, rollouts: 0, groups: 0 };
  readonly #changed = { rows: 0, rollouts: 0, groups: 0 };
  readonly #signs = eachSign(() => ({ rows: 0, rollouts: 0 }));
  readonly #lastRollouts = eachSign(() => -1);
  readonly #differences: Float64Array;
  readonly #rollouts: Largest<RolloutChange>;
  readonly #groups: Largest<GroupChange>;
  #missing = 0;
  #notFinite = 0;
  #unchanged = 0;
  #largest = 0;
  /** Of the group at hand. */
  #sum = 0;
  #largestOfGroup = 0;

  constructor(plan: Plan, before: Float32Array, after: Float32Array, { top, isChange = () => true }: CompareOptions) {
    this.#plan = plan;
    this.#before = before;
    this.#after = after;
    this.#isChange = isChange;
    this.#differences = new Float64Array(plan.rowCount);
    this.#rollouts = new Largest(top);
    this.#groups = new Largest(top);
  }

  addGroup(group: number): void {
    const { groupOffsets } = this.#plan;
    const rowsBefore = this.#compared.rows;
    const changedBefore = this.#changed.rows;
    this.#sum = 0;
    this.#largestOfGroup = 0;
    for (let rollout = groupOffsets[group]; rollout < groupOffsets[group + 1]; rollout++) this.#addRollout(rollout);
    const rows = this.#compared.rows - rowsBefore;
    const changedRows = this.#changed.rows - changedBefore;
    if (rows > 0) this.#compared.groups++;
    if (changedRows === 0) return;
    this.#changed.groups++;
    const mean = this.#sum / rows;
    if (this.#groups.takes(mean))
      this.#groups.offer(mean, { group, rows, changedRows, mean, largest: this.#largestOfGroup });
  }

  finish(): Comparison {
    return {
      compared: this.#compared,
      changed: this.#changed,
      missing: this.#missing,
      notFinite: this.#notFinite,
      unchanged: this.#unchanged,
      signs: this.#signs,
      differences: this.#differences.slice(0, this.#changed.rows),
      largest: this.#largest,
      rollouts: this.#rollouts.list(),
      groups: this.#groups.list(),
    };
  }

  #addRollout(rollout: number): void {
    const { rowOffsets } = this.#plan;
    const comparedBefore = this.#compared.rows;
    let mostChanged = -1;
    let most = 0;
    for (let position = rowOffsets[rollout]; position < rowOffsets[rollout + 1]; position++) {
      const row = rowAt(this.#plan, position);
      const difference = this.#addRow(row, rollout);
      if (difference <= most) continue;
      most = difference;
      mostChanged = row;
    }
    if (this.#compared.rows > comparedBefore) this.#compared.rollouts++;
    if (mostChanged < 0) return;
    this.#changed.rollouts++;
    if (most > this.#largestOfGroup) this.#largestOfGroup = most;
    if (this.#rollouts.takes(most)) this.#rollouts.offer(most, { rollout, row: mostChanged, difference: most });
  }

  /** The absolute difference where the row changes, else 0. */
  #addRow(row: number, rollout: number): number {
    const before = this.#before[row];
    const after = this.#after[row];
    if (!Number.isFinite(after)) {
      if (Number.isNaN(after)) this.#missing++;
      else this.#notFinite++;
      return 0;
    }
    this.#compared.rows++;
    if (before === after) return 0;
    const difference = Math.abs(after - before);
    this.#sum += difference;
    if (difference > this.#largest) this.#largest = difference;
    if (!this.#isChange(before, after)) {
      this.#unchanged++;
      return 0;
    }
    this.#differences[this.#changed.rows++] = difference;
    this.#addSigns(before, after, rollout);
    return difference;
  }

  #addSigns(before: number, after: number, rollout: number): void {
    const sign = signChange(before, after);
    if (sign === null) return;
    this.#signs[sign].rows++;
    if (this.#lastRollouts[sign] !== rollout) this.#signs[sign].rollouts++;
    this.#lastRollouts[sign] = rollout;
  }
}

function signChange(before: number, after: number): SignChange | null {
  if (before === 0) return 'from_zero';
  if (after === 0) return 'to_zero';
  return before > 0 === after > 0 ? null : 'flipped';
}

function eachSign<T>(make: () => T): Record<SignChange, T> {
  return { flipped: make(), from_zero: make(), to_zero: make() };
}
