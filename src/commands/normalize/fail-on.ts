/** Conditions under which a run that did its work still fails (`--fail-on`). */
import { UsageError } from '../../errors.ts';
import type { Report } from '../../report.ts';
import { WARNING_CODES } from '../../warnings.ts';

/** Wherever it was computed. */
type Judged = Omit<Report, 'seconds' | 'backend'>;

/** What can be counted, and of how many. */
interface Counted {
  readonly count: (report: Judged) => number;
  readonly of: (report: Judged) => number;
  /** `3 of 4` goes before it. */
  readonly what: string;
}

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, count) => total + count, 0);
const largerGroups = ({ groups, singleton_groups, empty_groups }: Judged) => groups - singleton_groups - empty_groups;

const COUNTED = {
  flat: { count: (report) => report.flat_groups, of: largerGroups, what: 'groups of two or more are flat' },
  singletons: {
    count: (report) => report.singleton_groups,
    of: ({ groups }) => groups,
    what: 'groups have one counted rollout',
  },
  disagreement: {
    count: ({ siblings }) => siblings.disagreeing,
    of: ({ siblings }) => siblings.multi_row,
    what: 'rollouts of several rows have siblings with different rewards',
  },
  doubtful: {
    count: (report) => report.doubtful_representatives,
    of: ({ siblings }) => siblings.multi_row,
    what: 'rollouts of several rows have a doubtful representative',
  },
  excluded: { count: ({ excluded }) => sum(excluded), of: ({ rollouts }) => rollouts, what: 'rollouts are excluded' },
  unscaled: {
    count: (report) => report.unscaled_groups,
    of: largerGroups,
    what: 'groups of two or more are not scaled, as their median distance is 0',
  },
  'not-positive': {
    count: (report) => report.not_positive_groups,
    of: largerGroups,
    what: 'groups of two or more have advantage 0, as their mean is not above 0',
  },
} as const satisfies Record<string, Counted>;

/** Of a report, why it is so; null: it is not. */
const STATED: Readonly<Record<string, (report: Judged) => string | null>> = {
  fallback: ({ grouping, grouping_rule }) =>
    grouping > 2 ? `groups are by ${grouping_rule} (tier ${grouping})` : null,
  backend: (report) => textOf(report, 'backend'),
  warnings: ({ warnings }) => (warnings.length > 0 ? `${warnings.length} warnings, the first: ${warnings[0]}` : null),
};

export interface Condition {
  /** As it was given. */
  readonly text: string;
  /** Why a report fails; null: it does not. */
  judge(report: Judged): string | null;
}

/** @throws UsageError that lists the names there are */
export function parseConditions(texts: readonly string[]): Condition[] {
  return [...new Set(texts)].map(parseCondition);
}

/** The conditions that a report does not meet, with the numbers. */
export function failuresOf(report: Judged, conditions: readonly Condition[]): { condition: string; why: string }[] {
  return conditions.flatMap((condition) => {
    const why = condition.judge(report);
    return why === null ? [] : [{ condition: condition.text, why }];
  });
}

function parseCondition(text: string): Condition {
  const [name, limit] = splitOnce(text);
  const counted: Counted | undefined = Object.hasOwn(COUNTED, name) ? COUNTED[name as keyof typeof COUNTED] : undefined;
  if (counted) {
    const share = limit === null ? 0 : parseShare(text, limit);
    return { text, judge: (report) => judgeShare(counted, share, report) };
  }
  const stated = Object.hasOwn(STATED, name) ? STATED[name] : undefined;
  const isCode = WARNING_CODES.some((code) => code === name);
  if (!stated && !isCode) throw new UsageError(`--fail-on: unknown condition '${text}'; ${KNOWN}`);
  if (limit !== null) throw new UsageError(`--fail-on: '${text}': ${name} has no share; ${KNOWN}`);
  return { text, judge: stated ?? ((report) => textOf(report, name)) };
}

/** Share of whole, divided once: a share that is exactly at a limit which is written in decimals is not above it. */
function judgeShare({ count, of, what }: Counted, limit: number, report: Judged): string | null {
  const found = count(report);
  const all = of(report);
  if (found === 0 || !(found / all > limit)) return null;
  return `${found} of ${all} ${what} (${Number((found / all).toPrecision(3))})`;
}

function splitOnce(text: string): [name: string, limit: string | null] {
  const at = text.indexOf('>');
  return at < 0 ? [text.trim(), null] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

const decimal = /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

function parseShare(text: string, limit: string): number {
  const share = decimal.test(limit) ? Number(limit) : Number.NaN;
  if (share >= 0 && share < 1) return share;
  throw new UsageError(
    `--fail-on: '${text}': expected a share from 0 to less than 1 after '>', got '${limit}'; ${KNOWN}`,
  );
}

function textOf({ warnings, warning_codes }: Judged, code: string): string | null {
  const at = (warning_codes as readonly string[]).indexOf(code);
  return at < 0 ? null : warnings[at];
}

const OTHER_CODES = WARNING_CODES.filter((code) => !Object.hasOwn(COUNTED, code) && !Object.hasOwn(STATED, code));
const KNOWN = `with a share, as in flat>0.5: ${Object.keys(COUNTED).join(', ')}; without: ${Object.keys(STATED).join(', ')}; warnings by their code: ${OTHER_CODES.join(', ')}`;
