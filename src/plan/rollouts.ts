/** Rows of each prompt group to rollouts, numbered group by group in first-seen order. */
import { growableU32 } from '../samples/growable.ts';
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

/**
 * Finds the rollouts: rows of one group with the same code are one; a row with NO_ID is one by itself.
 * @param rolloutCodes code per row, or null: every row is a rollout
 */
export function findRollouts(groups: RowGroups, rolloutCodes: Uint32Array | null, rowCount: number): RowRollouts {
  const finder = new RolloutFinder(groups, rolloutCodes, rowCount);
  for (let group = 0; group < groups.groupCount; group++) finder.addGroup(group);
  return finder.finish();
}

/** Works on one group at a time, so that all but its rows' own entries stay in cache however the rows are shuffled. */
class RolloutFinder {
  readonly #groups: RowGroups;
  readonly #codes: Uint32Array | null;
  readonly #groupOffsets: Uint32Array;
  readonly #rowOffsets = growableU32();
  readonly #rowRollout: Uint32Array;
  readonly #keys = new KeyTable();
  /** Rows of each rollout of the group, then the position at which its next row goes. */
  #places = new Uint32Array(64);
  #rowsByRollout: Uint32Array | null = null;
  #rolloutCount = 0;

  constructor(groups: RowGroups, codes: Uint32Array | null, rowCount: number) {
    this.#groups = groups;
    this.#codes = codes;
    this.#groupOffsets = new Uint32Array(groups.groupCount + 1);
    this.#rowRollout = new Uint32Array(rowCount);
    this.#rowOffsets.push(0);
    if (groups.rowsByGroup !== null) this.#rowsByRollout = new Uint32Array(rowCount);
  }

  addGroup(group: number): void {
    const first = this.#rolloutCount;
    const start = this.#groups.rowOffsets[group];
    const end = this.#groups.rowOffsets[group + 1];
    if (this.#places.length < end - start) this.#places = new Uint32Array((end - start) * 2);
    const inOrder = this.#assignRollouts(start, end);
    if (!inOrder && this.#rowsByRollout === null) {
      this.#rowsByRollout = new Uint32Array(this.#rowRollout.length);
      for (let position = 0; position < start; position++) this.#rowsByRollout[position] = position;
    }
    let position = start;
    for (let local = 0; local < this.#rolloutCount - first; local++) {
      const rows = this.#places[local];
      this.#places[local] = position;
      position += rows;
      this.#rowOffsets.push(position);
    }
    if (this.#rowsByRollout !== null) this.#placeRows(this.#rowsByRollout, start, end, first);
    this.#groupOffsets[group + 1] = this.#rolloutCount;
  }

  finish(): RowRollouts {
    return {
      rolloutCount: this.#rolloutCount,
      groupOffsets: this.#groupOffsets,
      rowOffsets: this.#rowOffsets.view(),
      rowsByRollout: this.#rowsByRollout,
      rowRollout: this.#rowRollout,
    };
  }

  /** Numbers the rollouts of a group's rows and counts their rows; false where the rows of one are apart. */
  #assignRollouts(start: number, end: number): boolean {
    const { rowsByGroup } = this.#groups;
    const codes = this.#codes;
    const rowRollout = this.#rowRollout;
    const places = this.#places;
    const keys = this.#keys;
    const first = this.#rolloutCount;
    let count = first;
    let lastCode = NO_ID;
    let rollout = first;
    let inOrder = true;
    keys.begin(end - start);
    for (let at = start; at < end; at++) {
      const row = rowsByGroup === null ? at : rowsByGroup[at];
      const code = codes === null ? NO_ID : codes[row];
      if (code === NO_ID || code !== lastCode) {
        rollout = code === NO_ID ? count : keys.findOrAdd(code, count);
        if (rollout === count) places[count++ - first] = 0;
        else inOrder = false;
        lastCode = code;
      }
      places[rollout - first]++;
      rowRollout[row] = rollout;
    }
    this.#rolloutCount = count;
    return inOrder;
  }

  /** Brings the rows of each rollout of a group together, in row order. */
  #placeRows(rowsByRollout: Uint32Array, start: number, end: number, firstRollout: number): void {
    const { rowsByGroup } = this.#groups;
    for (let at = start; at < end; at++) {
      const row = rowsByGroup === null ? at : rowsByGroup[at];
      rowsByRollout[this.#places[this.#rowRollout[row] - firstRollout]++] = row;
    }
  }
}
