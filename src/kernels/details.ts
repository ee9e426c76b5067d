/** What a computation knew on its way to the advantages, for whoever asks why a number is what it is. */
import type { Plan } from '../plan/plan.ts';
import type { BatchMoments } from './stages/batch-step.ts';

/** By one reward; binary64 per group, NaN where nothing was computed. */
export interface GroupDetails {
  /** Mean of the counted rewards. */
  readonly means: Float64Array;
  /** Their standard deviation, by the rule's ddof; 0 for a group of one. */
  readonly deviations: Float64Array;
  /** What was subtracted; NaN where it is not one number for the group. */
  readonly baselines: Float64Array;
  /** What it was divided by, epsilon included; 1: nothing; NaN where it is not one number for the group. */
  readonly divisors: Float64Array;
  /** A counted reward, the first unless the baseline is a median, and the baseline less it: a difference is (r - reference) - centre. */
  readonly references: Float64Array;
  readonly centres: Float64Array;
  /** Median distance from the median, where the scale is made of it. */
  readonly medianDistances: Float64Array;
  /** GROUP_STATUS. */
  readonly statuses: Uint32Array;
}

export interface Details {
  /** Row that stands for each rollout; NO_ROW where several do (mean, sum). */
  readonly representatives: Uint32Array;
  /** Whether each rollout is counted. */
  readonly counted: Uint8Array;
  /** Binary64 reward of each rollout, by reward; NaN where it is not counted. */
  readonly rewards: readonly Float64Array[];
  /** Recorded baselines of the counted rollouts, where the rule has them. */
  readonly recordedBaselines: Float64Array | null;
  /** Trainable tokens of each rollout; null: unknown. */
  readonly tokens: Float64Array | null;
  /** By reward. */
  readonly groups: readonly GroupDetails[];
  /** Binary64 advantage of each rollout by each reward, before weights; NaN where it is not counted. */
  readonly quotients: readonly Float64Array[];
  /** Binary64 advantage of each rollout before the batch step, bounds and rounding; NaN where it is not counted. */
  readonly beforeStep: Float64Array;
  readonly batchScale: readonly BatchMoments[];
  readonly step: BatchMoments | null;
  /** The same as beforeStep after the step; null: there is none. */
  readonly afterStep: Float64Array | null;
}

/** The same while it is being written. */
export type DetailsToFill = { -readonly [name in keyof Details]: Details[name] } & { batchScale: BatchMoments[] };

export const NO_ROW = 0xffffffff;

const nans = (length: number) => new Float64Array(length).fill(Number.NaN);

export function emptyDetails({ rolloutCount, groupCount }: Plan, rewardCount: number): DetailsToFill {
  const each = <T>(make: () => T) => Array.from({ length: rewardCount }, make);
  return {
    representatives: new Uint32Array(rolloutCount).fill(NO_ROW),
    counted: new Uint8Array(rolloutCount),
    rewards: each(() => nans(rolloutCount)),
    recordedBaselines: null,
    tokens: null,
    groups: each(() => ({
      means: nans(groupCount),
      deviations: nans(groupCount),
      baselines: nans(groupCount),
      divisors: nans(groupCount).fill(1),
      references: nans(groupCount),
      centres: nans(groupCount),
      medianDistances: nans(groupCount),
      statuses: new Uint32Array(groupCount),
    })),
    quotients: each(() => nans(rolloutCount)),
    beforeStep: nans(rolloutCount),
    batchScale: [],
    step: null,
    afterStep: null,
  };
}
