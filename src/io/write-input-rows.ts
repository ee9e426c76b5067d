/** Writes the rows of an input back whole, with what was computed for them. */
import { writeBinaryRows } from './binary-output.ts';
import type { ExtraColumn } from './extra-columns.ts';
import type { Input } from './input.ts';
import { giveUpPositions, sharePositions } from './jsonl/output-positions.ts';
import { augmentCompressedLines, ReaderGone } from './jsonl/write-rows.ts';
import type { OutputFields } from './layouts/fields.ts';
import type { OpenFile, Output } from './output.ts';
import { detached } from './parquet/encode-task.ts';
import { sliceValues } from './parquet/write-flat.ts';
import type { CompressedLinesPortion, LinesPortion } from './portion.ts';
import type { InputRows } from './read-input.ts';
import type { TaskPool } from './task-pool.ts';

export interface RowResults {
  /** Binary64 per row of the input; NaN where missing. */
  readonly rawRewards: Float64Array;
  /** Binary32 per row of the input. */
  readonly advantages: Float32Array;
  /** Of every row of the input, in the order in which they are written. */
  readonly extras: readonly ExtraColumn[];
  /** 0 for rows that are left out; null: none is. */
  readonly keep: Uint8Array | null;
}

/** The results of rows [from, to) of those given. */
export function sliceResults(
  { rawRewards, advantages, extras, keep }: RowResults,
  from: number,
  to: number,
): RowResults {
  return {
    rawRewards: rawRewards.subarray(from, to),
    advantages: advantages.subarray(from, to),
    extras: extras.map((column) => ({ ...column, values: sliceValues(column.values, from, to) })),
    keep: keep?.subarray(from, to) ?? null,
  };
}

/** Portions that may be done or under way and not yet written, for each thread. */
const AHEAD = 1;

/** @throws FileError where the input changed since it was read */
export async function writeInputRows(
  input: Input,
  rows: InputRows,
  results: RowResults,
  fields: OutputFields,
  output: Output,
  pool: TaskPool,
  advance: (bytes: number) => void = () => {},
): Promise<void> {
  input.requireUnchanged();
  try {
    await writeRows(input, rows, results, fields, output, pool, advance);
  } finally {
    input.requireUnchanged(); // and if it is not, that is why what was found in it now is wrong
  }
}

async function writeRows(
  input: Input,
  rows: InputRows,
  results: RowResults,
  fields: OutputFields,
  output: Output,
  pool: TaskPool,
  advance: (bytes: number) => void,
): Promise<void> {
  const [first] = input.portions;
  // An empty output must still be a member or frame, which is left to the output itself.
  const isEmpty = results.keep ? !results.keep.includes(1) : rows.rowCount === 0;
  const file = input.format === 'jsonl' && !isEmpty ? output.takeOver() : null;
  if (first?.format === 'compressed-lines' && file === null) {
    await augmentCompressedLines(first, results, fields, output).catch(ignoreClosedPipe);
    advance(input.byteLength);
  } else if (input.format === 'jsonl') await augmentPortions(input, rows, results, fields, output, file, pool, advance);
  else {
    await writeBinaryRows(input, results, fields, output, pool);
    advance(input.byteLength);
  }
}

async function augmentPortions(
  input: Input,
  { portionRows }: InputRows,
  results: RowResults,
  fields: OutputFields,
  output: Output,
  file: OpenFile | null,
  pool: TaskPool,
  advance: (bytes: number) => void,
): Promise<void> {
  let stopped = false;
  let row = 0;
  const starts = portionRows.map((count) => {
    row += count;
    return row - count;
  });
  const positions = sharePositions(portionRows.length);
  const begin = (i: number) => {
    const from = starts[i];
    const to = from + portionRows[i];
    const values = copyResults(sliceResults(results, from, to));
    const pieces: Uint8Array[] = [];
    const emit = (piece: unknown) => pieces.push(piece as Uint8Array);
    const portion = input.portions[i] as LinesPortion | CompressedLinesPortion;
    const place = file && { ...file, positions, portion: i };
    const done = pool.run({ do: 'augment', portion, values, fields, place }, { emit, isCancelled: () => stopped });
    done.catch(() => {}); // it is awaited in its turn
    return { done, pieces };
  };
  const ahead = AHEAD * pool.threads;
  const running: ReturnType<typeof begin>[] = [];
  try {
    for (let i = 0; i < input.portions.length && !output.closed; i++) {
      while (running.length <= i + ahead && running.length < input.portions.length) running.push(begin(running.length));
      const { done, pieces } = running[i];
      await done;
      for (const piece of pieces) {
        await output.write(piece);
        pool.recycle(piece);
      }
      pieces.length = 0;
      advance(input.byteLength / input.portions.length);
    }
  } finally {
    stopped = true;
    giveUpPositions(positions, 0);
    // Whoever is still at it has the file's number, which may be another file's once this one is closed.
    await Promise.allSettled(running.map(({ done }) => done));
  }
}

/** What is sent to a thread goes there with the whole buffer that it is a part of. */
function copyResults({ rawRewards, advantages, extras, keep }: RowResults): RowResults {
  return {
    rawRewards: rawRewards.slice(),
    advantages: advantages.slice(),
    extras: extras.map((column) => ({ ...column, values: detached(column.values) })),
    keep: keep?.slice() ?? null,
  };
}

function ignoreClosedPipe(error: unknown): void {
  if (!(error instanceof ReaderGone)) throw error;
}
