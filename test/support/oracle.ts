/**
 * What the right answer is, from nothing but the definitions: advantages in exact rational arithmetic, the accuracy
 * bound, and a naive model of groups, rollouts, representatives and exclusion on plain objects. Uses nothing of src/.
 */
import {
  decompose,
  distance,
  exactly,
  integerSquareRoot,
  isGreater,
  largest,
  plus,
  type Rational,
  roundToBinary32,
  scaled,
  times,
  ulpOfBinary32,
  ZERO,
} from './rational.ts';

export { exactly, integerSquareRoot, type Rational, roundToBinary32, ulpOfBinary32 };

/** How an advantage is made from the counted rewards of a group. */
export interface Rule {
  /** False: r - m. True: (r - m) / (s + epsilon). */
  readonly divide: boolean;
  readonly ddof: 0 | 1;
  readonly epsilon: number;
}

export const CENTRE: Rule = { divide: false, ddof: 1, epsilon: 0 };
export const GRPO: Rule = { divide: true, ddof: 1, epsilon: 1e-6 };

/** Bits of the square root after the point, in units that are at most 1/sqrt(n - ddof) of it. */
const ROOT_BITS = 320n;

/**
 * The exact advantages of a group. With integers R_i = r_i / u for a unit u that divides all rewards and epsilon,
 * and C_i = n R_i - sum R, they are C_i u / n, or C_i / (sqrt(sum C^2 / (n - ddof)) + n epsilon / u).
 */
export function exactAdvantages(rewards: readonly number[], { divide, ddof, epsilon }: Rule): Rational[] {
  if (rewards.every((reward) => reward === rewards[0])) return rewards.map(() => ZERO);
  const parts = [...rewards, epsilon].map(decompose);
  const unit = parts.reduce((least, { exponent }) => Math.min(least, exponent), 1024);
  const integers = parts.map(({ mantissa, exponent }) => mantissa << BigInt(exponent - unit));
  const offset = integers.pop()!;
  const count = BigInt(rewards.length);
  const sum = integers.reduce((total, value) => total + value, 0n);
  const centred = integers.map((value) => count * value - sum);
  if (!divide) return centred.map((value) => scaled({ numerator: value, denominator: count }, unit));
  const squares = centred.reduce((total, value) => total + value * value, 0n);
  const root = integerSquareRoot((squares << (2n * ROOT_BITS)) / (count - BigInt(ddof)));
  const denominator = root + ((count * offset) << ROOT_BITS);
  return centred.map((value) => ({ numerator: value << ROOT_BITS, denominator }));
}

/** Share of a group's largest advantage that binary64 arithmetic may cost: contract section 5. */
const SPREAD_BITS = -44;

/**
 * Where advantages leave the accuracy bound: |advantage - exact| <= 1 ULP of binary32 at the exact value + 2^-44 of the
 * group's largest |advantage|. Empty if they keep it. `factor` widens the whole bound.
 */
export function outsideBound(advantages: readonly number[], exact: readonly Rational[], factor = 1n): string[] {
  const share = scaled(largest(exact), SPREAD_BITS);
  const outside: string[] = [];
  for (const [i, advantage] of advantages.entries()) {
    const bound = times(plus(ulpOfBinary32(exact[i]), share), factor);
    if (Number.isFinite(advantage) && !isGreater(distance(exactly(advantage), exact[i]), bound)) continue;
    outside.push(`entry ${i}: ${advantage} where ${roundToBinary32(exact[i])} is right`);
  }
  return outside;
}

/** The same bound for the difference of two results, each of which may be off by it. */
export function apart(one: readonly number[], other: readonly number[], exact: readonly Rational[]): string[] {
  const share = scaled(largest(exact), SPREAD_BITS);
  return one.flatMap((value, i) => {
    const bound = times(plus(ulpOfBinary32(exact[i]), share), 2n);
    return isGreater(distance(exactly(value), exactly(other[i])), bound) ? [`entry ${i}: ${value}, ${other[i]}`] : [];
  });
}

/** A row as a plain object. Absent and null are the same. */
export interface PlainRow {
  readonly groupIndex?: PlainId;
  readonly rolloutId?: PlainId;
  readonly index?: PlainId;
  /** NaN and infinities are missing rewards, as null is. */
  readonly reward: number | null;
  readonly trainableTokens?: number | null;
  readonly lossMask?: readonly (number | boolean)[] | null;
  readonly responseLength?: number | null;
  readonly removeSample?: boolean | null;
  readonly status?: string | null;
}
type PlainId = number | bigint | string | null;

export interface ModelOptions {
  readonly promptGroupSizes?: readonly number[];
  readonly nSamplesPerPrompt?: number;
  readonly rolloutBatchSize?: number;
  readonly siblings?: string;
  readonly exclude?: readonly string[];
}

export interface ModelRollout {
  readonly rows: number[];
  /** NaN: missing. */
  reward: number;
  /** Why it is not counted; null: it is. */
  excluded: string | null;
}

export interface Model {
  readonly tier: 1 | 2 | 3 | 4;
  /** Rows of each group in row order, groups in first-seen order. */
  readonly groups: number[][];
  /** Rollouts of each group in first-seen order. */
  readonly rollouts: ModelRollout[][];
}

