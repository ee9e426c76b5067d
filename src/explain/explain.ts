/** Why a row has its advantage: everything that is said about it, in one object. */
import type { Engine } from '../engine.ts';
import { isPassThrough } from '../estimators/rule.ts';
import { groupOfRow } from '../plan/describe.ts';
import { judgeTiers } from '../plan/tiers.ts';
import { type Alternative, type Computation, type Peers, peersOf } from './computation.ts';
import type { Explanation, Instead, Step } from './explanation.ts';
import { explainGroup } from './group.ts';
import { explainRollout, type PlaceOf } from './rollout.ts';
import { explainLike, explainRule } from './rule.ts';
import { orNull, plural } from './spelling.ts';
import { countedOf, explainStatistics } from './statistics.ts';
import { explainSteps, passThroughSteps } from './steps.ts';

export interface Limits {
  /** Members of a group, and rows of a rollout, that are listed at most. */
  readonly members: number;
  readonly rows: number;
}

export interface Question {
  /** Row of the batch, from 0. */
  readonly row: number;
  /** The rollout as a whole is asked for, at one of its rows. */
  readonly wholeRollout: boolean;
}

export async function explainRow(
  engine: Engine,
  computation: Computation,
  alternative: Alternative | null,
  { row, wholeRollout }: Question,
  placeOf: PlaceOf,
  limits: Limits,
): Promise<Explanation> {
  const { settings, plan, result, columns, options } = computation;
  const rollout = plan.rowRollout[row];
  const group = groupOfRow(plan, row);
  const passes = isPassThrough(settings.estimator);
  const siblings = explainRollout(computation, rollout, wholeRollout ? -1 : row, placeOf, limits.rows);
  const statistics = passes ? [] : explainStatistics(computation, group, rollout);
  const members = passes ? null : explainGroup(computation, group, rollout, placeOf, limits.members);
  const tiers = judgeTiers(columns, { ...options, byPosition: settings.byPosition });
  const { backend, backend_reason } = result.report;
  const own = tiers[plan.tier - 1];
  return {
    ...placeOf(row),
    advantage: result.advantages[row],
    grouping: { tier: plan.tier, rule: own.rule, reason: own.reason, passed_over: tiers.slice(0, plan.tier - 1) },
    rule: explainRule(settings),
    like: explainLike(settings),
    group: members,
    rollout: siblings,
    statistics,
    steps: await stepsOf(),
    instead: alternative && explainInstead(alternative, row),
    backend,
    backend_reason,
  };

  async function stepsOf(): Promise<Step[]> {
    if (passes) return passThroughSteps(computation, row);
    const reason = members!.members.find(({ asked }) => asked)!.left_out;
    if (reason !== null) {
      const text = `the rollout is left out of the statistics (${reason}) and has advantage 0`;
      const outside = statistics.flatMap(({ reward: name, mean, counted }): Step[] =>
        mean === null
          ? []
          : [{ step: 'mean', reward: name, text: `of ${plural(counted, 'counted rollout')}`, value: mean }],
      );
      return [
        ...outside,
        { step: 'left_out', reward: null, text, value: null },
        { step: 'binary32', reward: null, text: 'left out', value: result.advantages[row] },
      ];
    }
    const peers = settings.estimator.scale === 'peers' ? await allPeers(engine, computation, group, rollout) : null;
    return explainSteps({ computation, group, rollout, statistics, siblings, peers });
  }
}

function allPeers(engine: Engine, computation: Computation, group: number, rollout: number): Promise<(Peers | null)[]> {
  const others = countedOf(computation, group).filter((other) => other !== rollout);
  const { ddof } = computation.settings.estimator;
  const rewards = computation.result.details!.rewards;
  return Promise.all(
    rewards.map((own) =>
      peersOf(
        engine,
        others.map((other) => own[other]),
        ddof,
      ),
    ),
  );
}

function explainInstead({ siblings, computed }: Alternative, row: number): Instead {
  if (typeof computed === 'string')
    return { siblings, counted: 0, means: [], deviations: [], advantage: null, error: computed };
  const group = groupOfRow(computed.plan, row);
  const { groups } = computed.result.details!;
  return {
    siblings,
    counted: countedOf(computed, group).length,
    means: groups.map(({ means }) => orNull(means[group])),
    deviations: groups.map(({ deviations }) => orNull(deviations[group])),
    advantage: computed.result.advantages[row],
    error: null,
  };
}
