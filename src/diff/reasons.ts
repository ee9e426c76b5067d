/** Why a row has another advantage under one setting than under another, from what both computed. */
import { isPassThrough } from '../estimators/rule.ts';
import { GROUP_STATUS } from '../kernels/codes.ts';
import type { BatchMoments } from '../kernels/stages/batch-step.ts';
import { groupOfRow } from '../plan/describe.ts';
import { type Plan, rowAt } from '../plan/plan.ts';
import { type Account, accountOf, type Side } from './account.ts';
import { short, whole } from './numbers.ts';
import { BASELINES_IN_WORDS, SCALES_IN_WORDS } from './settings.ts';

export const REASONS = [
  'pass-through',
  'left-out',
  'grouping',
  'siblings-as-rows',
  'representative',
  'others-left-out',
  'other-representatives',
  'singleton',
  'min-std',
  'flat',
  'mean-not-positive',
  'baseline',
  'scale',
  'ddof',
  'epsilon',
  'batch-scale',
  'batch-step',
  'reward-weights',
  'clip-reward',
  'clip',
  'rule',
  'known-rule',
  'unknown-rule',
  'siblings-apart',
] as const;
export type ReasonCode = (typeof REASONS)[number];

export interface Reason {
  readonly code: ReasonCode;
  readonly text: string;
}

/** Both sides of a row. */
interface Pair {
  readonly before: Side;
  readonly after: Side;
  readonly a: Account;
  readonly b: Account;
  readonly sameGroup: boolean;
}

/** In the order of the computation; never empty. */
export function reasonsFor(before: Side, after: Side, row: number): Reason[] {
  const a = accountOf(before, row);
  const b = accountOf(after, row);
  if (a === null || b === null) return passThroughReasons(before, after, row, a ?? b);
  const pair = { before, after, a, b, sameGroup: haveSameRows(before.plan, a.group, after.plan, b.group) };
  const leftOut = leftOutReasons(pair);
  if (leftOut.length > 0) return leftOut;
  const reasons = [...inputReasons(pair, row), ...ruleReasons(pair), ...boundReasons(before, after)];
  if (reasons.length > 0) return reasons;
  const names = [before, after].map(({ settings }) => settings.estimator.name);
  return [{ code: 'rule', text: `the rule is that of ${names[1]} instead of ${names[0]}` }];
}

function passThroughReasons(before: Side, after: Side, row: number, other: Account | null): Reason[] {
  const bounds = boundReasons(before, after);
  if (other === null) return bounds;
  const passes = isPassThrough(before.settings.estimator) ? 'before' : 'after';
  const reward = short(before.columns.rewards[row]);
  return [{ code: 'pass-through', text: `${passes}, the row keeps its own reward ${reward}` }, ...bounds];
}

function leftOutReasons({ a, b }: Pair): Reason[] {
  if (a.leftOutAs === null && b.leftOutAs === null) return [];
  const when = a.leftOutAs === null ? 'after' : 'before';
  return [{ code: 'left-out', text: `${when}, the rollout is left out (${a.leftOutAs ?? b.leftOutAs})` }];
}

/** What enters the statistics: rows, rollouts, the rewards that stand for them. */
function inputReasons(pair: Pair, row: number): Reason[] {
  const { before, after, a, b, sameGroup } = pair;
  const reasons: Reason[] = [];
  const asRows = [before, after].map(({ settings }) => settings.policies.siblings === 'rows');
  const means = momentsInWords(pair);
  if (!sameGroup)
    reasons.push({
      code: 'grouping',
      text: `the group has ${b.groupRows} rows instead of ${a.groupRows}${asRows[0] === asRows[1] ? means : ''}`,
    });
  if (asRows[0] !== asRows[1] && (asRows[1] ? hasSiblings(after, b, before) : hasSiblings(before, a, after))) {
    const what = asRows[1] ? ['rollouts', 'rows'] : ['rows', 'rollouts'];
    const counts = `${b.groupRollouts} ${what[1]} instead of ${a.groupRollouts} ${what[0]}`;
    const how = asRows[1] ? 'siblings count as rows' : 'a rollout counts once';
    reasons.push({ code: 'siblings-as-rows', text: `${how}: ${counts}${means}` });
  }
  const own = representativeReason(pair, row);
  if (own) reasons.push(own);
  else if (sameGroup && asRows[0] === asRows[1]) reasons.push(...othersReasons(pair, means));
  return reasons;
}

/** Mean, and where both rules divide by it the standard deviation, of the counted rewards. */
function momentsInWords({ before, after, a, b }: Pair): string {
  if (a.statistics.length !== 1 || b.statistics.length !== 1) return '';
  const [[from], [to]] = [a.statistics, b.statistics];
  const divides = [before, after].every(({ settings }) => settings.estimator.scale === 'group');
  const mean = `, mean ${instead(from.mean, to.mean)}`;
  return divides ? `${mean}, std ${instead(from.deviation, to.deviation)}` : mean;
}

