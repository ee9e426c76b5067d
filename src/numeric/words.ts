/** A binary64 number as the two u32 parameters that a kernel is told, and back. */

/** The low and the high word. */
export function wordsOf(value: number): readonly [low: number, high: number] {
  const [low, high] = new Uint32Array(Float64Array.of(value).buffer);
  return [low, high];
}

export function fromWords(low: number, high: number): number {
  return new Float64Array(Uint32Array.of(low, high).buffer)[0];
}