/** Groups, rollouts, their rewards and who counts. Throws where the rules refuse the rows. */
export function modelOf(rows: readonly PlainRow[], options: ModelOptions = {}): Model {
  const { siblings = 'mainstream', exclude = [] } = options;
  const { tier, groups } = groupsOf(rows, options);
  const tokens = tokensOf(rows);
  const rollouts = groups.map((group) => {
    const found = new Map<string, number[]>();
    for (const row of group) {
      const id = rows[row].rolloutId ?? rows[row].index ?? null;
      const key = siblings === 'rows' || id === null ? `row ${row}` : keyOf(id);
      found.set(key, [...(found.get(key) ?? []), row]);
    }
    return [...found.values()].map((members) => rolloutOf(rows, members, tokens, siblings, exclude));
  });
  return { tier, groups, rollouts };
}

/** The exact advantage of every row; rows of excluded rollouts have 0. */
export function modelAdvantages({ rollouts }: Model, rowCount: number, rule: Rule): Rational[] {
  const advantages: Rational[] = Array.from({ length: rowCount }, () => ZERO);
  for (const group of rollouts) {
    const counted = group.filter(({ excluded }) => excluded === null);
    const exact = exactAdvantages(
      counted.map(({ reward }) => reward),
      rule,
    );
    for (const [i, { rows }] of counted.entries()) for (const row of rows) advantages[row] = exact[i];
  }
  return advantages;
}

function groupsOf(rows: readonly PlainRow[], options: ModelOptions): Pick<Model, 'tier' | 'groups'> {
  const { promptGroupSizes: sizes, nSamplesPerPrompt: samples = 0, rolloutBatchSize: prompts = 0 } = options;
  const all = rows.map((_, row) => row);
  if (sizes) {
    if (sizes.reduce((sum, size) => sum + size, 0) !== rows.length) throw new Error('sizes do not sum to the rows');
    return { tier: 1, groups: sizes.map((size) => all.splice(0, size)).filter((group) => group.length > 0) };
  }
  if (rows.every(({ groupIndex }) => groupIndex !== null && groupIndex !== undefined)) {
    const groups = new Map<string, number[]>();
    for (const row of all) {
      const key = keyOf(rows[row].groupIndex!);
      groups.set(key, [...(groups.get(key) ?? []), row]);
    }
    return { tier: 2, groups: [...groups.values()] };
  }
  if (samples * prompts !== rows.length) return { tier: 4, groups: [all] };
  return { tier: 3, groups: Array.from({ length: prompts }, () => all.splice(0, samples)) };
}

/** Equal exactly where the ids are. */
export function keyOf(id: NonNullable<PlainId>): string {
  return typeof id === 'string' ? `text ${id}` : `integer ${BigInt(id)}`;
}

/** Trainable tokens per row; null where the batch says nothing about them. */
function tokensOf(rows: readonly PlainRow[]): number[] | null {
  const counts = rows.map((row) => {
    const ones = row.lossMask?.reduce<number>((sum, entry) => sum + Number(entry), 0);
    return row.trainableTokens ?? ones ?? row.responseLength ?? null;
  });
  if (counts.every((count) => count === null)) return null;
  return counts.map((count, row) => (rows[row].removeSample ? 0 : (count ?? 0)));
}

function rolloutOf(
  rows: readonly PlainRow[],
  members: number[],
  tokens: number[] | null,
  siblings: string,
  exclude: readonly string[],
): ModelRollout {
  const rewardOf = (row: number) => (Number.isFinite(rows[row].reward) ? (rows[row].reward as number) : Number.NaN);
  const reasonOf = (row: number): string | null => {
    const { removeSample, status } = rows[row];
    const applies: Record<string, boolean> = {
      removed: removeSample === true,
      untrainable: tokens !== null && tokens[row] === 0,
      'missing-reward': Number.isNaN(rewardOf(row)),
      [status ?? 'completed']: true,
    };
    return exclude.find((reason) => applies[reason]) ?? null;
  };
  const present = members.map(rewardOf).filter((reward) => !Number.isNaN(reward));
  if (siblings === 'shared' && present.some((reward) => reward !== present[0])) throw new Error('siblings disagree');
  if (['mean', 'sum', 'shared'].includes(siblings)) {
    const sum = present.reduce((total, reward) => total + reward, 0);
    const reward = { mean: sum / present.length, sum, shared: present[0] ?? Number.NaN }[siblings]!;
    const reasons = members.map(reasonOf);
    const all = reasons.every((reason) => reason !== null);
    return { rows: members, reward, excluded: all ? exclude.find((reason) => reasons.includes(reason))! : null };
  }
  const ranks: Record<string, (row: number) => number> = {
    mainstream: (row) => tokens?.[row] ?? 0,
    first: () => 0,
    rows: () => 0,
    last: (row) => row,
    max: (row) => (Number.isNaN(rewardOf(row)) ? Number.NEGATIVE_INFINITY : rewardOf(row)),
    min: (row) => (Number.isNaN(rewardOf(row)) ? Number.NEGATIVE_INFINITY : -rewardOf(row)),
  };
  const rank = ranks[siblings];
  const chosen = members.reduce((best, row) => (rank(row) > rank(best) ? row : best));
  return { rows: members, reward: rewardOf(chosen), excluded: reasonOf(chosen) };
}

/** The rows as columns, the way a caller of the library gives them; columns that no row has are left out. */
export function columnsOf(rows: readonly PlainRow[]) {
  const column = <K extends keyof PlainRow>(field: K) =>
    rows.some((row) => row[field] !== undefined) ? rows.map((row) => row[field]) : undefined;
  return {
    reward: rows.map(({ reward }) => reward),
    groupIndex: column('groupIndex'),
    rolloutId: column('rolloutId'),
    index: column('index'),
    trainableTokens: column('trainableTokens'),
    lossMask: column('lossMask'),
    responseLength: column('responseLength'),
    removeSample: column('removeSample'),
    status: column('status'),
  };
}
