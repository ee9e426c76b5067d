/** Two recordings of one batch, compared by structure: the same rows in the same rollouts and groups, the rest to the bit. */
import { InputError } from '../errors.ts';
import type { Plan } from '../plan/plan.ts';
import { planBatch } from '../plan/plan.ts';
import { isRemoved, KEYED_BY_INDEX, type SampleColumns, statusOf } from '../samples/columns.ts';
import { NO_ID } from '../samples/ids.ts';
import { tokensOfRows } from '../samples/row-tokens.ts';

/** Fields that say which row it is; `--ignore` leaves what they are called out of the comparison, not what they join. */
export const IDENTITY_FIELDS = ['group_index', 'rollout_id', 'index'] as const;
export type IdentityField = (typeof IDENTITY_FIELDS)[number];

/** Rows are compared in their order, or by the ids of group and rollout and their order inside it. */
export type Matching = 'order' | 'identity';

export interface RecordingDifference {
  readonly field: string;
  /** Rows from 1; null: the recording has no such row. */
  readonly rowA: number | null;
  readonly rowB: number | null;
  readonly a: string;
  readonly b: string;
}

export interface RecordingComparison {
  readonly rows: readonly [a: number, b: number];
  /** Rows that were compared. */
  readonly compared: number;
  /** By field, how many rows differ. */
  readonly differing: Readonly<Record<string, number>>;
  /** The first few of each field. */
  readonly examples: readonly RecordingDifference[];
}

const EXAMPLES_PER_FIELD = 3;

/** Fields that are looked at more than once in a row. */
const LOOKED_AT_AGAIN = new Set([
  ...IDENTITY_FIELDS,
  ...['reward', 'baseline', 'trainable_tokens', 'status', 'remove_sample', 'rollout structure', 'group structure'],
]);

/** Row of the second recording for each row of the first; -1: none. */
export type Partners = Int32Array;

/** @throws InputError where rows have no identity to match or to compare structure by */
export function requireIdentities(name: string, { rolloutCodes, rowCount, place }: SampleColumns): void {
  const row = rolloutCodes === null ? (rowCount > 0 ? 0 : -1) : rolloutCodes.indexOf(NO_ID);
  if (row < 0) return;
  throw new InputError(
    `${name}: ${place(row)}: has neither rollout_id nor index: two recordings are compared by rollouts (require Sample.rollout_id or Sample.index)`,
  );
}

export function partnersOf(a: SampleColumns, b: SampleColumns, matching: Matching): Partners {
  const partners = new Int32Array(a.rowCount).fill(-1);
  if (matching === 'order') return partners.map((_, row) => (row < b.rowCount ? row : -1));
  const rows = new Map<string, number>();
  for (const [row, key] of keysOf(b)) rows.set(key, row);
  for (const [row, key] of keysOf(a)) partners[row] = rows.get(key) ?? -1;
  return partners;
}

/** The ids of group and rollout, and the how-manieth row of them it is. */
function* keysOf(columns: SampleColumns): Generator<[row: number, key: string]> {
  const counts = new Map<string, number>();
  for (let row = 0; row < columns.rowCount; row++) {
    const ids = JSON.stringify([idOf(columns, 'group_index', row), rolloutOf(columns, row)]);
    const count = counts.get(ids) ?? 0;
    counts.set(ids, count + 1);
    yield [row, `${ids}${count}`];
  }
}

export class RecordingComparer {
  readonly #a: SampleColumns;
  readonly #b: SampleColumns;
  readonly #partners: Partners;
  readonly #differing = new Map<string, number>();
  readonly #examples: RecordingDifference[] = [];
  /** By field, 1 where a row of the first recording was noted. */
  readonly #noted = new Map<string, Uint8Array>();
  readonly #numbers: readonly NumberField[];
  readonly #tokens: readonly [a: Uint32Array | null, b: Uint32Array | null];

  constructor(a: SampleColumns, b: SampleColumns, partners: Partners) {
    this.#a = a;
    this.#b = b;
    this.#partners = partners;
    this.#numbers = numberFields(a, b);
    this.#tokens = [tokensOfRows(a), tokensOfRows(b)];
  }

