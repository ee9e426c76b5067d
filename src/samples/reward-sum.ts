/** The reward of a row that is the weighted sum of several numbers, in binary64, in their order; the same in every format. */
import { InputError } from '../errors.ts';

export const SUM_OVERFLOWS = 'reward: the weighted sum of its parts is past binary64, though each part is finite';
export const NO_PARTS = 'none of the reward columns has a number';

/**
 * A part that is not there, null or NaN is left out; a row without any other has no reward. An infinite part makes the
 * row's reward a missing one, as an infinite reward is. Finite parts that overflow are an error: nothing is missing there.
 */
export class RewardSum {
  #sum = 0;
  #isEmpty = true;
  #lacking: string | null = null;

  begin(): void {
    this.#sum = 0;
    this.#isEmpty = true;
    this.#lacking = null;
  }

  add(name: string, weight: number, part: number | null): void {
    if (part === null || Number.isNaN(part)) return;
    if (!Number.isFinite(part)) this.lack(`${name} ${part}`);
    this.#sum += weight * part;
    this.#isEmpty = false;
  }

  /** The row has no reward, whatever its other parts are. @param found what stands there */
  lack(found: string): void {
    this.#lacking ??= found;
  }

  /** What stands in the place of a reward that is missing. */
  get found(): string {
    return this.#lacking ?? NO_PARTS;
  }

  /**
   * NaN where the reward is missing.
   * @param ofNothing what a row without parts has
   * @throws InputError where finite parts overflow
   */
  end(ofNothing = Number.NaN): number {
    if (this.#lacking !== null) return Number.NaN;
    if (this.#isEmpty) return ofNothing;
    if (!Number.isFinite(this.#sum)) throw new InputError(SUM_OVERFLOWS);
    return this.#sum;
  }
}
