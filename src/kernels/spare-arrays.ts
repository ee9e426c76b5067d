/**
 * Arrays for kernels to fill, handed on from tile to tile: to allocate, clear and collect them for each tile would take a
 * tenth of the time of a computation.
 */
import { allocateHost, type ElementType, type HostArray } from './kernel.ts';

export class SpareArrays {
  readonly #longest: number;
  /** Whole arrays by type and length, which is a power of two. */
  readonly #spare = new Map<string, HostArray[]>();

  /** @param longest arrays of more entries are not kept */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** An array with whatever its last user left in it. */
  take<T extends ElementType>(type: T, length: number): HostArray<T> {
    if (length > this.#longest) return allocateHost(type, length);
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(1, length)));
    const whole = this.#spare.get(`${type} ${capacity}`)?.pop() ?? allocateHost(type, capacity);
    return whole.subarray(0, length) as HostArray<T>;
  }

  /** Takes arrays back that take() gave; nobody may use them any more. */
  give(arrays: readonly HostArray[]): void {
    for (const array of arrays) {
      if (array.length > this.#longest) continue;
      const { type, whole } = wholeOf(array);
      const key = `${type} ${whole.length}`;
      const kept = this.#spare.get(key);
      if (kept) kept.push(whole);
      else this.#spare.set(key, [whole]);
    }
  }
}

function wholeOf(array: HostArray): { type: ElementType; whole: HostArray } {
  if (array instanceof Float64Array) return { type: 'f64', whole: new Float64Array(array.buffer) };
  if (array instanceof Float32Array) return { type: 'f32', whole: new Float32Array(array.buffer) };
  return { type: 'u32', whole: new Uint32Array(array.buffer) };
}
