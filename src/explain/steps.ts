/** The way from a rollout's reward to its advantage, line by line, in the numbers that the engine had. */
import type { Estimator } from '../estimators/estimators.ts';
import type { BatchStep } from '../estimators/rule.ts';
import { GROUP_STATUS } from '../kernels/codes.ts';
import { MAD_FACTOR } from '../kernels/cpu/group-divisor.ts';
import type { Details } from '../kernels/details.ts';
import type { Computation, Peers } from './computation.ts';
import type { RewardStatistics, RolloutExplanation, Step, StepName } from './explanation.ts';
import { representativeOf, rowsOfRollout } from './rollout.ts';
import { equation, operand, orNull, plural, spell } from './spelling.ts';
import { countedOf } from './statistics.ts';

export interface StepFacts {
  readonly computation: Computation;
  readonly group: number;
  readonly rollout: number;
  readonly statistics: readonly RewardStatistics[];
  readonly siblings: RolloutExplanation;
  /** By reward, for a rule that compares a rollout with the others alone. */
  readonly peers: readonly (Peers | null)[] | null;
}

/** Steps of a counted rollout. */
export function explainSteps(facts: StepFacts): Step[] {
  const { computation, rollout, statistics } = facts;
  const { estimator } = computation.settings;
  const details = computation.result.details!;
  const steps = statistics.flatMap((own, k) => stepsOfReward(facts, own, k));
  if (estimator.perReward) steps.push(sumOfRewards(details, statistics, rollout));
  if (estimator.step) steps.push(batchStep(computation, estimator.step, rollout));
  const last = (details.afterStep ?? details.beforeStep)[rollout];
  return [
    ...steps,
    ...endSteps(estimator, last, computation.result.advantages[rowsOfRollout(computation, rollout)[0]]),
  ];
}

/** Steps of a row that keeps its own reward. */
export function passThroughSteps(computation: Computation, row: number): Step[] {
  const { adjusted, settings, result } = computation;
  const reward = adjusted.rewards[row];
  const text = ['the own reward of the row', ...adjustments(computation, row, null)].join(', ');
  const steps: Step[] = [{ step: 'reward', reward: null, text, value: reward }];
  return [...steps, ...endSteps(settings.estimator, reward, result.advantages[row])];
}

function endSteps({ clip }: Estimator, value: number, advantage: number): Step[] {
  const steps: Step[] = [];
  if (clip) {
    const bounded = value < clip[0] ? clip[0] : Math.min(value, clip[1]);
    const formula = `${spell(value)} bounded to ${spell(clip[0])} to ${spell(clip[1])} (clip)`;
    steps.push({ step: 'bounds', reward: null, text: equation(formula, bounded), value: bounded });
  }
  steps.push({ step: 'binary32', reward: null, text: 'rounded once to binary32', value: advantage });
  return steps;
}

function stepsOfReward(facts: StepFacts, own: RewardStatistics, k: number): Step[] {
  const { computation, group, rollout } = facts;
  const { estimator } = computation.settings;
  const details = computation.result.details!;
  const { reward: name, counted, mean, deviation } = own;
  const step = (kind: StepName, text: string, value: number | null): Step => ({
    step: kind,
    reward: name,
    text,
    value,
  });
  const steps = [
    step('reward', rewardText(facts, k), details.rewards[k][rollout]),
    step('mean', `of ${plural(counted, 'counted rollout')}`, mean),
    step('deviation', `s, by n - ${estimator.ddof} (ddof ${estimator.ddof})`, deviation),
  ];
  const quotient = details.quotients[k][rollout];
  if (own.guard !== null && own.guard !== 'unscaled' && own.guard !== 'single_keeps_reward')
    return [...steps, step('quotient', own.guard_reason!, quotient)];
  if (estimator.scale === 'peers') return [...steps, ...peerSteps(facts, own, k, step)];
  const baseline = baselineOf(facts, own, k);
  if (baseline.text !== null) steps.push(step('baseline', baseline.text, baseline.value));
  const { formula: difference, value: dividing } = baseline.difference;
  const isZero = difference.startsWith('0:');
  steps.push(step('difference', isZero ? difference : equation(difference, dividing), dividing));
  const divisor = divisorOf(computation, own, group, k);
  if (divisor === null) return steps;
  const { formula, note } = divisor;
  steps.push(step('divisor', equation(formula, own.divisor, note), own.divisor));
  const dividend = isZero ? spell(dividing) : `(${difference})`;
  const isNumber = !formula.includes(' ') && !formula.startsWith('-');
  const division = `${dividend} / ${isNumber ? formula : `(${formula})`}`;
  return [...steps, step('quotient', equation(division, quotient), quotient)];
}

function rewardText({ computation, rollout, siblings }: StepFacts, k: number): string {
  const row = representativeOf(computation, rollout);
  if (row < 0) return combinedText(computation, rollout, k, siblings.why);
  const part = computation.settings.estimator.perReward ? k : null;
  return [`of ${computation.columns.place(row)}`, ...adjustments(computation, row, part)].join(', ');
}

