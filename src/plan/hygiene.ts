/** Looks for rollout keys that may not mean what their writer thinks. */
import { KEYED_BY_INDEX } from '../samples/columns.ts';
import { NO_ID } from '../samples/ids.ts';
import type { RowRollouts } from './rollouts.ts';

/** A count and the first row concerned (-1: none). */
export interface Finding {
  readonly count: number;
  readonly row: number;
}

export interface KeyHygiene {
  /** Rollouts that join rows keyed by rollout_id with rows keyed by index. */
  readonly mergedKeys: Finding;
  /** Rollout keys that more than one prompt group has. */
  readonly repeatedKeys: Finding;
}

/** @param keys code of each rollout; null: rows had none */
export function keyHygiene(rollouts: RowRollouts, keys: Uint32Array | null, flags: Uint8Array | null): KeyHygiene {
  const none = { count: 0, row: -1 };
  if (keys === null) return { mergedKeys: none, repeatedKeys: none };
  return {
    mergedKeys: flags?.some(isKeyedByIndex) ? findMerged(rollouts, keys, flags) : none,
    repeatedKeys: findRepeated(rollouts, keys),
  };
}

const isKeyedByIndex = (flags: number) => (flags & KEYED_BY_INDEX) !== 0;

function firstRow(rollouts: RowRollouts, rollout: number): number {
  const position = rollouts.rowOffsets[rollout];
  return rollouts.rowsByRollout === null ? position : rollouts.rowsByRollout[position];
}

function findMerged(rollouts: RowRollouts, keys: Uint32Array, flags: Uint8Array): Finding {
  let lastRollout = -1;
  const found = { count: 0, row: -1 };
  const { rowOffsets, rowsByRollout, rolloutCount } = rollouts;
  for (let rollout = 0; rollout < rolloutCount; rollout++) {
    if (keys[rollout] === NO_ID) continue;
    const first = firstRow(rollouts, rollout);
    const source = flags[first] & KEYED_BY_INDEX;
    for (let at = rowOffsets[rollout] + 1; at < rowOffsets[rollout + 1]; at++) {
      const row = rowsByRollout === null ? at : rowsByRollout[at];
      if ((flags[row] & KEYED_BY_INDEX) === source || lastRollout === rollout) continue;
      lastRollout = rollout;
      if (found.count++ === 0) found.row = row;
    }
  }
  return found;
}

/** Bits that may be spent on every rollout before sorting is the smaller memory. */
const BITS_PER_ROLLOUT = 64;

/** A key is unique inside its group, so a key met twice among the rollouts is in two groups. */
function findRepeated(rollouts: RowRollouts, keys: Uint32Array): Finding {
  const found = { count: 0, row: -1 };
  const seen = seenSetFor(keys);
  if (seen === null) return found;
  for (let rollout = 0; rollout < keys.length; rollout++) {
    if (keys[rollout] === NO_ID || !seen.isSecond(keys[rollout])) continue;
    if (found.count++ === 0) found.row = firstRow(rollouts, rollout);
  }
  return found;
}

/** Null where the keys ascend, as those of a counter do: then none repeats. */
function seenSetFor(keys: Uint32Array): SeenSet | null {
  let low = NO_ID;
  let high = 0;
  let last = -1;
  let ascending = true;
  for (let rollout = 0; rollout < keys.length; rollout++) {
    const key = keys[rollout];
    if (key === NO_ID) continue;
    if (key <= last) ascending = false;
    last = key;
    if (key < low) low = key;
    if (key > high) high = key;
  }
  if (ascending) return null;
  const span = high - low + 1;
  return span <= keys.length * BITS_PER_ROLLOUT ? new BitSet(low, span) : new SortedSet(keys);
}

interface SeenSet {
  /** Whether the code is asked for the second time; further times do not count. */
  isSecond(code: number): boolean;
}

class BitSet implements SeenSet {
  readonly #low: number;
  readonly #once: Uint32Array;
  readonly #twice: Uint32Array;

  constructor(low: number, span: number) {
    this.#low = low;
    this.#once = new Uint32Array(Math.ceil(span / 32));
    this.#twice = new Uint32Array(Math.ceil(span / 32));
  }

  isSecond(code: number): boolean {
    const at = code - this.#low;
    const word = at >>> 5;
    const bit = 1 << (at & 31);
    if ((this.#once[word] & bit) === 0) {
      this.#once[word] |= bit;
      return false;
    }
    const isSecond = (this.#twice[word] & bit) === 0;
    this.#twice[word] |= bit;
    return isSecond;
  }
}

/** Codes far apart: sorting finds the few that repeat, and only those are remembered. */
class SortedSet implements SeenSet {
  readonly #repeats = new Map<number, number>();

  constructor(keys: Uint32Array) {
    const sorted = keys.slice();
    sorted.sort();
    for (let i = 1; i < sorted.length; i++) if (sorted[i] === sorted[i - 1]) this.#repeats.set(sorted[i], 0);
  }

  isSecond(code: number): boolean {
    const times = this.#repeats.get(code);
    if (times === undefined) return false;
    this.#repeats.set(code, times + 1);
    return times === 1;
  }
}