function representativeReason({ before, after, a, b }: Pair, row: number): Reason | null {
  const isOther = a.rewards.length === b.rewards.length && a.rewards.some((reward, k) => reward !== b.rewards[k]);
  const sameRow = a.representative !== null && a.representative === b.representative;
  if (!isOther || sameRow) return null;
  const k = a.rewards.findIndex((reward, at) => reward !== b.rewards[at]);
  const standing = ({ columns, settings }: Side, { representative, rewards, rolloutRows }: Account) => {
    const source =
      representative === null
        ? `${settings.policies.siblings} of its ${rolloutRows} rows`
        : representative === row
          ? 'its own'
          : `of ${columns.place(representative)}`;
    return `${short(rewards[k])} (${source})`;
  };
  const text = `the reward that counts is ${standing(after, b)} instead of ${standing(before, a)}`;
  return { code: 'representative', text };
}

/** The rollout itself counts with the same reward; what others count with has changed. */
function othersReasons({ before, after, a, b }: Pair, means: string): Reason[] {
  if (a.countedRollouts !== b.countedRollouts) {
    const text = `${b.countedRollouts} rollouts of the group count instead of ${a.countedRollouts}${means}`;
    return [{ code: 'others-left-out', text }];
  }
  const [from, to] = [before.settings.estimator, after.settings.estimator];
  const readsOther = [from, to].map(({ clipReward, rewardWeights }) => JSON.stringify([clipReward, rewardWeights]));
  if (readsOther[0] !== readsOther[1]) return [];
  const isOther = a.statistics.some(({ mean, deviation }, k) => {
    const other = b.statistics[k];
    return other && (mean !== other.mean || (from.ddof === to.ddof && deviation !== other.deviation));
  });
  return isOther
    ? [{ code: 'other-representatives', text: `other rewards count for rollouts of the group${means}` }]
    : [];
}

/** What the rule makes of it. */
function ruleReasons({ before, after, a, b }: Pair): Reason[] {
  const [from, to] = [before.settings.estimator, after.settings.estimator];
  const [first] = a.statistics;
  const [second] = b.statistics;
  const several = a.statistics.length > 1 || b.statistics.length > 1;
  const reasons: Reason[] = [];
  const guards = guardReasons(before, after, a, b);
  reasons.push(...guards);
  const isGuarded = guards.length > 0;
  const numbers = (key: 'baseline' | 'divisor') =>
    several || Number.isNaN(first[key]) || Number.isNaN(second[key]) ? '' : `, ${instead(first[key], second[key])}`;
  if (!isGuarded && from.baseline !== to.baseline) {
    const words = `${BASELINES_IN_WORDS[to.baseline]} instead of ${BASELINES_IN_WORDS[from.baseline]}`;
    reasons.push({ code: 'baseline', text: `the baseline is the ${words}${numbers('baseline')}` });
  }
  if (!isGuarded && from.scale !== to.scale) {
    const words = `${SCALES_IN_WORDS[to.scale]} instead of ${SCALES_IN_WORDS[from.scale]}`;
    reasons.push({ code: 'scale', text: `divided by ${words}${numbers('divisor')}` });
  } else if (!isGuarded && from.scale !== 'none') {
    const hasSpread = from.scale !== 'mad' && from.scale !== 'mean';
    if (hasSpread && from.ddof !== to.ddof)
      reasons.push({ code: 'ddof', text: `ddof ${instead(from.ddof, to.ddof)}${numbers('divisor')}` });
    if (from.epsilon !== to.epsilon)
      reasons.push({ code: 'epsilon', text: `epsilon ${whole(to.epsilon)} instead of ${whole(from.epsilon)}` });
    if (from.scale === 'batch' && from.ddof === to.ddof && first.divisor !== second.divisor && !several)
      reasons.push({ code: 'batch-scale', text: `the std of the batch is other${numbers('divisor')}` });
  }
  if (from.perReward !== to.perReward)
    reasons.push({ code: 'rule', text: `${to.name} instead of ${from.name}: rewards are normalized ${perReward(to)}` });
  return [...reasons, ...stepReasons(before, after)];
}

const perReward = (rule: { readonly perReward: boolean }) => (rule.perReward ? 'each by itself' : 'as their sum');

