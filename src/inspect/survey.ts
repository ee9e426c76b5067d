/** What is found in the batches of a file before anything is normalized, under the names of `rollnorm inspect --json`. */
import { surveySiblings } from '../estimators/sibling-survey.ts';
import { NO_ROW } from '../kernels/details.ts';
import type { Finding } from '../plan/hygiene.ts';
import type { TierFinding } from '../plan/tiers.ts';
import { isRemoved, KEYED_BY_INDEX, type SampleColumns, STATUSES, type Status, statusOf } from '../samples/columns.ts';
import { type IdCoder, NO_ID } from '../samples/ids.ts';
import { tokensOfRows } from '../samples/row-tokens.ts';
import type { Look } from './look.ts';
import { type Bin, SizeTally, ValueTally } from './tally.ts';

export interface Survey {
  readonly batches: number;
  readonly rows: number;
  readonly rollouts: number;
  readonly groups: number;
  /** Of the batch with the weakest tier: the tier that forms the groups, and what is found of all four. */
  readonly grouping: { readonly tier: number; readonly rule: string; readonly tiers: readonly TierFinding[] } | null;
  readonly fan_out: Sizes;
  readonly group_sizes: Sizes;
  readonly rewards: RewardSurvey;
  readonly success: SuccessSurvey | null;
  /** Null: not known, as the rewards allow no statistics. */
  readonly flat_groups: number | null;
  readonly singleton_groups: number | null;
  readonly siblings: {
    /** Rollouts of several rows. */
    readonly multi_row: number;
    readonly disagreeing: number;
    readonly doubtful_representatives: number | null;
    readonly examples: readonly SiblingExample[];
  };
  readonly ids: {
    readonly group_index: IdSurvey;
    readonly rollout_id: IdSurvey;
    /** Of rows without rollout_id. */
    readonly index: IdSurvey;
    /** Rows with neither rollout_id nor index. */
    readonly nameless: number;
    readonly merged_keys: KeySurvey;
    readonly repeated_keys: KeySurvey;
  };
  readonly tokens: ValueSurvey & { readonly known: boolean; readonly untrainable: number };
  readonly statuses: Partial<Record<Status, number>>;
  readonly unknown_statuses: readonly string[];
  readonly removed: number;
  /** Advantages that the file carries. */
  readonly recorded: ValueSurvey | null;
  readonly refusals: readonly string[];
  readonly warnings: readonly string[];
}

export interface ValueSurvey {
  readonly count: number;
  readonly min: number | null;
  readonly mean: number | null;
  readonly max: number | null;
}

export interface Sizes extends ValueSurvey {
  readonly histogram: readonly Bin[];
}

export interface RewardSurvey extends Sizes {
  readonly missing: number;
  readonly first_missing: { readonly place: string; readonly found: string } | null;
  readonly distinct: readonly { readonly value: number; readonly rows: number }[] | null;
}

/** How often a reward counts as a success; rows less rollouts is what fan-out makes of it. */
export interface SuccessSurvey {
  /** `reward = 1`, `reward >= 0.7` (of two values, the larger) or `reward > 0`. */
  readonly means: string;
  readonly by_row: Share;
  readonly by_rollout: Share | null;
}

export interface Share {
  readonly count: number;
  readonly of: number;
  readonly share: number;
}

export interface IdSurvey {
  readonly kind: 'integers' | 'strings' | 'joined' | null;
  readonly rows: number;
  readonly missing: number;
}

export interface KeySurvey {
  readonly count: number;
  readonly first: string | null;
}

export interface SiblingExample {
  readonly rollout: string;
  /** Which of several rewards, where each counts by itself. */
  readonly reward?: string;
  readonly rows: readonly { readonly place: string; readonly reward: number | null }[];
}

const EXAMPLES = 3;
const SIZE_BINS = 16;
const VALUE_BINS = 32;
const DISTINCT_LISTED = 16;

/** Adds up what is found in one batch after the other. */
export class Surveyor {
  #batches = 0;
  #rows = 0;
  #grouping: Survey['grouping'] = null;
  readonly #fanOut = new SizeTally();
  readonly #groupSizes = new SizeTally();
  readonly #rewards = new ValueTally();
  readonly #rolloutRewards = new ValueTally();
  #missing = 0;
  #firstMissing: RewardSurvey['first_missing'] = null;
  #isComplete = true;
  #flat = 0;
  #singletons = 0;
  #doubtful = 0;
  #multiRow = 0;
  #disagreeing = 0;
  readonly #examples: SiblingExample[] = [];
  readonly #groupIds = new IdTally();
  readonly #rolloutIds = new IdTally();
  readonly #indexes = new IdTally();
  #nameless = 0;
  readonly #merged = new KeyTally();
  readonly #repeated = new KeyTally();
  readonly #tokens = new ValueTally();
  #untrainable = 0;
  readonly #statuses = new Map<Status, number>();
  readonly #unknownStatuses = new Set<string>();
  #removed = 0;
  readonly #recorded = new ValueTally();
  readonly #refusals = new Set<string>();
  readonly #warnings = new Set<string>();

