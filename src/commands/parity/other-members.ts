/** The members of two lines that belong together, but those whose whole value was compared as a column. */
import type { IdSource, Layout } from '../../io/layouts/layout.ts';
import type { Reference } from '../../io/layouts/reference.ts';
import { excerptOf, excerptsOf, membersOf, sameValue } from '../../parity/members.ts';
import type { RecordingComparer } from '../../parity/recordings.ts';
import { exactTextOf, shownText } from '../../parity/unescaped.ts';
import { type SampleColumns, statusOf } from '../../samples/columns.ts';

/** Whether the column says all that the member does. */
type IsTold = (row: number, partner: number) => boolean;

const always: IsTold = () => true;

export class OtherMembers {
  readonly #comparer: RecordingComparer;
  readonly #ignored: ReadonlySet<string>;
  /** By exact name. */
  readonly #columns: ReadonlyMap<string, IsTold>;

  constructor(
    layout: Layout,
    a: SampleColumns,
    b: SampleColumns,
    ignored: ReadonlySet<string>,
    comparer: RecordingComparer,
  ) {
    this.#comparer = comparer;
    this.#ignored = new Set([...ignored].map(exactTextOf));
    this.#columns = wholeColumns(layout, a, b);
  }

  /** @throws InputError on members that cannot be compared */
  compare(line: Buffer, other: Buffer, row: number, partner: number): void {
    if (line.equals(other)) return;
    const [ours, theirs] = [membersOf(line), membersOf(other)];
    for (const name of new Set([...ours.keys(), ...theirs.keys()])) {
      if (this.#ignored.has(name)) continue;
      const isTold = this.#columns.get(name);
      if (isTold?.(row, partner)) continue;
      // Absent and null are one in a column.
      const absent = isTold ? NULL : undefined;
      const [x, y] = [ours.get(name) ?? absent, theirs.get(name) ?? absent];
      if (x && y && sameValue(x, y)) continue;
      this.#comparer.note(
        shownText(name),
        row,
        partner,
        ...(x && y ? excerptsOf(x, y) : ([shown(x), shown(y)] as const)),
      );
    }
  }
}

const NULL = Buffer.from('null');

function shown(value: Buffer | undefined): string {
  return value ? excerptOf(value) : 'no such field';
}

/** Columns of one member each that the comparer has looked at. A word that is no status and what is no reward are not told apart. */
function wholeColumns(layout: Layout, a: SampleColumns, b: SampleColumns): Map<string, IsTold> {
  const { group_index, rollout_id, reward, status, remove_sample } = layout;
  const columns = new Map<string, IsTold>();
  const add = (column: Reference | undefined, isTold: IsTold) => {
    const name = column?.steps.length === 1 ? column.steps[0] : undefined;
    if (typeof name === 'string') columns.set(exactTextOf(name), isTold);
  };
  if (remove_sample?.when === 'true' || remove_sample?.when === 'false') add(remove_sample.column, always);
  add(status?.column, (row, partner) => statusOf(a.flags, row) !== 'other' || statusOf(b.flags, partner) !== 'other');
  if (reward && !reward.isSum && !reward.scored && reward.key === undefined && !layout.rewardParts)
    add(reward.columns[0].column, (row, partner) => !Number.isNaN(a.rewards[row]) || !Number.isNaN(b.rewards[partner]));
  add(onlyColumnOf(rollout_id), always);
  if (layout.groupSize === undefined) add(onlyColumnOf(group_index), always);
  return columns;
}

function onlyColumnOf(source: IdSource | undefined): Reference | undefined {
  if (!source || source.otherwise || source.parts.length !== 1 || source.parts[0].cut) return undefined;
  return source.parts[0].column;
}
