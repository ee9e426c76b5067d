/** Where in the output each portion begins, told from thread to thread, so that portions are written side by side. */

/** Position + 1 of each portion once it is known; shared between threads. */
export type SharedPositions = BigInt64Array;

const UNKNOWN = 0n;
const GIVEN_UP = -1n;

/** Portions whose tasks begin in their order; the first one begins at 0. */
export function sharePositions(portionCount: number): SharedPositions {
  const positions = new BigInt64Array(new SharedArrayBuffer(8 * (portionCount + 1)));
  positions[0] = 1n;
  return positions;
}

/** Waits until the portion before has said where it ends. @throws GivenUp where it never will */
export function awaitPosition(positions: SharedPositions, portion: number): number {
  Atomics.wait(positions, portion, UNKNOWN);
  const found = Atomics.load(positions, portion);
  if (found === GIVEN_UP) throw new GivenUp();
  return Number(found - 1n);
}

export function tellPosition(positions: SharedPositions, portion: number, position: number): void {
  Atomics.store(positions, portion, BigInt(position) + 1n);
  Atomics.notify(positions, portion);
}

/** Lets go whoever waits for a portion from this one on. */
export function giveUpPositions(positions: SharedPositions, from: number): void {
  for (let portion = from; portion < positions.length; portion++) {
    Atomics.store(positions, portion, GIVEN_UP);
    Atomics.notify(positions, portion);
  }
}

/** A portion before failed, and its error is the one to be told. */
export class GivenUp extends Error {}
