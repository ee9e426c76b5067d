/** Rows of each prompt group to rollouts, numbered group by group in first-seen order. */
import { gatherWords } from '../samples/gather.ts';
import { NO_ID } from '../samples/ids.ts';
import type { RowGroups } from './groups.ts';
import { KeyTable } from './key-table.ts';

/** Rollouts over rows. A position is a place in the order rollout by rollout, rows of a rollout in row order. */
export interface RowRollouts {
  readonly rolloutCount: number;
  /** The rollouts of group g are [groupOffsets[g], groupOffsets[g + 1]); length groupCount + 1. */
  readonly groupOffsets: Uint32Array;
  /** The rows of rollout r stand at positions [rowOffsets[r], rowOffsets[r + 1]); length rolloutCount + 1. */
  readonly rowOffsets: Uint32Array;
  /** Row at each position; null: position and row are the same. */
  readonly rowsByRollout: Uint32Array | null;
  /** Rollout of each row. */
  readonly rowRollout: Uint32Array;
}

/** Rollouts, and the code that each of them was found by. */
export interface FoundRollouts {
  readonly rollouts: RowRollouts;
  /** Length rolloutCount; null: rows had no codes. */
  readonly keys: Uint32Array | null;
}

/**
 * Finds the rollouts: rows of one group with the same code are one; a row with NO_ID is one by itself.
 * @param rolloutCodes code per row, or null: every row is a rollout
 */
export function findRollouts(groups: RowGroups, rolloutCodes: Uint32Array | null, rowCount: number): FoundRollouts {
  if (rolloutCodes === null) return { rollouts: everyRow(groups, rowCount), keys: null };
  const finder = new RolloutFinder(groups, rolloutCodes, rowCount);
  for (let group = 0; group < groups.groupCount; group++) finder.addGroup(group);
  return finder.finish();
}

function everyRow({ rowOffsets: groupOffsets, rowsByGroup }: RowGroups, rowCount: number): RowRollouts {
  const rowRollout = new Uint32Array(rowCount);
  for (let position = 0; position < rowCount; position++)
    rowRollout[rowsByGroup === null ? position : rowsByGroup[position]] = position;
  const rowOffsets = new Uint32Array(rowCount + 1);
  for (let position = 0; position <= rowCount; position++) rowOffsets[position] = position;
  return { rolloutCount: rowCount, groupOffsets, rowOffsets, rowsByRollout: rowsByGroup, rowRollout };
}

/** Codes of rows that lie anywhere are looked up for about this many rows at a time. */
const ROWS_AT_ONCE = 1 << 13;

/** Works on one group at a time, so that all but its rows' own entries stay in cache however the rows are shuffled. */
class RolloutFinder {
  readonly #groups: RowGroups;
  readonly #codes: Uint32Array;
  readonly #groupOffsets: Uint32Array;
  // As long as there may be rollouts; a system gives memory only to the part that is written.
  readonly #rowOffsets: Uint32Array;
  readonly #keys: Uint32Array;
  readonly #rowRollout: Uint32Array;
  readonly #table = new KeyTable();
  /** Codes at the places from `#windowStart` of the order group by group. */
  #window: Uint32Array;
  #windowStart = 0;
  #windowEnd = 0;
  /** Rollout of each place of a group. */
  #assigned = new Uint32Array(64);
  /** Position at which the next row of each rollout of a group goes. */
  #places = new Uint32Array(64);
  #rowsByRollout: Uint32Array | null = null;
  #rolloutCount = 0;

  constructor(groups: RowGroups, codes: Uint32Array, rowCount: number) {
    this.#groups = groups;
    this.#codes = codes;
    this.#groupOffsets = new Uint32Array(groups.groupCount + 1);
    this.#rowOffsets = new Uint32Array(rowCount + 1);
    this.#keys = new Uint32Array(rowCount);
    this.#rowRollout = new Uint32Array(rowCount);
    this.#window = codes;
    if (groups.rowsByGroup === null) this.#windowEnd = rowCount;
    else this.#rowsByRollout = new Uint32Array(rowCount);
  }

