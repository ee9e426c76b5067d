/** Two computations of one batch, stage by stage and bit by bit. */
import type { NormalizeResult } from '../engine.ts';
import type { Details } from '../kernels/details.ts';
import type { Plan } from '../plan/plan.ts';
import { rowAt } from '../plan/plan.ts';

/** In the order in which a batch meets them: a fault shows in the first one that it touches. */
export const STAGES = ['counts', 'representatives', 'moments', 'advantages'] as const;
export type Stage = (typeof STAGES)[number];

type Bits = Float64Array | Float32Array | Uint32Array | Uint8Array;

/** The first entry that differs. */
export interface Difference {
  readonly stage: Stage;
  /** What is compared: `tokens of rollouts`, `mean` ... */
  readonly what: string;
  /** All from 1; null where an entry is not of one. */
  readonly row: number | null;
  readonly rollout: number | null;
  readonly group: number | null;
  readonly expected: string;
  readonly expectedHex: string;
  readonly found: string;
  readonly foundHex: string;
  /** Numbers of the type between the two; null where it has no meaning (NaN, whole numbers). */
  readonly ulps: string | null;
  /** Entries of this kind that differ. */
  readonly count: number;
}

interface Compared {
  readonly stage: Stage;
  readonly what: string;
  readonly of: 'row' | 'rollout' | 'group' | 'batch';
  readonly expected: Bits;
  readonly found: Bits;
}

/** The first difference of each stage, in the order of the stages; empty: the two are the same bits. */
export function differencesOf(plan: Plan, expected: NormalizeResult, found: NormalizeResult): Difference[] {
  const differences: Difference[] = [];
  for (const compared of comparisons(expected, found)) {
    if (differences.some(({ stage }) => stage === compared.stage)) continue;
    const difference = firstDifference(plan, compared);
    if (difference) differences.push(difference);
  }
  return differences;
}

function* comparisons(expected: NormalizeResult, found: NormalizeResult): Generator<Compared> {
  const [ours, theirs] = [expected.details, found.details];
  if (ours && theirs) yield* comparedDetails(ours, theirs);
  const advantages = { expected: expected.advantages, found: found.advantages };
  yield { stage: 'advantages', what: 'advantage (binary32)', of: 'row', ...advantages };
}

function* comparedDetails(ours: Details, theirs: Details): Generator<Compared> {
  if (ours.tokens && theirs.tokens)
    yield { stage: 'counts', what: 'trainable tokens', of: 'rollout', expected: ours.tokens, found: theirs.tokens };
  const of = (stage: Stage, what: string, from: (details: Details) => Bits, kind: Compared['of']): Compared => ({
    stage,
    what,
    of: kind,
    expected: from(ours),
    found: from(theirs),
  });
  yield of('representatives', 'representative', (details) => details.representatives, 'rollout');
  yield of('representatives', 'counted', (details) => details.counted, 'rollout');
  for (let k = 0; k < ours.groups.length; k++) {
    const name = ours.groups.length > 1 ? ` of reward ${k + 1}` : '';
    yield of('representatives', `reward${name}`, (details) => details.rewards[k], 'rollout');
    for (const field of ['means', 'deviations', 'baselines', 'divisors', 'statuses'] as const)
      yield of('moments', `${field}${name}`, (details) => details.groups[k][field], 'group');
  }
  yield of('moments', 'statistics of the batch', momentsOf, 'batch');
  yield of('advantages', 'advantage (binary64)', (details) => details.beforeStep, 'rollout');
}

function momentsOf({ batchScale, step }: Details): Float64Array {
  const all = step ? [...batchScale, step] : batchScale;
  return Float64Array.from(all.flatMap(({ mean, divisor, status }) => [mean, divisor, status]));
}

function firstDifference(plan: Plan, { stage, what, of, expected, found }: Compared): Difference | null {
  if (expected.length !== found.length) throw new RangeError(`${what}: ${expected.length} and ${found.length} entries`);
  const [ours, theirs] = [bitsOf(expected), bitsOf(found)];
  let first = -1;
  let count = 0;
  for (let i = 0; i < ours.length; i++) {
    if (ours[i] === theirs[i] || (Number.isNaN(expected[i]) && Number.isNaN(found[i]))) continue;
    if (count++ === 0) first = i;
  }
  if (first < 0) return null;
  return {
    ...{ stage, what, count },
    ...placeOf(plan, of, first),
    expected: String(expected[first]),
    expectedHex: hex(expected, ours[first]),
    found: String(found[first]),
    foundHex: hex(found, theirs[first]),
    ulps: distance(expected, ours[first], theirs[first]),
  };
}

function placeOf(plan: Plan, of: Compared['of'], i: number): Pick<Difference, 'row' | 'rollout' | 'group'> {
  if (of === 'batch') return { row: null, rollout: null, group: null };
  const rollout = of === 'rollout' ? i : of === 'row' ? plan.rowRollout[i] : plan.groupOffsets[i];
  const group = of === 'group' ? i : groupOf(plan, rollout);
  const row = of === 'row' ? i : rowAt(plan, plan.rowOffsets[rollout]);
  return { row: row + 1, rollout: of === 'group' ? null : rollout + 1, group: group + 1 };
}

function groupOf({ groupOffsets }: Plan, rollout: number): number {
  let group = 0;
  while (groupOffsets[group + 1] <= rollout) group++;
  return group;
}

function bitsOf(array: Bits): BigUint64Array | Uint32Array | Uint8Array {
  const { buffer, byteOffset, length } = array;
  if (array instanceof Float64Array) return new BigUint64Array(buffer, byteOffset, length);
  return array instanceof Float32Array ? new Uint32Array(buffer, byteOffset, length) : array;
}

function hex(array: Bits, bits: number | bigint): string {
  return `0x${bits.toString(16).padStart(2 * array.BYTES_PER_ELEMENT, '0')}`;
}

/** Places between two numbers in the order of their type. */
function distance(array: Bits, a: number | bigint, b: number | bigint): string | null {
  const isDouble = array instanceof Float64Array;
  if (!isDouble && !(array instanceof Float32Array)) return null;
  const sign = isDouble ? 1n << 63n : 1n << 31n;
  const infinity = isDouble ? 0x7ffn << 52n : 0xffn << 23n;
  const [x, y] = [BigInt(a), BigInt(b)].map((bits) => {
    const magnitude = bits & (sign - 1n);
    if (magnitude > infinity) return null;
    return bits & sign ? -magnitude : magnitude;
  });
  if (x === null || y === null) return null;
  return String(x > y ? x - y : y - x);
}
