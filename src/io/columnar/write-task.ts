/** Writes Parquet and Arrow files, synchronously and in whatever thread, to a file that is open. */
import { writeSync } from 'node:fs';
import { openArrow } from '../arrow/arrow-file.ts';
import { writeFlatArrow } from '../arrow/write-flat.ts';
import { writeWithColumns as writeArrowWithColumns } from '../arrow/write-with-columns.ts';
import { prepareBlockCodecs } from '../codecs/block.ts';
import { openParquet } from '../parquet/metadata.ts';
import { type OutputColumn, writeColumnsOnly } from '../parquet/write-columns-only.ts';
import { type FlatColumn, sliceValues, writeFlatParquet } from '../parquet/write-flat.ts';
import { writeWithColumns as writeParquetWithColumns } from '../parquet/write-with-columns.ts';
import { openRandomAccess, type RandomAccessFile } from '../random-access.ts';
import { fileError } from '../temporary-files.ts';

/** Whole rows of a file, with two columns more. */
export interface WholeRowsTask {
  readonly do: 'write-whole';
  readonly format: 'parquet' | 'arrow';
  readonly path: string;
  readonly name: string;
  readonly rawRewardName: string;
  readonly advantageName: string;
  readonly rawRewards: Float64Array;
  readonly advantages: Float32Array;
  readonly replace: boolean;
  readonly descriptor: number;
  readonly outputName: string;
}

/** Columns without the rest of the rows; columns of a Parquet input may be copied from it. */
export interface SidecarTask {
  readonly do: 'write-sidecar';
  readonly format: 'parquet' | 'arrow';
  /** For copied columns; null: every column is new. */
  readonly copyFrom: { readonly path: string; readonly name: string; readonly columns: readonly OutputColumn[] } | null;
  /** In their order; those that are new. */
  readonly columns: readonly FlatColumn[];
  readonly rowCount: number;
  readonly descriptor: number;
  readonly outputName: string;
}

/** Pages of new columns; the fastest of those that every reader knows. */
const CODEC = 'snappy';

export async function writeWholeRows(task: WholeRowsTask): Promise<void> {
  const { path, name, rawRewardName, advantageName, rawRewards, advantages, replace } = task;
  const write = writerTo(task.descriptor, task.outputName);
  await withFile(path, name, async (file) => {
    const source = (parts: readonly { rowCount: number; firstRow: number }[]) => ({
      rawRewardName,
      advantageName,
      valuesOf: (part: number) => {
        const { firstRow, rowCount } = parts[part];
        return {
          rawReward: { name: rawRewardName, values: rawRewards.subarray(firstRow, firstRow + rowCount) },
          advantage: { name: advantageName, values: advantages.subarray(firstRow, firstRow + rowCount) },
        };
      },
    });
    if (task.format === 'arrow') {
      const arrow = openArrow(file);
      writeArrowWithColumns(file, arrow, source(arrow.batches), { replace }, write);
      return;
    }
    await prepareBlockCodecs([CODEC]);
    const parquet = openParquet(file);
    writeParquetWithColumns(file, parquet, source(parquet.rowGroups), { replace, codec: CODEC }, write);
  });
}

export async function writeSidecar(task: SidecarTask): Promise<void> {
  const { columns, rowCount, copyFrom } = task;
  const write = writerTo(task.descriptor, task.outputName);
  await prepareBlockCodecs([CODEC]);
  if (task.format === 'arrow') return writeFlatArrow(columns, rowCount, 'file', write);
  if (copyFrom === null) return writeFlatParquet(columns, rowCount, CODEC, write);
  await withFile(copyFrom.path, copyFrom.name, async (file) => {
    const parquet = openParquet(file);
    const valuesOf = (part: number) => {
      const { firstRow, rowCount: count } = parquet.rowGroups[part];
      return columns.map(({ values }) => sliceValues(values, firstRow, firstRow + count));
    };
    writeColumnsOnly(file, parquet, copyFrom.columns, valuesOf, CODEC, write);
  });
}

async function withFile(path: string, name: string, use: (file: RandomAccessFile) => Promise<void>): Promise<void> {
  const file = openRandomAccess(path, name);
  try {
    await use(file);
  } finally {
    file.close();
  }
}

function writerTo(descriptor: number, name: string): (bytes: Uint8Array) => void {
  return (bytes) => {
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done, bytes.length - done);
    } catch (cause) {
      throw fileError(name, 'cannot write', cause);
    }
  };
}
