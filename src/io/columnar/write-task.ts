/** Writes Arrow files, synchronously and in whatever thread, to a file that is open. */
import { openArrow } from '../arrow/arrow-file.ts';
import { writeFlatArrow } from '../arrow/write-flat.ts';
import { writeWithColumns } from '../arrow/write-with-columns.ts';
import { type FlatColumn, sliceValues } from '../parquet/write-flat.ts';
import { openRandomAccess } from '../random-access.ts';
import { writerTo } from '../temporary-files.ts';

/** Whole rows of a file, with columns more. */
export interface WholeRowsTask {
  readonly do: 'write-whole';
  readonly path: string;
  readonly name: string;
  /** Of all rows, in their order. */
  readonly columns: readonly FlatColumn[];
  readonly replace: boolean;
  readonly descriptor: number;
  readonly outputName: string;
}

/** Columns without the rest of the rows. */
export interface SidecarTask {
  readonly do: 'write-sidecar';
  /** In their order. */
  readonly columns: readonly FlatColumn[];
  readonly rowCount: number;
  readonly descriptor: number;
  readonly outputName: string;
}

export function writeWholeRows(task: WholeRowsTask): void {
  const { path, name, columns, replace } = task;
  const file = openRandomAccess(path, name);
  try {
    const arrow = openArrow(file);
    const source = {
      columns,
      valuesOf: (batch: number) => {
        const { firstRow, rowCount } = arrow.batches[batch];
        return columns.map(({ values }) => sliceValues(values, firstRow, firstRow + rowCount));
      },
    };
    writeWithColumns(file, arrow, source, { replace }, writerTo(task.descriptor, task.outputName));
  } finally {
    file.close();
  }
}

export function writeSidecar({ columns, rowCount, descriptor, outputName }: SidecarTask): void {
  writeFlatArrow(columns, rowCount, 'file', writerTo(descriptor, outputName));
}