/** What was made of a row's reward before it counts. @param part which of several rewards; null: their sum */
function adjustments({ columns, adjusted, settings }: Computation, row: number, part: number | null): string[] {
  const { clipReward, rewardWeights } = settings.estimator;
  const { rewardParts: parts } = columns;
  const counts = part === null ? adjusted.rewards[row] : (adjusted.rewardParts ?? [adjusted.rewards])[part][row];
  const texts: string[] = [];
  let raw = part === null || !parts ? columns.rewards[row] : parts[part][row];
  if (part === null && parts && rewardWeights) {
    const terms = parts.map((own, k) => `${operand(rewardWeights[k])} x ${operand(own[row])}`);
    texts.push(`the sum ${terms.join(' + ')}`);
    raw = parts.reduce((sum, own, k) => sum + rewardWeights[k] * own[row], 0);
  }
  if (clipReward && raw !== counts)
    texts.push(`${spell(raw)} bounded to ${spell(clipReward[0])} to ${spell(clipReward[1])} (clip-reward)`);
  return texts;
}

const TERMS_SHOWN = 8;

function combinedText(computation: Computation, rollout: number, k: number, why: string): string {
  const { adjusted, settings } = computation;
  const column = settings.estimator.perReward ? (adjusted.rewardParts ?? [adjusted.rewards])[k] : adjusted.rewards;
  const present = rowsOfRollout(computation, rollout)
    .map((row) => column[row])
    .filter((reward) => !Number.isNaN(reward));
  if (present.length > TERMS_SHOWN) return why;
  const sum = present.map(operand).join(' + ');
  const isSum = settings.policies.siblings === 'sum';
  const formula = present.length === 1 ? spell(present[0]) : isSum ? sum : `(${sum}) / ${present.length}`;
  return equation(formula, computation.result.details!.rewards[k][rollout], why);
}

interface BaselineSteps {
  /** Null: it is the mean, which has a line of its own, or there is none. */
  readonly text: string | null;
  readonly value: number | null;
  readonly difference: { readonly formula: string; readonly value: number };
}

function baselineOf(facts: StepFacts, own: RewardStatistics, k: number): BaselineSteps {
  const { computation, group, rollout } = facts;
  const { baseline } = computation.settings.estimator;
  const details = computation.result.details!;
  const reward = details.rewards[k][rollout];
  const less = (taken: number, value: number) => ({
    formula: `${spell(reward)} - ${operand(taken)}`,
    value: value + 0,
  });
  if (baseline === 'none') return { text: 'none is subtracted', value: 0, difference: less(0, reward) };
  if (baseline === 'column') {
    const recorded = details.recordedBaselines![rollout];
    return { text: 'recorded in the row', value: recorded, difference: less(recorded, reward - recorded) };
  }
  if (baseline === 'runner-up') return runnerUp(computation, group, rollout, k);
  const { references, centres, baselines } = details.groups[k];
  const taken = baselines[group];
  const difference = less(taken, reward - references[group] - centres[group]);
  if (own.guard === 'single_keeps_reward') return { text: own.guard_reason, value: taken, difference };
  if (baseline === 'median')
    return { text: `median of ${plural(own.counted, 'counted rollout')}`, value: taken, difference };
  if (baseline === 'length-mean') return { text: lengthText(facts, k), value: taken, difference };
  return { text: null, value: taken, difference };
}

/** Only the best has an advantage. A look, no arithmetic: the difference is the engine's one subtraction. */
function runnerUp(computation: Computation, group: number, rollout: number, k: number): BaselineSteps {
  const rewards = computation.result.details!.rewards[k];
  const sorted = countedOf(computation, group).sort((a, b) => rewards[b] - rewards[a] || a - b);
  const [best, second] = sorted;
  const reward = rewards[rollout];
  const zero = (formula: string) => ({ text: null, value: null, difference: { formula, value: 0 } });
  if (second === undefined) return zero('0: there is no second best');
  if (rewards[best] === rewards[second]) return zero(`0: the best reward ${spell(rewards[best])} is tied`);
  if (rollout !== best) return zero(`0: not the best, which has ${spell(rewards[best])}`);
  const value = rewards[second];
  const difference = { formula: `${spell(reward)} - ${operand(value)}`, value: reward - value + 0 };
  return { text: 'the second best of the group', value, difference };
}

function lengthText({ computation, group }: StepFacts, k: number): string {
  const { tokens, rewards } = computation.result.details!;
  const counted = countedOf(computation, group);
  const total = tokens ? counted.reduce((sum, rollout) => sum + tokens[rollout], 0) : 0;
  if (!tokens || total === 0) return 'plain mean: no trainable tokens to weigh by';
  const terms = counted.map((rollout) => `${tokens[rollout]} x ${operand(rewards[k][rollout])}`);
  const sum = terms.length > TERMS_SHOWN ? 'sum of tokens x reward' : terms.join(' + ');
  return `mean by trainable tokens: (${sum}) / ${total}`;
}

