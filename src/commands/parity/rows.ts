/** `rollnorm parity --rows A B`: two recordings of one batch, compared by structure. */
import { InputError, UsageError } from '../../errors.ts';
import { openInput } from '../../io/input.ts';
import { recordsHoldRows } from '../../io/layouts/resolve-layout.ts';
import { type Matching, partnersOf, RecordingComparer, requireIdentities } from '../../parity/recordings.ts';
import type { SampleColumns } from '../../samples/columns.ts';
import { type FileInBatch, filesOf, type NamedBatch, readBatches } from '../batches.ts';
import { type InputFlags, inputLayout } from '../flags/input.ts';
import { print } from '../print.ts';
import { OtherMembers } from './other-members.ts';
import { forEachRowLine, LinesByRow, openRecordedFile, type RecordedFile, withNames } from './recorded-lines.ts';
import { describeRecordings, type RowsComparison } from './render-rows.ts';

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

interface Recording {
  readonly name: string;
  readonly files: readonly RecordedFile[];
  readonly columns: SampleColumns;
  /** Where the rows of each file begin. */
  readonly ranges: readonly FileInBatch[];
}

async function compareRecordings(
  paths: readonly string[],
  { ignore = [], matchBy, ...flags }: RowsFlags,
): Promise<RowsComparison> {
  if (paths.length !== 2) throw new UsageError(`--rows compares two recordings, got ${paths.length}`);
  if (paths.every((path) => path === '-' || path === '/dev/stdin'))
    throw new UsageError('--rows compares two recordings, and standard input is one');
  const opened: RecordedFile[] = [];
  try {
    const a = await openRecording(paths[0], flags, opened);
    const b = await openRecording(paths[1], flags, opened);
    const partners = partnersOf(a.columns, b.columns, matchBy);
    const ignored = new Set(ignore);
    const comparer = new RecordingComparer(a.columns, b.columns, partners);
    comparer.compareRows(ignored);
    const reason = await whyNoLines([a, b], flags);
    if (reason === null) {
      const members = new OtherMembers(inputLayout(flags, false), a.columns, b.columns, ignored, comparer);
      await compareLines(a, b, partners, members, flags.maxLine);
    }
    return {
      ...comparer.finish(),
      other_fields: reason === null ? 'compared' : 'not compared',
      other_fields_reason: reason,
    };
  } catch (error) {
    throw withNames(error, opened);
  } finally {
    for (const { source } of opened) await source.close();
  }
}

/** @param opened where the files go that are to be closed */
async function openRecording(path: string, flags: InputFlags, opened: RecordedFile[]): Promise<Recording> {
  const { files: found, isOne } = filesOf([path], flags);
  const files: RecordedFile[] = [];
  for (const file of found) {
    files.push(await openRecordedFile(file, flags.maxLine));
    opened.push(files[files.length - 1]);
  }
  const own = files.map((file) => file.path);
  const batches: NamedBatch[] = [];
  for await (const batch of readBatches(own, isOne ? { ...flags, oneBatch: true } : flags, false)) batches.push(batch);
  const name = files.length === 1 ? files[0].name : path;
  if (batches.length !== 1)
    throw new UsageError(`${name}: --rows compares one batch with one, this has ${batches.length}`);
  const [{ columns, files: ranges }] = batches;
  requireIdentities(name, columns);
  return { name, files, columns, ranges };
}

/** Why rows have no lines that could be compared; null: they have. */
async function whyNoLines(recordings: readonly Recording[], flags: InputFlags): Promise<string | null> {
  const layout = inputLayout(flags, false);
  if (layout.document) return 'the files are JSON documents, not lines';
  if (recordsHoldRows(layout)) return `records of ${layout.preset} hold several rows`;
  for (const { name, path } of recordings.flatMap(({ files }) => files)) {
    const input = await openInput(path, { layout, maxLine: flags.maxLine });
    await input.close();
    if (input.format !== 'jsonl') return `${name} is ${FORMATS[input.format]}, not JSONL`;
  }
  return null;
}

const FORMATS = { parquet: 'Parquet', arrow: 'Arrow', torch: 'a torch file' } as const;

/** The lines of the first recording in their order with those of their partners. */
async function compareLines(
  a: Recording,
  b: Recording,
  partners: Int32Array,
  members: OtherMembers,
  maxLine: number | undefined,
): Promise<void> {
  const lines: LinesByRow[] = [];
  try {
    for (const [i, file] of b.files.entries()) lines.push(await LinesByRow.open(file, b.ranges[i].rowCount));
    const fileOf = fileFinder(b.ranges);
    for (const [i, file] of a.files.entries()) {
      const { firstRow, rowCount } = a.ranges[i];
      await forEachRowLine(file, rowCount, maxLine, (line, own, lineNumber) => {
        const row = firstRow + own;
        const partner = partners[row];
        if (partner < 0) return;
        const other = fileOf(partner);
        try {
          members.compare(line, lines[other].line(partner - b.ranges[other].firstRow), row, partner);
        } catch (error) {
          if (!(error instanceof InputError)) throw error;
          throw new InputError(`${file.name}: line ${lineNumber}: ${error.message}`, { cause: error });
        }
      });
    }
  } finally {
    for (const opened of lines) await opened.close();
  }
}

/** Which file a row lies in. */
function fileFinder(ranges: readonly FileInBatch[]): (row: number) => number {
  let last = 0;
  return (row) => {
    const { firstRow, rowCount } = ranges[last];
    if (row < firstRow || row >= firstRow + rowCount)
      last = ranges.findIndex((range) => row >= range.firstRow && row < range.firstRow + range.rowCount);
    return last;
  };
}
