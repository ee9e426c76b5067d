/** Writes the rows of an input back whole, with what was computed for them. */
import { writeBinaryRows } from './binary-output.ts';
import type { Input } from './input.ts';
import { giveUpPositions, sharePositions } from './jsonl/output-positions.ts';
import { augmentCompressedLines, ReaderGone } from './jsonl/write-rows.ts';
import type { OutputFields } from './layouts/fields.ts';
import type { OpenFile, Output } from './output.ts';
import type { CompressedLinesPortion, LinesPortion } from './portion.ts';
import type { InputRows } from './read-input.ts';
import type { TaskPool } from './task-pool.ts';

export interface RowResults {
  /** Binary64 per row of the input; NaN where missing. */
  readonly rawRewards: Float64Array;
  /** Binary32 per row of the input. */
  readonly advantages: Float32Array;
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
  const [first] = input.portions;
  // An empty output must still be a member or frame, which is left to the output itself.
  const file = input.format === 'jsonl' && rows.rowCount > 0 ? output.takeOver() : null;
  if (first?.format === 'compressed-lines' && file === null) {
    await augmentCompressedLines(first, results, fields, output).catch(ignoreClosedPipe);
    advance(input.byteLength);
  } else if (input.format === 'jsonl') await augmentPortions(input, rows, results, fields, output, file, pool, advance);
  else {
    await writeBinaryRows(input, results, fields, output, pool);
    advance(input.byteLength);
  }
  input.requireUnchanged();
}

async function augmentPortions(
  input: Input,
  { portionRows }: InputRows,
  { rawRewards, advantages }: RowResults,
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
    const values = { rawRewards: rawRewards.slice(from, to), advantages: advantages.slice(from, to) };
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

function ignoreClosedPipe(error: unknown): void {
  if (!(error instanceof ReaderGone)) throw error;
}
