/** Generated batches: groups of about eight rollouts, rollouts of about 2.5 rows, in order or shuffled. */
import type { Batch } from '../src/samples/batch.ts';

export interface GeneratedBatch extends Batch {
  readonly groupIndex: BigInt64Array;
  readonly rolloutId: BigInt64Array;
  readonly reward: Float64Array;
  readonly trainableTokens: Uint32Array;
}

export const ARRANGEMENTS = ['contiguous', 'shuffled'] as const;
export type Arrangement = (typeof ARRANGEMENTS)[number];

const NEW_ROLLOUT = 0.4;
const NEW_GROUP = 0.05;

export function generateBatch(rowCount: number, arrangement: Arrangement): GeneratedBatch {
  const random = generator(1);
  const batch = {
    groupIndex: new BigInt64Array(rowCount),
    rolloutId: new BigInt64Array(rowCount),
    reward: new Float64Array(rowCount),
    trainableTokens: new Uint32Array(rowCount),
  };
  let group = 0;
  let rollout = 0;
  for (let row = 0; row < rowCount; row++) {
    const startsGroup = random() < NEW_GROUP;
    if (startsGroup) group++;
    if (startsGroup || random() < NEW_ROLLOUT) rollout++;
    batch.groupIndex[row] = BigInt(group);
    batch.rolloutId[row] = BigInt(rollout);
    batch.reward[row] = Math.round(random() * 10) / 10;
    batch.trainableTokens[row] = Math.floor(random() * 4096);
  }
  if (arrangement === 'shuffled') for (const column of Object.values(batch)) shuffle(column, generator(2));
  return batch;
}

function shuffle(column: BigInt64Array | Float64Array | Uint32Array, random: () => number): void {
  for (let i = column.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [column[i], column[j]] = [column[j], column[i]];
  }
}

/** The same numbers every time; good enough to shuffle with. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return ((z ^ (z >>> 16)) >>> 0) / 2 ** 32;
  };
}