  addGroup(group: number): void {
    const start = this.#groups.rowOffsets[group];
    const end = this.#groups.rowOffsets[group + 1];
    const first = this.#rolloutCount;
    if (end > this.#windowEnd) this.#moveWindow(start, end);
    if (this.#assigned.length < end - start) this.#assigned = new Uint32Array((end - start) * 2);
    const inOrder = this.#assignRollouts(start, end);
    for (let rollout = first, position = start; rollout < this.#rolloutCount; rollout++) {
      position += this.#rowOffsets[rollout + 1];
      this.#rowOffsets[rollout + 1] = position;
    }
    if (!inOrder && this.#rowsByRollout === null) this.#rowsByRollout = ascending(this.#rowRollout.length, start);
    if (this.#rowsByRollout !== null) this.#placeRows(this.#rowsByRollout, start, end, first);
    else for (let row = start; row < end; row++) this.#rowRollout[row] = this.#assigned[row - start];
    this.#groupOffsets[group + 1] = this.#rolloutCount;
  }

  finish(): FoundRollouts {
    const rolloutCount = this.#rolloutCount;
    return {
      keys: this.#keys.subarray(0, rolloutCount),
      rollouts: {
        rolloutCount,
        groupOffsets: this.#groupOffsets,
        rowOffsets: this.#rowOffsets.subarray(0, rolloutCount + 1),
        rowsByRollout: this.#rowsByRollout,
        rowRollout: this.#rowRollout,
      },
    };
  }

  #moveWindow(start: number, end: number): void {
    const rows = this.#groups.rowsByGroup!;
    this.#windowStart = start;
    this.#windowEnd = Math.min(rows.length, Math.max(end, start + ROWS_AT_ONCE));
    const length = this.#windowEnd - start;
    const isLarge = this.#window !== this.#codes && this.#window.length >= length;
    if (!isLarge) this.#window = new Uint32Array(length);
    gatherWords(this.#codes, rows.subarray(start, this.#windowEnd), this.#window);
  }

  /** Numbers the rollouts of a group's rows and counts their rows; false where the rows of one are apart. */
  #assignRollouts(start: number, end: number): boolean {
    const codes = this.#window;
    const base = this.#windowStart;
    const keys = this.#keys;
    const assigned = this.#assigned;
    const rowCounts = this.#rowOffsets;
    const first = this.#rolloutCount;
    let count = first;
    let highest = -1;
    let isListed = false;
    let inOrder = true;
    for (let at = start; at < end; ) {
      const code = codes[at - base];
      let rollout = count;
      if (code !== NO_ID) {
        // Codes that ascend, as those of a counter do, are new without a look into the table.
        if (code > highest && !isListed) highest = code;
        else {
          if (!isListed) this.#listKeys(first, count, end - start);
          isListed = true;
          rollout = this.#table.findOrAdd(code, count);
        }
      }
      if (rollout === count) keys[count++] = code;
      else inOrder = false;
      const runStart = at;
      do assigned[at++ - start] = rollout;
      while (at < end && codes[at - base] === code && code !== NO_ID);
      rowCounts[rollout + 1] += at - runStart;
    }
    this.#rolloutCount = count;
    return inOrder;
  }

  /** Begins the table with the keys that a group has so far. */
  #listKeys(first: number, end: number, rowCount: number): void {
    this.#table.begin(rowCount);
    for (let rollout = first; rollout < end; rollout++)
      if (this.#keys[rollout] !== NO_ID) this.#table.findOrAdd(this.#keys[rollout], rollout);
  }

  /** Brings the rows of each rollout of a group together, in row order. */
  #placeRows(rowsByRollout: Uint32Array, start: number, end: number, first: number): void {
    const { rowsByGroup } = this.#groups;
    const assigned = this.#assigned;
    const rowRollout = this.#rowRollout;
    if (this.#places.length < this.#rolloutCount - first) this.#places = new Uint32Array(assigned.length);
    const places = this.#places;
    for (let rollout = first; rollout < this.#rolloutCount; rollout++)
      places[rollout - first] = this.#rowOffsets[rollout];
    for (let at = start; at < end; at++) {
      const row = rowsByGroup === null ? at : rowsByGroup[at];
      const rollout = assigned[at - start];
      rowRollout[row] = rollout;
      rowsByRollout[places[rollout - first]++] = row;
    }
  }
}

/** An order in which the first places are their own rows. */
function ascending(length: number, end: number): Uint32Array {
  const order = new Uint32Array(length);
  for (let position = 0; position < end; position++) order[position] = position;
  return order;
}
