/** Files to batches that are ready to be computed, one after the other, for commands that look and do not write. */
import { UsageError } from '../errors.ts';
import { type Input, openInput } from '../io/input.ts';
import { presetNamed } from '../io/layouts/resolve-layout.ts';
import { named } from '../io/read-input.ts';
import { TaskPool } from '../io/task-pool.ts';
import type { NormalizeOptions } from '../options.ts';
import type { SampleColumns } from '../samples/columns.ts';
import { splitByCode } from '../samples/split.ts';
import { bytesOfFiles, type InputFlags, inputLayout, joinedFile, threadsFor } from './flags/input.ts';
import { expandInputs } from './normalize/files.ts';
import { printable } from './printable.ts';
import { Progress } from './progress.ts';
import { type ReadBatch, type ReadSettings, readBatch } from './read-batch.ts';

export interface FileInBatch {
  /** The path as it was given. */
  readonly name: string;
  readonly firstRow: number;
  readonly rowCount: number;
}

export interface NamedBatch {
  /** The file, or the files of one batch joined by commas; with the batch's key where a file is split. */
  readonly name: string;
  readonly columns: SampleColumns;
  /** Where the rows of each file begin in what was read. */
  readonly files: readonly FileInBatch[];
  /** Row of the file for each row of the batch, both from 0; null: the same. */
  readonly rows: Uint32Array | null;
  /** Binary64 of a recorded column; null: none was asked for or the file has none. */
  readonly recorded: Float64Array | null;
  /** Groups that the file itself states by their sizes. */
  readonly promptGroupSizes: readonly number[] | undefined;
  readonly warnings: readonly string[];
}

/**
 * Reads file by file (or all as one batch) and hands each batch over.
 * @throws UsageError, InputError naming the file, FileError
 */
export async function* readBatches(
  paths: readonly string[],
  flags: InputFlags,
  rewardsApart: boolean,
): AsyncGenerator<NamedBatch> {
  const { files, isOne } = filesOf(paths, flags);
  const pool = new TaskPool(threadsFor(files, flags));
  const progress = new Progress(bytesOfFiles(files));
  const settings: ReadSettings = {
    layout: inputLayout(flags, rewardsApart),
    join: joinedFile(flags, rewardsApart),
    maxLine: flags.maxLine,
    pool,
    progress,
  };
  try {
    for (const together of isOne ? [files] : files.map((file) => [file])) yield* readTogether(together, settings);
  } finally {
    progress.stop();
    await pool.close();
  }
}

/** The files of some paths, and whether they are one batch. What is passed over in directories is said on stderr. */
export function filesOf(paths: readonly string[], flags: InputFlags): { files: readonly string[]; isOne: boolean } {
  const preset = presetNamed(flags.from ?? 'miles');
  const { files, passedOver } = expandInputs(paths.length > 0 ? paths : ['-'], preset.passesOver);
  for (const path of passedOver) process.stderr.write(`rollnorm: passed over ${printable(path)}\n`);
  return { files, isOne: flags.oneBatch ?? (files.length > 1 && (preset.oneBatch ?? false)) };
}

async function* readTogether(files: readonly string[], settings: ReadSettings): AsyncGenerator<NamedBatch> {
  const inputs: Input[] = [];
  let read: ReadBatch;
  try {
    for (const file of files) inputs.push(await openInput(file, settings));
    read = await readBatch(inputs, settings);
  } catch (error) {
    throw inputs.length === 1 ? named(inputs[0].name, error) : error;
  } finally {
    for (const input of inputs) await input.close();
  }
  settings.progress.stop();
  const { columns, side, facts } = read.batch;
  const name = files.join(', ');
  const ranges = files.map((file, i) => {
    const { firstRow, rowCount } = read.ranges[i];
    return { name: file, firstRow, rowCount };
  });
  for (const { columns: part, rows } of splitByCode(columns, side.batchCodes)) {
    const key = rows && side.batchCodes ? ` (${side.batchIds.describe(side.batchCodes[rows[0]])})` : '';
    const { recorded } = side;
    const own = rows && recorded ? Float64Array.from(rows, (row) => recorded[row]) : recorded;
    const promptGroupSizes = rows ? undefined : facts.promptGroupSizes;
    yield {
      name: `${name}${key}`,
      files: ranges,
      columns: part,
      rows,
      recorded: own,
      promptGroupSizes,
      warnings: read.warnings,
    };
  }
}

/** The options for a batch whose file states its groups. @throws UsageError where sizes are given for several batches */
export function optionsFor(batch: NamedBatch, options: NormalizeOptions, batchNumber: number): NormalizeOptions {
  if (options.promptGroupSizes && batchNumber > 0)
    throw new UsageError('--prompt-group-sizes is for one batch, not for several');
  const { promptGroupSizes = batch.promptGroupSizes } = options;
  return { ...options, promptGroupSizes };
}
