/** Rows to prompt groups: the four tiers, first match wins. */
import { InputError, UsageError } from '../errors.ts';
import { rowsOfSizes } from '../samples/group-sizes.ts';
import { growableU32 } from '../samples/growable.ts';
import { NO_ID } from '../samples/ids.ts';
import { bucketOffsets, stableOrder } from './bucket-sort.ts';
import { type CodeTable, codeTableFor } from './code-table.ts';

/** How the groups were found, in the order in which the ways are tried. */
export const TIERS = ['prompt_group_sizes', 'group_index', 'fixed_layout', 'single_group'] as const;
export type Tier = 1 | 2 | 3 | 4;

export interface GroupingOptions {
  /** Tier 1: contiguous slices of these many rows; zeros are skipped. */
  readonly promptGroupSizes?: readonly number[] | undefined;
  /** Tier 3: slices of nSamplesPerPrompt rows, where the row count is the product of the two. */
  readonly nSamplesPerPrompt?: number | undefined;
  readonly rolloutBatchSize?: number | undefined;
  /** Refuse tiers 3 and 4. */
  readonly strict?: boolean | undefined;
  /** Pass over tier 2, as frameworks do that reshape rows by their position. */
  readonly byPosition?: boolean | undefined;
}

/** Rows (from 0) without group_index. */
export interface UngroupedRows {
  readonly count: number;
  readonly first: readonly number[];
}

const NONE_UNGROUPED: UngroupedRows = { count: 0, first: [] };

/** Groups over rows. Group g owns the entries [rowOffsets[g], rowOffsets[g + 1]) of rowsByGroup. */
export interface RowGroups {
  readonly tier: Tier;
  /** Rows without group_index, where that decided the tier; the first few of them. */
  readonly ungrouped: UngroupedRows;
  readonly groupCount: number;
  /** Length groupCount + 1. */
  readonly rowOffsets: Uint32Array;
  /** Rows, groups in first-seen order and rows of a group in row order; null: the rows lie so already. */
  readonly rowsByGroup: Uint32Array | null;
}

/**
 * Groups the rows of a batch.
 * @param groupCodes code of group_index per row, or NO_ID; null: no row has one
 * @throws UsageError on sizes that are no counts; InputError where the sizes do not sum to the row count, or `strict` meets a row without group_index
 */
export function groupRows(
  groupCodes: Uint32Array | null,
  rowCount: number,
  options: GroupingOptions,
  place: (row: number) => string,
): RowGroups {
  requireCounts(options);
  if (options.promptGroupSizes) return slicesOfSizes(options.promptGroupSizes, rowCount);
  const ungrouped = options.byPosition ? NONE_UNGROUPED : rowsWithout(groupCodes, rowCount);
  if (ungrouped.count === 0 && (!options.byPosition || rowCount === 0)) {
    const empty = {
      tier: 2,
      ungrouped: NONE_UNGROUPED,
      groupCount: 0,
      rowOffsets: new Uint32Array(1),
      rowsByGroup: null,
    } as const;
    return groupCodes === null || rowCount === 0 ? empty : groupsOfCodes(groupCodes.subarray(0, rowCount));
  }
  if (options.strict) throw new InputError(strictRefusal(ungrouped, place));
  const { nSamplesPerPrompt: samples, rolloutBatchSize: prompts } = options;
  if (samples !== undefined && prompts !== undefined && samples * prompts === rowCount) {
    return { ...contiguous(Array.from({ length: prompts }, () => samples)), tier: 3, ungrouped };
  }
  return { ...contiguous([rowCount]), tier: 4, ungrouped };
}

function requireCounts({ promptGroupSizes = [], nSamplesPerPrompt = 0, rolloutBatchSize = 0 }: GroupingOptions): void {
  const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0;
  for (const size of promptGroupSizes)
    if (!isCount(size)) throw new UsageError(`a prompt group size must be a whole number >= 0, got ${size}`);
  for (const [name, value] of Object.entries({ nSamplesPerPrompt, rolloutBatchSize })) {
    if (!isCount(value)) throw new UsageError(`${name} must be a whole number >= 0, got ${value}`);
  }
}

