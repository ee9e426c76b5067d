/** A small batch under every rule that has stages of its own, and limits of a device that cut it everywhere. */
import type { Batch, Engine, NormalizeOptions, NormalizeResult } from '../../src/index.ts';
import { prepareBatch } from '../../src/prepare.ts';
import { columnsOfBatch } from '../../src/samples/batch.ts';
import { packLossMasks } from '../../src/samples/loss-masks.ts';

export interface Cut {
  readonly batch: Batch;
  readonly options: NormalizeOptions;
}

/** Two groups of two and three rollouts of one or two rows each; masks of one word, and one of three. */
function smallBatch(): Batch {
  const rows: { group: number; rollout: number }[] = [];
  for (let rollout = 0; rollout < 5; rollout++)
    for (let row = 0; row <= rollout % 2; row++) rows.push({ group: rollout < 2 ? 0 : 1, rollout });
  const mask = (i: number) => Array.from({ length: i === 1 ? 70 : 20 }, (_, k) => Number(k % (i + 2) === 0));
  return {
    reward: rows.map((_, i) => ((i * 7919) % 13) / 13),
    baseline: rows.map((_, i) => i % 3),
    groupIndex: rows.map(({ group }) => group),
    rolloutId: rows.map(({ rollout }) => rollout),
    lossMask: packLossMasks(rows.map((_, i) => mask(i))),
  };
}

const BATCH = smallBatch();
const { reward, baseline, ...rest } = BATCH;
const SEVERAL: Batch = { ...rest, rewards: { first: reward!, second: baseline! } };

export const RULES: Readonly<Record<string, Cut>> = {
  grpo: { batch: BATCH, options: {} },
  'median and mad': { batch: BATCH, options: { baseline: 'median', scale: 'mad' } },
  'scale of the batch': { batch: BATCH, options: { scale: 'batch' } },
  rloo: { batch: BATCH, options: { estimator: 'rloo' } },
  gdpo: { batch: SEVERAL, options: { estimator: 'gdpo' } },
  'token weights': { batch: BATCH, options: { weight: 'tokens' } },
  maxrl: { batch: BATCH, options: { estimator: 'maxrl' } },
  opo: { batch: BATCH, options: { estimator: 'opo' } },
  grpo_passk: { batch: BATCH, options: { estimator: 'grpo_passk' } },
  remax: { batch: BATCH, options: { estimator: 'remax' } },
  'peers of nemo-rl': { batch: BATCH, options: { like: 'nemo-rl', siblings: 'mainstream' } },
  'mean of siblings, exclusions': { batch: BATCH, options: { siblings: 'mean', exclude: ['untrainable'] } },
  raw: { batch: BATCH, options: { estimator: 'raw' } },
};

/** Two tiles, each in several slices of several pieces, none of which stays on the device. */
export const TILES = { pieceLength: 2, bindingBytes: 48 };
/** The whole batch on the device, each kernel in several submissions with waits between them. */
export const PORTIONS = { pieceLength: 2, elementsInFlight: 16, elementsPerDispatch: 4 };

/** @param detailed whether the computation keeps what it knew on its way, as for explain and parity */
export function callOn(engine: Engine, { batch, options }: Cut, more: NormalizeOptions = {}, detailed = false) {
  const all = { ...options, ...more };
  return engine.normalizePlanned(prepareBatch(columnsOfBatch(batch), all), all, detailed);
}

/** Advantages as bits, and the details as text. */
export const bitsOf = ({ advantages, details }: NormalizeResult) => [
  ...new Uint32Array(advantages.buffer, advantages.byteOffset, advantages.length),
  JSON.stringify(details),
];
