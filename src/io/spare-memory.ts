/** Memory of pieces that were handed on and are done with, kept by each thread: made anew, it would pile up until it is collected. */

const spares: ArrayBuffer[] = [];
const MOST_SPARES = 4;
/** What grew for a long line is not kept. */
const LARGEST_SPARE = 8 << 20;

export function offerSpare(memory: ArrayBuffer): void {
  if (memory.byteLength > LARGEST_SPARE) return;
  if (spares.length === MOST_SPARES) spares.shift();
  spares.push(memory);
}

/** Memory of that length, old or new; what it holds is not known. */
export function takeMemory(byteLength: number): Buffer {
  const at = spares.findIndex((spare) => spare.byteLength === byteLength);
  return at < 0 ? Buffer.allocUnsafeSlow(byteLength) : Buffer.from(spares.splice(at, 1)[0]);
}