/** Groups that have no spread, or a single rollout, on one side or by other rules. */
function guardReasons(before: Side, after: Side, a: Account, b: Account): Reason[] {
  const [from, to] = [before.settings.estimator, after.settings.estimator];
  const single = [a, b].map(({ countedRollouts }) => countedRollouts === 1);
  if (single[0] !== single[1])
    return [{ code: 'singleton', text: `${single[1] ? 'after' : 'before'}, the group has one counted rollout` }];
  if (single[0] && from.singleton !== to.singleton)
    return [{ code: 'singleton', text: 'the rules differ for a group of one counted rollout' }];
  const every = (code: number) => [a, b].map(({ statistics }) => statistics.every(({ status }) => status === code));
  const notPositive = every(GROUP_STATUS.notPositive);
  if (notPositive[0] !== notPositive[1]) {
    const { mean } = (notPositive[1] ? b : a).statistics[0];
    const text = `${notPositive[1] ? 'after' : 'before'}, the mean ${short(mean)} is not above 0 and divides nothing: 0`;
    return [{ code: 'mean-not-positive', text }];
  }
  const flat = every(GROUP_STATUS.flat);
  if (flat[0] === flat[1]) return [];
  const when = flat[1] ? 'after' : 'before';
  const { minStd } = flat[1] ? to : from;
  const [{ deviation }] = (flat[1] ? b : a).statistics;
  if (minStd > 0 && deviation > 0)
    return [{ code: 'min-std', text: `${when}, the std ${short(deviation)} is below ${minStd}: flat, so 0` }];
  return [{ code: 'flat', text: `${when}, all rewards that count in the group are equal: flat` }];
}

function stepReasons(before: Side, after: Side): Reason[] {
  const steps = [before, after].map(({ settings }) => settings.estimator.step);
  const [from, to] = [before, after].map(({ details }) => details?.step ?? null);
  if (JSON.stringify(steps[0]) !== JSON.stringify(steps[1])) {
    if (steps[0] === null) return [{ code: 'batch-step', text: `after, whitened over the batch${moments(to)}` }];
    if (steps[1] === null) return [{ code: 'batch-step', text: `before, whitened over the batch${moments(from)}` }];
    return [{ code: 'batch-step', text: 'whitened over the batch in another way' }];
  }
  if (!from || !to || (from.mean === to.mean && from.divisor === to.divisor)) return [];
  const text = `whitened by other numbers of the batch: mean ${instead(from.mean, to.mean)}, divisor ${instead(from.divisor, to.divisor)}`;
  return [{ code: 'batch-step', text }];
}

const moments = (own: BatchMoments | null) => (own ? ` (mean ${short(own.mean)}, divisor ${short(own.divisor)})` : '');

function boundReasons({ settings: { estimator: from } }: Side, { settings: { estimator: to } }: Side): Reason[] {
  const reasons: Reason[] = [];
  const isOther = (a: readonly number[] | null, b: readonly number[] | null) => JSON.stringify(a) !== JSON.stringify(b);
  if (isOther(from.rewardWeights, to.rewardWeights))
    reasons.push({ code: 'reward-weights', text: 'the rewards have other weights' });
  const list = (range: readonly number[] | null) => (range ? range.join(' to ') : 'none');
  if (isOther(from.clipReward, to.clipReward))
    reasons.push({
      code: 'clip-reward',
      text: `bounds of rewards: ${list(to.clipReward)} instead of ${list(from.clipReward)}`,
    });
  if (isOther(from.clip, to.clip))
    reasons.push({ code: 'clip', text: `bounds of advantages: ${list(to.clip)} instead of ${list(from.clip)}` });
  return reasons;
}

function instead(from: number, to: number): string {
  const [a, b] = [short(from), short(to)];
  if (from === to) return `still ${b}`;
  return a === b ? `${to} instead of ${from}` : `${b} instead of ${a}`;
}

/** Whether a group has rows of one rollout, as another setting finds them. */
function hasSiblings({ plan }: Side, { group }: Account, { plan: { rowRollout, rowOffsets } }: Side): boolean {
  const [start, end] = positionsOf(plan, group);
  for (let position = start; position < end; position++) {
    const rollout = rowRollout[rowAt(plan, position)];
    if (rowOffsets[rollout + 1] - rowOffsets[rollout] > 1) return true;
  }
  return false;
}

function positionsOf({ groupOffsets, rowOffsets }: Plan, group: number): [start: number, end: number] {
  return [rowOffsets[groupOffsets[group]], rowOffsets[groupOffsets[group + 1]]];
}

function haveSameRows(a: Plan, groupOfA: number, b: Plan, groupOfB: number): boolean {
  if (a === b) return groupOfA === groupOfB;
  const [start, end] = positionsOf(a, groupOfA);
  const [otherStart, otherEnd] = positionsOf(b, groupOfB);
  if (end - start !== otherEnd - otherStart) return false;
  for (let position = start; position < end; position++)
    if (groupOfRow(b, rowAt(a, position)) !== groupOfB) return false;
  return true;
}
