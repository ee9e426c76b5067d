/** Reads the numbers of a row beside its reward: several rewards that are kept apart, and a baseline. */
import { type Layout, nameOfNumber, numberSources, type RewardSource } from '../layouts/layout.ts';
import type { RecordCells } from './cells.ts';
import { RewardReader } from './reward-reader.ts';

export class NumbersReader {
  readonly count: number;
  /** Keys of objects that lack one that is asked for; some of them. */
  readonly otherKeys = new Set<string>();
  /** Rows in which each number is there. */
  readonly met: number[];
  /** What stood in the place of the first part of the last reward that was missing. */
  found = '';
  readonly #readers: readonly RewardReader[];
  readonly #names: readonly string[];
  readonly #partCount: number;

  constructor(layout: Layout, cells: RecordCells) {
    const sources = numberSources(layout);
    this.count = sources.length;
    this.#partCount = layout.rewardParts?.length ?? 0;
    this.#names = sources.map(nameOfNumber);
    this.#readers = sources.map(({ column, key }) => {
      const source: RewardSource = { columns: [{ column, weight: 1 }], isSum: false, scored: false, fromText: false };
      return new RewardReader(key === undefined ? source : { ...source, key }, cells);
    });
    this.met = sources.map(() => 0);
  }

  /** @returns the sum of the parts; NaN where one is missing, or there are none */
  read(cells: RecordCells, bytes: Uint8Array, to: number[]): number {
    let sum = this.#partCount > 0 ? 0 : Number.NaN;
    let isComplete = true;
    for (let k = 0; k < this.count; k++) {
      const reader = this.#readers[k];
      to[k] = reader.read(cells, bytes);
      if (k >= this.#partCount) continue;
      if (Number.isNaN(to[k]) && isComplete) {
        isComplete = false;
        this.found = reader.found === 'null' ? `null for ${this.#names[k]}` : reader.found;
      }
      sum += to[k];
    }
    return sum;
  }

  /** Brings the counts of all numbers together. */
  finish(rowCount: number): void {
    for (const [k, { keyed, objects, absent, otherKeys }] of this.#readers.entries()) {
      this.met[k] = objects > 0 ? keyed : rowCount - absent;
      for (const key of otherKeys) this.otherKeys.add(key);
    }
  }
}
