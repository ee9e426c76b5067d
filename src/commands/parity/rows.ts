/** `rollnorm parity --rows A B`: two recordings of one batch, compared by structure. */
import { UsageError } from '../../errors.ts';
import { openByteSource } from '../../io/byte-source.ts';
import { openInput } from '../../io/input.ts';
import { DEFAULT_MAX_LINE, isBlank, skipByteOrderMark } from '../../io/jsonl/lines.ts';
import { recordsHoldRows } from '../../io/layouts/resolve-layout.ts';
import { membersOf } from '../../parity/members.ts';
import {
  type Matching,
  partnersOf,
  RecordingComparer,
  type RecordingComparison,
  requireIdentities,
} from '../../parity/recordings.ts';
import { type NamedBatch, readBatches } from '../batches.ts';
import { type InputFlags, inputLayout } from '../flags/input.ts';
import { print } from '../print.ts';

export interface RowsFlags extends InputFlags {
  ignore?: string[];
  matchBy: Matching;
  json?: true;
}

/** Prints the comparison. @throws UsageError, InputError */
export async function compareRows(paths: readonly string[], flags: RowsFlags): Promise<void> {
  const comparison = await compareRecordings(paths, flags);
  await print(flags.json ? `${JSON.stringify(comparison, null, 2)}\n` : describeRecordings(comparison));
  if (Object.keys(comparison.differing).length > 0) process.exitCode = 1;
}

async function compareRecordings(
  paths: readonly string[],
  { ignore = [], matchBy, ...flags }: RowsFlags,
): Promise<RecordingComparison> {
  if (paths.length !== 2) throw new UsageError(`--rows compares two recordings, got ${paths.length}`);
  const [a, b] = await Promise.all(paths.map((path) => recordingOf(path, flags)));
  for (const { name, columns } of [a, b]) requireIdentities(name, columns);
  const comparer = new RecordingComparer(a.columns, b.columns, partnersOf(a.columns, b.columns, matchBy));
  const ignored = new Set(ignore);
  comparer.compareRows(ignored);
  if (matchBy === 'order' && (await areLines(paths, flags))) await compareOtherMembers(paths, flags, ignored, comparer);
  return comparer.finish();
}

async function recordingOf(path: string, flags: InputFlags): Promise<NamedBatch> {
  const batches: NamedBatch[] = [];
  for await (const batch of readBatches([path], flags, false)) batches.push(batch);
  if (batches.length !== 1)
    throw new UsageError(`${path}: --rows compares one batch with one, this has ${batches.length}`);
  return batches[0];
}

/** Records that are rows, as lines of both files. */
async function areLines(paths: readonly string[], flags: InputFlags): Promise<boolean> {
  const layout = inputLayout(flags, false);
  if (recordsHoldRows(layout) || layout.document) return false;
  const formats = await Promise.all(
    paths.map(async (path) => {
      const input = await openInput(path, { layout, maxLine: flags.maxLine });
      await input.close();
      return input.format;
    }),
  );
  return formats.every((format) => format === 'jsonl');
}

/** Fields that are no column, such as tokens and text; those that are were compared. */
async function compareOtherMembers(
  paths: readonly string[],
  flags: InputFlags,
  ignored: ReadonlySet<string>,
  comparer: RecordingComparer,
): Promise<void> {
  const [a, b] = paths.map((path) => linesOf(path, flags.maxLine ?? DEFAULT_MAX_LINE));
  for (let row = 0; ; row++) {
    const [one, other] = await Promise.all([a.next(), b.next()]);
    if (one.done || other.done) {
      await a.return(undefined);
      await b.return(undefined);
      return;
    }
    if (one.value === other.value) continue;
    const [ours, theirs] = [membersOf(one.value), membersOf(other.value)];
    for (const name of new Set([...ours.keys(), ...theirs.keys()])) {
      if (ignored.has(name) || COMPARED.has(name)) continue;
      const [x, y] = [ours.get(name) ?? 'no such field', theirs.get(name) ?? 'no such field'];
      if (x !== y) comparer.note(name, row, row, shortened(x), shortened(y));
    }
  }
}

/** An index beside a rollout_id is no column. */
const COMPARED = new Set(['group_index', 'rollout_id', 'reward', 'status', 'remove_sample']);
const LONGEST_SHOWN = 60;

function shortened(text: string): string {
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}... (${text.length} characters)`;
}

async function* linesOf(path: string, maxLine: number): AsyncGenerator<string, void, undefined> {
  const source = await openByteSource(path, { maxLine });
  try {
    let carried: Buffer[] = [];
    let isFirst = true;
    const textOf = (bytes: Uint8Array) => {
      const start = isFirst ? skipByteOrderMark(bytes, 0, bytes.length) : 0;
      isFirst = false;
      return isBlank(bytes, start, bytes.length) ? null : Buffer.from(bytes.subarray(start)).toString();
    };
    for await (const chunk of source.chunks()) {
      const bytes = Buffer.from(chunk);
      let start = 0;
      for (let feed = bytes.indexOf(0x0a); feed >= 0; feed = bytes.indexOf(0x0a, start)) {
        const text = textOf(Buffer.concat([...carried, bytes.subarray(start, feed)]));
        carried = [];
        start = feed + 1;
        if (text !== null) yield text;
      }
      carried.push(bytes.subarray(start));
    }
    const text = textOf(Buffer.concat(carried));
    if (text !== null) yield text;
  } finally {
    await source.close();
  }
}

function describeRecordings({ rows, compared, differing, examples }: RecordingComparison): string {
  const counts = Object.entries(differing);
  const lines = [`${rows[0]} and ${rows[1]} rows, ${compared} compared`];
  for (const [field, count] of counts) {
    lines.push(`${field}: ${count} rows differ`);
    for (const { rowA, rowB, a, b } of examples.filter((example) => example.field === field))
      lines.push(`  row ${rowA ?? '-'} and row ${rowB ?? '-'}: ${a} against ${b}`);
  }
  lines.push(counts.length === 0 ? 'equal' : 'NOT EQUAL');
  return `${lines.join('\n')}\n`;
}