function slicesOfSizes(sizes: readonly number[], rowCount: number): RowGroups {
  const total = rowsOfSizes(sizes);
  if (total !== rowCount) {
    throw new InputError(`prompt group sizes sum to ${total} but the batch has ${rowCount} rows`);
  }
  return { ...contiguous(sizes.filter((size) => size > 0)), tier: 1, ungrouped: NONE_UNGROUPED };
}

function contiguous(sizes: number[]): Omit<RowGroups, 'tier' | 'ungrouped'> {
  const rowOffsets = new Uint32Array(sizes.length + 1);
  for (let group = 0; group < sizes.length; group++) rowOffsets[group + 1] = rowOffsets[group] + sizes[group];
  return { groupCount: sizes.length, rowOffsets, rowsByGroup: null };
}

const ROWS_NAMED = 5;

/** @param codes of group_index by row; null: no row has one */
export function rowsWithout(codes: Uint32Array | null, rowCount: number): UngroupedRows {
  const first: number[] = [];
  if (codes !== null && !codes.subarray(0, rowCount).includes(NO_ID)) return NONE_UNGROUPED;
  let count = codes === null ? rowCount : 0;
  if (codes === null) for (let row = 0; row < Math.min(rowCount, ROWS_NAMED); row++) first.push(row);
  else {
    for (let row = 0; row < rowCount; row++) {
      if (codes[row] !== NO_ID) continue;
      if (count++ < ROWS_NAMED) first.push(row);
    }
  }
  return { count, first };
}

function strictRefusal(ungrouped: UngroupedRows, place: (row: number) => string): string {
  return `strict grouping needs group_index on every row; it is missing on ${describeUngrouped(ungrouped, place)}`;
}

/** `line 3, line 4 and 7 more`. */
export function describeUngrouped({ count, first }: UngroupedRows, place: (row: number) => string): string {
  const more = count > first.length ? ` and ${count - first.length} more` : '';
  return first.map(place).join(', ') + more;
}

/** Equal codes are one group, contiguous or not. A run of equal codes costs one compare a row. */
function groupsOfCodes(codes: Uint32Array): RowGroups {
  const table = codeTableFor(codes, NO_ID);
  const offsets = growableU32();
  for (let row = 0; row < codes.length; ) {
    const code = codes[row];
    if (table.get(code) >= 0) return scatteredGroups(codes, table, offsets.view(), row);
    table.set(code, offsets.length);
    offsets.push(row);
    do row++;
    while (row < codes.length && codes[row] === code);
  }
  offsets.push(codes.length);
  return {
    tier: 2,
    ungrouped: NONE_UNGROUPED,
    groupCount: offsets.length - 1,
    rowOffsets: offsets.view().slice(),
    rowsByGroup: null,
  };
}

/** Goes on from `from`, the first row of a run whose group was closed before: rows are apart, so they are sorted by group. */
function scatteredGroups(codes: Uint32Array, table: CodeTable, starts: Uint32Array, from: number): RowGroups {
  const rowGroup = new Uint32Array(codes.length);
  let groupCount = starts.length;
  for (let group = 0; group < groupCount; group++) rowGroup.fill(group, starts[group], starts[group + 1] ?? from);
  for (let row = from; row < codes.length; ) {
    const code = codes[row];
    let group = table.get(code);
    if (group < 0) {
      group = groupCount++;
      table.set(code, group);
    }
    do rowGroup[row++] = group;
    while (row < codes.length && codes[row] === code);
  }
  const rowOffsets = bucketOffsets(rowGroup, groupCount);
  return { tier: 2, ungrouped: NONE_UNGROUPED, groupCount, rowOffsets, rowsByGroup: stableOrder(rowGroup, rowOffsets) };
}