interface DivisorText {
  readonly formula: string;
  readonly note: string | null;
}

/** Null: nothing is divided. */
function divisorOf(computation: Computation, own: RewardStatistics, group: number, k: number): DivisorText | null {
  const { baseline, scale } = computation.settings.estimator;
  if (baseline !== 'leave-one-out' || own.guard === 'single_keeps_reward')
    return scale === 'none' ? null : scaleOf(computation, own, group, k);
  const part = `(${own.counted} - 1) / ${own.counted}`;
  if (scale === 'none') return { formula: part, note: 'as r - mean of the others is n / (n - 1) x (r - mean)' };
  const { formula, note } = scaleOf(computation, own, group, k);
  return { formula: `${formula.includes(' ') ? `(${formula})` : formula} x ${part}`, note };
}

function scaleOf(computation: Computation, own: RewardStatistics, group: number, k: number): DivisorText {
  const { scale, epsilon, singleton, minStd } = computation.settings.estimator;
  const { counted, batchScale, groups } = computation.result.details!;
  const plain = (formula: string) => ({ formula, note: null });
  if (own.guard === 'single_keeps_reward') return plain(singleton === 'own-scaled' ? `1 + ${spell(epsilon)}` : '1');
  if (scale === 'group' && own.deviation! < minStd)
    return { formula: '1', note: `as s is below ${spell(minStd)} (min-std)` };
  if (own.guard === 'unscaled') return { formula: '1', note: own.guard_reason };
  if (scale === 'group') return plain(`${spell(own.deviation)} + ${spell(epsilon)}`);
  if (scale === 'mean') return plain(`${spell(own.mean)} + ${spell(epsilon)}`);
  if (scale === 'mad') return plain(`${MAD_FACTOR} x ${spell(groups[k].medianDistances[group])} + ${spell(epsilon)}`);
  const rollouts = counted.reduce((sum, one) => sum + one, 0);
  const note = `the first is the standard deviation of the ${plural(rollouts, 'counted rollout')} of the batch`;
  return { formula: `${spell(batchScale[k].deviation!)} + ${spell(epsilon)}`, note };
}

function peerSteps(
  { computation, rollout, peers }: StepFacts,
  own: RewardStatistics,
  k: number,
  step: (kind: StepName, text: string, value: number | null) => Step,
): Step[] {
  const details = computation.result.details!;
  const { epsilon } = computation.settings.estimator;
  const reward = details.rewards[k][rollout];
  const quotient = details.quotients[k][rollout];
  const others = peers?.[k];
  if (!others) return [step('quotient', own.guard_reason ?? 'there are no others', quotient)];
  const { count, mean, deviation, equal } = others;
  const steps = [
    step('baseline', `mean of the ${plural(count, 'other')}`, mean),
    equal
      ? step('divisor', '1, as they are equal', 1)
      : step(
          'divisor',
          equation(
            `${spell(deviation)} + ${spell(epsilon)}`,
            deviation + epsilon,
            'the first is their standard deviation',
          ),
          deviation + epsilon,
        ),
  ];
  const divisor = equal ? '1' : `(${spell(deviation)} + ${spell(epsilon)})`;
  const division = `(${spell(reward)} - ${operand(mean)}) / ${divisor}`;
  return [...steps, step('quotient', equation(division, quotient), quotient)];
}

function sumOfRewards(
  { quotients, beforeStep }: Details,
  statistics: readonly RewardStatistics[],
  rollout: number,
): Step {
  const terms = statistics.map(({ weight }, k) => `${operand(weight)} x ${operand(quotients[k][rollout])}`);
  const value = orNull(beforeStep[rollout]);
  return { step: 'sum', reward: null, text: equation(terms.join(' + '), value), value };
}

function batchStep(
  { result, plan }: Computation,
  { weight, ddof, epsilon, epsilonAt }: BatchStep,
  rollout: number,
): Step {
  const details = result.details!;
  const { mean, divisor, status } = details.step!;
  const counted = details.counted.reduce((sum, one) => sum + one, 0);
  const value = details.afterStep![rollout];
  let over = `${plural(counted, 'counted rollout')} of the batch`;
  if (weight === 'tokens') {
    let tokens = 0;
    for (let i = 0; i < plan.rolloutCount; i++) if (details.counted[i] === 1) tokens += details.tokens![i];
    over = `${tokens} trainable tokens of ${over}`;
  }
  const added = spell(epsilon);
  const dividedBy = { outside: `(S + ${added})`, inside: `sqrt(S^2 + ${added})`, floor: `sqrt(max(S^2, ${added}))` }[
    epsilonAt
  ];
  const settings = `(A - M) / ${dividedBy} with M and S over ${over}, ddof ${ddof}`;
  const text =
    status === GROUP_STATUS.flat
      ? `0: all advantages of the batch are equal (${settings})`
      : equation(`(${spell(details.beforeStep[rollout])} - ${operand(mean)}) / ${spell(divisor)}`, value, settings);
  return { step: weight === 'tokens' ? 'token_step' : 'batch_step', reward: null, text, value };
}
