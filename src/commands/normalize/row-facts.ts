/** What a computation knows of every row beside its advantage, as columns, and which rows are kept. */
import type { Estimator } from '../../estimators/estimators.ts';
import { zeroesFlatGroups } from '../../estimators/rule.ts';
import type { ExtraColumn } from '../../io/extra-columns.ts';
import { GROUP_STATUS } from '../../kernels/codes.ts';
import type { Details } from '../../kernels/details.ts';
import { type Plan, rowAt } from '../../plan/plan.ts';
import type { SampleColumns } from '../../samples/columns.ts';
import type { DropReason, EmitField, RowWishes } from './row-wishes.ts';

/** Rows that were left out, each under one reason. */
export type Dropped = Readonly<Record<DropReason, number>>;

/** Collects batch after batch; arrays are as long as all of them together, and only those that are wanted are there. */
export class RowFacts {
  /** 0 for rows that are left out; null: none is to be. */
  readonly keep: Uint8Array | null;
  readonly #wishes: RowWishes;
  readonly #tokens: Uint32Array | null;
  readonly #rowCount: number;
  readonly #groups: Uint32Array | null;
  readonly #rollouts: Uint32Array | null;
  readonly #representatives: Uint8Array | null;
  /** By reward. */
  readonly #means: readonly Float64Array[];
  readonly #deviations: readonly Float64Array[];
  readonly #dropped = { flat: 0, excluded: 0 };

  constructor(wishes: RowWishes, { rowCount, fixedTokens }: SampleColumns) {
    const { emit, drop, rewardSuffixes } = wishes;
    const wanted = <T>(field: EmitField, make: () => T) => (emit.includes(field) ? make() : null);
    const numbers = () => rewardSuffixes.map(() => new Float64Array(rowCount));
    this.#wishes = wishes;
    this.#rowCount = rowCount;
    this.#tokens = fixedTokens;
    this.#groups = wanted('group', () => new Uint32Array(rowCount));
    this.#rollouts = wanted('rollout', () => new Uint32Array(rowCount));
    this.#representatives = wanted('representative', () => new Uint8Array(rowCount));
    this.#means = wanted('mean', numbers) ?? [];
    this.#deviations = wanted('std', numbers) ?? [];
    this.keep = drop.length > 0 ? new Uint8Array(rowCount).fill(1) : null;
  }

  /** @param rows of all batches for each row of this one; null: they are the same. */
  add(plan: Plan, details: Details | null, estimator: Estimator, rows: Uint32Array | null): void {
    for (let group = 0; group < plan.groupCount; group++) {
      const isFlat = details !== null && this.keep !== null && isFlatGroup(plan, details, estimator, group);
      for (let rollout = plan.groupOffsets[group]; rollout < plan.groupOffsets[group + 1]; rollout++) {
        const dropped = this.#reasonToDrop(details?.counted[rollout] !== 0, isFlat);
        for (let position = plan.rowOffsets[rollout]; position < plan.rowOffsets[rollout + 1]; position++) {
          const own = rowAt(plan, position);
          const row = rows === null ? own : rows[own];
          if (this.#groups) this.#groups[row] = group + 1;
          if (this.#rollouts) this.#rollouts[row] = rollout + 1;
          if (this.#representatives && details)
            this.#representatives[row] = Number(details.representatives[rollout] === own);
          if (details) this.#noteStatistics(details, group, row);
          if (dropped) this.#drop(row, dropped);
        }
      }
    }
  }

  /** The columns that are wanted, in their order. */
  columns(): ExtraColumn[] {
    return this.#wishes.emit.flatMap((field) => this.#columnsOf(field));
  }

  /** Null where nothing was to be left out. */
  get dropped(): Dropped | null {
    return this.keep && this.#dropped;
  }

  #noteStatistics({ groups }: Details, group: number, row: number): void {
    for (let k = 0; k < this.#means.length; k++) this.#means[k][row] = groups[k].means[group];
    for (let k = 0; k < this.#deviations.length; k++) this.#deviations[k][row] = groups[k].deviations[group];
  }

  #reasonToDrop(isCounted: boolean, isFlat: boolean): DropReason | null {
    const { drop } = this.#wishes;
    if (!isCounted && drop.includes('excluded')) return 'excluded';
    return isFlat && drop.includes('flat') ? 'flat' : null;
  }

  #drop(row: number, reason: DropReason): void {
    this.keep![row] = 0;
    this.#dropped[reason]++;
  }

  #columnsOf(field: EmitField): ExtraColumn[] {
    const whole = (values: Uint32Array | null): ExtraColumn[] => [
      { name: field, kind: 'int64', nullable: false, values: { kind: 'whole', values: values!, present: null } },
    ];
    switch (field) {
      case 'group':
        return whole(this.#groups);
      case 'rollout':
        return whole(this.#rollouts);
      case 'tokens':
        return [this.#tokensColumn()];
      case 'representative': {
        const values = { kind: 'bool', values: this.#representatives!, present: null } as const;
        return [{ name: field, kind: 'bool', nullable: false, values }];
      }
      default: {
        const numbers = field === 'mean' ? this.#means : this.#deviations;
        return numbers.map((values, k) => ({
          name: field + this.#wishes.rewardSuffixes[k],
          kind: 'double',
          nullable: true,
          values: { kind: 'double', values, present: 'not NaN' },
        }));
      }
    }
  }

  /** Where no row of the batch says how many it has, none is known. */
  #tokensColumn(): ExtraColumn {
    const present = this.#tokens ? null : new Uint8Array(this.#rowCount);
    const values = this.#tokens ?? new Uint32Array(this.#rowCount);
    return { name: 'tokens', kind: 'int64', nullable: true, values: { kind: 'whole', values, present } };
  }
}

/** Whether a group's advantages are 0, before a step over the batch, because its counted rewards are equal or there is one. */
function isFlatGroup(plan: Plan, { counted, groups }: Details, estimator: Estimator, group: number): boolean {
  let count = 0;
  for (let rollout = plan.groupOffsets[group]; rollout < plan.groupOffsets[group + 1]; rollout++)
    count += counted[rollout];
  if (count === 0 || !zeroesFlatGroups(estimator)) return false;
  if (count === 1) return estimator.singleton === 'zero';
  return groups.every(({ statuses }) => statuses[group] === GROUP_STATUS.flat);
}