  compareRows(ignored: ReadonlySet<string>): void {
    const met = new Uint8Array(this.#b.rowCount);
    for (let row = 0; row < this.#a.rowCount; row++) {
      const partner = this.#partners[row];
      if (partner < 0) this.note('row', row, null, describeRow(this.#a, row), 'no such row');
      else {
        met[partner] = 1;
        this.#compareFields(row, partner, ignored);
      }
    }
    for (let row = 0; row < met.length; row++)
      if (met[row] === 0) this.note('row', null, row, 'no such row', describeRow(this.#b, row));
    this.#compareStructure();
  }

  /** A row counts once for a field. @param a what stands there as text */
  note(field: string, rowA: number | null, rowB: number | null, a: string, b: string): void {
    if (rowA !== null && LOOKED_AT_AGAIN.has(field)) {
      const noted = this.#noted.get(field) ?? new Uint8Array(this.#a.rowCount);
      this.#noted.set(field, noted);
      if (noted[rowA] === 1) return;
      noted[rowA] = 1;
    }
    const count = this.#differing.get(field) ?? 0;
    this.#differing.set(field, count + 1);
    if (count >= EXAMPLES_PER_FIELD) return;
    this.#examples.push({ field, rowA: rowA === null ? null : rowA + 1, rowB: rowB === null ? null : rowB + 1, a, b });
  }

  finish(): RecordingComparison {
    return {
      rows: [this.#a.rowCount, this.#b.rowCount],
      compared: this.#partners.reduce((count, partner) => count + Number(partner >= 0), 0),
      differing: Object.fromEntries(this.#differing),
      examples: this.#examples,
    };
  }

  #compareFields(row: number, partner: number, ignored: ReadonlySet<string>): void {
    for (const field of IDENTITY_FIELDS) {
      if (ignored.has(field)) continue;
      const [a, b] = [idOf(this.#a, field, row), idOf(this.#b, field, partner)];
      if (a !== b) this.note(field, row, partner, a ?? 'none', b ?? 'none');
    }
    for (const { field, a, b } of this.#numbers)
      if (!ignored.has(field) && !Object.is(a[row], b[partner]))
        this.note(field, row, partner, spell(a[row]), spell(b[partner]));
    if (!ignored.has('trainable_tokens')) this.#compareTokens(row, partner);
    const texts: [string, string, string][] = [
      ['status', statusOf(this.#a.flags, row), statusOf(this.#b.flags, partner)],
      ['remove_sample', String(isRemoved(this.#a.flags, row)), String(isRemoved(this.#b.flags, partner))],
    ];
    for (const [field, a, b] of texts) if (!ignored.has(field) && a !== b) this.note(field, row, partner, a, b);
  }

  #compareTokens(row: number, partner: number): void {
    const [ours, theirs] = this.#tokens;
    if (ours && theirs && ours[row] === theirs[partner]) return;
    if (!ours && !theirs) return;
    const a = ours ? String(ours[row]) : 'unknown (known in the second only)';
    const b = theirs ? String(theirs[partner]) : 'unknown (known in the first only)';
    this.note('trainable_tokens', row, partner, a, b);
  }

  /** Which rows are one rollout, and which one group, whatever they are called. */
  #compareStructure(): void {
    const [a, b] = [planBatch(this.#a), planBatch(this.#b)];
    const groups = [groupsOf(a), groupsOf(b)];
    const same = { rollouts: new Map<number, number>(), groups: new Map<number, number>() };
    const back = { rollouts: new Map<number, number>(), groups: new Map<number, number>() };
    for (let row = 0; row < this.#partners.length; row++) {
      const partner = this.#partners[row];
      if (partner < 0) continue;
      this.#match(
        'rollout structure',
        same.rollouts,
        back.rollouts,
        a.rowRollout[row],
        b.rowRollout[partner],
        row,
        partner,
      );
      this.#match('group structure', same.groups, back.groups, groups[0][row], groups[1][partner], row, partner);
    }
  }

  /** What is one in either recording is one in the other. */
  #match(
    field: string,
    there: Map<number, number>,
    back: Map<number, number>,
    a: number,
    b: number,
    row: number,
    partner: number,
  ): void {
    if (!there.has(a) && !back.has(b)) {
      there.set(a, b);
      back.set(b, a);
      return;
    }
    if (there.get(a) === b && back.get(b) === a) return;
    const what = field.split(' ')[0];
    this.note(field, row, partner, `${what} ${a + 1} of the first`, `${what} ${b + 1} of the second`);
  }
}

interface NumberField {
  readonly field: string;
  readonly a: Float64Array;
  readonly b: Float64Array;
}

/** Binary64 of each row: the reward, the several that it may be the sum of, the baseline. */
function numberFields(a: SampleColumns, b: SampleColumns): NumberField[] {
  const fields = [{ field: 'reward', a: a.rewards, b: b.rewards }];
  for (const [i, part] of (a.rewardParts ?? []).entries()) {
    const other = b.rewardParts?.[i];
    if (other) fields.push({ field: a.rewardNames?.[i] ?? 'reward', a: part, b: other });
  }
  if (a.baselines || b.baselines)
    fields.push({ field: 'baseline', a: a.baselines ?? missing(a), b: b.baselines ?? missing(b) });
  return fields;
}

function missing({ rowCount }: SampleColumns): Float64Array {
  return new Float64Array(rowCount).fill(Number.NaN);
}

function groupsOf({ rowRollout, groupOffsets }: Plan): Uint32Array {
  const ofRollout = new Uint32Array(groupOffsets[groupOffsets.length - 1]);
  for (let group = 0; group + 1 < groupOffsets.length; group++)
    ofRollout.fill(group, groupOffsets[group], groupOffsets[group + 1]);
  return rowRollout.map((rollout) => ofRollout[rollout]);
}

function idOf(columns: SampleColumns, field: IdentityField, row: number): string | null {
  const { groupCodes, rolloutCodes, groupIds, rolloutIds, flags } = columns;
  if (field === 'group_index')
    return groupCodes && groupCodes[row] !== NO_ID ? groupIds.describe(groupCodes[row]) : null;
  const isIndex = flags !== null && (flags[row] & KEYED_BY_INDEX) !== 0;
  if (rolloutCodes === null || rolloutCodes[row] === NO_ID || isIndex !== (field === 'index')) return null;
  return rolloutIds.describe(rolloutCodes[row]);
}

const rolloutOf = (columns: SampleColumns, row: number) =>
  idOf(columns, 'rollout_id', row) ?? idOf(columns, 'index', row);

function describeRow(columns: SampleColumns, row: number): string {
  return `${columns.place(row)}, rollout ${rolloutOf(columns, row) ?? 'none'}`;
}

function spell(value: number): string {
  if (Number.isNaN(value)) return 'missing';
  const bits = new BigUint64Array(Float64Array.of(value).buffer)[0];
  return Number.isInteger(value) && !Object.is(value, -0)
    ? String(value)
    : `${value} (0x${bits.toString(16).padStart(16, '0')})`;
}
