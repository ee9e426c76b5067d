/** What frameworks' own code gives, against `--like` (test/fixtures/README.md says how the numbers were made). */
import { readFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { ruleOptionsFromText } from '../../src/commands/flags/rule.ts';
import { type Batch, createEngine } from '../../src/index.ts';

interface FrameworkCase {
  readonly framework: string;
  readonly version: string;
  readonly estimator: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly flags: string;
  readonly tolerance: number;
  /** One entry a row; a row is a rollout by itself unless `rollouts` says otherwise. */
  readonly groups: readonly (readonly (number | null | readonly number[])[])[];
  readonly rollouts?: readonly (readonly number[])[];
  readonly status?: readonly (readonly string[])[];
  readonly tokens?: readonly (readonly number[])[];
  readonly baselines?: readonly (readonly number[])[];
  readonly advantages: readonly (readonly number[])[];
}

const cases = JSON.parse(
  readFileSync(new URL('../fixtures/frameworks-vectors.json', import.meta.url), 'utf8'),
) as FrameworkCase[];

const engine = createEngine({ backend: 'cpu' });
afterAll(() => engine.close());

function batchOf({ groups, rollouts, status, tokens, baselines }: FrameworkCase): Batch {
  const rewards = groups.flat();
  const several = rewards.filter((reward): reward is readonly number[] => Array.isArray(reward));
  const columns = several[0]?.map((_, k) => [`reward ${k}`, several.map((own) => own[k])]);
  return {
    ...(columns ? { rewards: Object.fromEntries(columns) } : { reward: rewards as (number | null)[] }),
    trainableTokens: tokens?.flat(),
    baseline: baselines?.flat(),
    status: status?.flat(),
    rolloutId: rollouts?.flatMap((ids, at) => ids.map((id) => `${at}/${id}`)) ?? rewards.map((_, i) => i),
  };
}

test.each(
  cases.map(
    (one) => [`${one.framework} ${one.version} ${one.estimator} ${JSON.stringify(one.settings)}`, one] as const,
  ),
)('%s', async (_, one) => {
  const sizes = one.groups.map((group) => group.length);
  const byFlags = one.flags.includes('--n-samples-per-prompt');
  const options = ruleOptionsFromText(one.flags, byFlags ? {} : { promptGroupSizes: sizes });
  const left = [...(await engine.normalize(batchOf(one), options)).advantages];
  for (const [at, theirs] of one.advantages.entries()) {
    const ours = left.splice(0, theirs.length);
    const allowed = one.tolerance * (1 + Math.max(...ours.map(Math.abs)));
    const off = theirs.filter((value, i) => !(Math.abs(value - ours[i]) <= allowed));
    expect(off, `group ${at}: ${ours} where theirs are ${theirs}`).toEqual([]);
  }
});