  /**
   * @param recorded advantages that the file carries
   * @param warnings of reading the batch
   * @param prefix before what names a row, where the rows of several files are added up
   */
  add(unnamed: Look, recorded: Float64Array | null, warnings: readonly string[], prefix = ''): void {
    const look = withPrefix(unnamed, prefix);
    const { columns, plan, tiers, asked, lenient, refusal } = look;
    this.#batches++;
    this.#rows += columns.rowCount;
    if (columns.rowCount > 0 && plan.tier > (this.#grouping?.tier ?? 0))
      this.#grouping = { tier: plan.tier, rule: tiers[plan.tier - 1].rule, tiers };
    for (let group = 0; group < plan.groupCount; group++)
      this.#groupSizes.add(plan.groupOffsets[group + 1] - plan.groupOffsets[group]);
    for (let rollout = 0; rollout < plan.rolloutCount; rollout++)
      this.#fanOut.add(plan.rowOffsets[rollout + 1] - plan.rowOffsets[rollout]);
    this.#addRewards(columns);
    this.#addSiblings(look);
    this.#addStatistics(look);
    this.#addIds(look);
    this.#addRows(columns);
    if (recorded) for (const value of recorded) if (Number.isFinite(value)) this.#recorded.add(value);
    if (refusal !== null) this.#refusals.add(prefix + refusal);
    // What is looked at without refusals has another policy than was asked for, which the refusal names.
    const { warnings: own = [], warning_codes: codes = [] } = (asked ?? lenient)?.report ?? {};
    const kept = asked ? own : own.filter((_, i) => codes[i] !== 'disagreement');
    for (const warning of [...warnings, ...kept]) this.#warnings.add(prefix + warning);
  }

  finish(): Survey {
    const complete = this.#isComplete;
    return {
      batches: this.#batches,
      rows: this.#rows,
      rollouts: this.#fanOut.count,
      groups: this.#groupSizes.count,
      grouping: this.#grouping,
      fan_out: sizesOf(this.#fanOut),
      group_sizes: sizesOf(this.#groupSizes),
      rewards: this.#rewardSurvey(),
      success: this.#success(),
      flat_groups: complete ? this.#flat : null,
      singleton_groups: complete ? this.#singletons : null,
      siblings: {
        multi_row: this.#multiRow,
        disagreeing: this.#disagreeing,
        doubtful_representatives: complete ? this.#doubtful : null,
        examples: this.#examples,
      },
      ids: {
        group_index: this.#groupIds.survey(this.#rows),
        rollout_id: this.#rolloutIds.survey(this.#rows),
        index: this.#indexes.survey(this.#rows - this.#rolloutIds.rows),
        nameless: this.#nameless,
        merged_keys: this.#merged.survey(),
        repeated_keys: this.#repeated.survey(),
      },
      tokens: { known: this.#tokens.count > 0, untrainable: this.#untrainable, ...valuesOf(this.#tokens) },
      statuses: Object.fromEntries(
        STATUSES.filter((s) => this.#statuses.has(s)).map((s) => [s, this.#statuses.get(s)]),
      ),
      unknown_statuses: [...this.#unknownStatuses],
      removed: this.#removed,
      recorded: this.#recorded.count > 0 ? valuesOf(this.#recorded) : null,
      refusals: [...this.#refusals],
      warnings: [...this.#warnings],
    };
  }

  #addRewards({ rewards, missingReward, place }: SampleColumns): void {
    for (const reward of rewards) {
      if (Number.isNaN(reward)) this.#missing++;
      else this.#rewards.add(reward);
    }
    if (missingReward) this.#firstMissing ??= { place: place(missingReward.row), found: missingReward.found };
  }

  #addSiblings({ plan, columns, perReward }: Look): void {
    const { multiRow, disagreeing, examples } = surveySiblings(plan, columns, { perReward, isMainstream: false });
    this.#multiRow += multiRow;
    this.#disagreeing += disagreeing;
    for (const { rollout, rows, rewards, reward } of examples) {
      if (this.#examples.length >= EXAMPLES) break;
      const named = rows.map((row, i) => ({ place: columns.place(row), reward: rewards[i] }));
      this.#examples.push({ rollout, ...(reward !== undefined && { reward }), rows: named });
    }
  }

  /** What depends on which row stands for a rollout. */
  #addStatistics({ plan, columns, lenient }: Look): void {
    if (!lenient?.details) {
      this.#isComplete = false;
      return;
    }
    const { report, details } = lenient;
    this.#flat += report.flat_groups;
    this.#singletons += report.singleton_groups;
    this.#doubtful += report.doubtful_representatives;
    for (let rollout = 0; rollout < plan.rolloutCount; rollout++) {
      if (details.counted[rollout] === 0) continue;
      const row = details.representatives[rollout];
      // The row's own, as some rules bound what they count.
      this.#rolloutRewards.add(row === NO_ROW ? sumOver(details.rewards, rollout) : columns.rewards[row]);
    }
  }

  #addIds({ plan, columns }: Look): void {
    const { groupCodes, rolloutCodes, groupIds, rolloutIds, flags, rowCount } = columns;
    for (let row = 0; row < rowCount; row++) {
      const group = groupCodes?.[row] ?? NO_ID;
      if (group !== NO_ID) this.#groupIds.add(groupIds, group);
      const code = rolloutCodes?.[row] ?? NO_ID;
      const byIndex = flags !== null && (flags[row] & KEYED_BY_INDEX) !== 0;
      if (code === NO_ID) this.#nameless++;
      else (byIndex ? this.#indexes : this.#rolloutIds).add(rolloutIds, code);
    }
    this.#merged.add(plan.hygiene.mergedKeys, columns);
    this.#repeated.add(plan.hygiene.repeatedKeys, columns);
  }

  #addRows(columns: SampleColumns): void {
    const { flags, rowCount, unknownStatuses } = columns;
    const tokens = tokensOfRows(columns);
    for (let row = 0; row < rowCount; row++) {
      const status = statusOf(flags, row);
      this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
      if (isRemoved(flags, row)) this.#removed++;
      if (tokens === null) continue;
      this.#tokens.add(tokens[row]);
      if (tokens[row] === 0) this.#untrainable++;
    }
    for (const text of unknownStatuses) this.#unknownStatuses.add(text);
  }

  #rewardSurvey(): RewardSurvey {
    const { distinct } = this.#rewards;
    return {
      ...valuesOf(this.#rewards),
      missing: this.#missing,
      first_missing: this.#firstMissing,
      distinct:
        distinct && distinct.length <= DISTINCT_LISTED ? distinct.map(([value, rows]) => ({ value, rows })) : null,
      histogram: this.#rewards.count > 0 ? this.#rewards.bins(VALUE_BINS) : [],
    };
  }

  #success(): SuccessSurvey | null {
    const rows = this.#rewards;
    if (rows.count === 0) return null;
    const values = rows.distinct;
    const binary = values?.every(([value]) => value === 0 || value === 1) ?? false;
    const least = binary ? 1 : values?.length === 2 ? values[1][0] : null;
    const means = least === null ? 'reward > 0' : binary ? 'reward = 1' : `reward >= ${least}`;
    const share = (tally: ValueTally): Share | null => {
      const count = least === null ? tally.positive : countFrom(tally, least);
      return count === null ? null : { count, of: tally.count, share: count / tally.count };
    };
    const byRollout = this.#isComplete && this.#rolloutRewards.count > 0 ? share(this.#rolloutRewards) : null;
    return { means, by_row: share(rows)!, by_rollout: byRollout };
  }
}

function withPrefix(look: Look, prefix: string): Look {
  if (prefix === '') return look;
  const { columns } = look;
  return { ...look, columns: { ...columns, place: (row) => prefix + columns.place(row) } };
}

const sumOver = (rewards: readonly Float64Array[], rollout: number) =>
  rewards.reduce((sum, own) => sum + own[rollout], 0);

/** Null where the values are too many to tell: rows with two rewards may have rollouts with many means of them. */
function countFrom(tally: ValueTally, least: number): number | null {
  return tally.distinct?.reduce((sum, [value, count]) => sum + (value >= least ? count : 0), 0) ?? null;
}

function sizesOf(tally: SizeTally): Sizes {
  const { count, total } = tally;
  if (count === 0) return { count, min: null, mean: null, max: null, histogram: [] };
  const histogram = tally.bins(SIZE_BINS);
  return { count, min: tally.smallest, mean: total / count, max: tally.largest, histogram };
}

function valuesOf(tally: ValueTally): ValueSurvey {
  const { count, mean } = tally;
  return count === 0
    ? { count, min: null, mean: null, max: null }
    : { count, min: tally.smallest, mean, max: tally.largest };
}

/** Rows with an id of one column, and what kind it is: a column has one kind. */
class IdTally {
  rows = 0;
  #kind: IdSurvey['kind'] = null;

  add(ids: IdCoder, code: number): void {
    if (this.rows++ === 0) this.#kind = kindOf(ids.describe(code));
  }

  survey(rowCount: number): IdSurvey {
    return { kind: this.#kind, rows: this.rows, missing: rowCount - this.rows };
  }
}

function kindOf(spelled: string): IdSurvey['kind'] {
  if (spelled.startsWith('"')) return 'strings';
  return spelled.startsWith('[') ? 'joined' : 'integers';
}

class KeyTally {
  #count = 0;
  #first: string | null = null;

  add({ count, row }: Finding, { rolloutIds, rolloutCodes, place }: SampleColumns): void {
    if (count > 0) this.#first ??= `${rolloutIds.describe(rolloutCodes![row])} at ${place(row)}`;
    this.#count += count;
  }

  survey(): KeySurvey {
    return { count: this.#count, first: this.#first };
  }
}
