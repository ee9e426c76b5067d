/** What a task pool can be asked for: to read a portion into columns, or to write its lines back with what was computed. */

import { IdCoder } from '../samples/ids.ts';
import type { ChunkCoders, RowChunk } from '../samples/row-chunk.ts';
import { readVectorRows } from './columnar/read-rows.ts';
import { type SidecarTask, type WholeRowsTask, writeSidecar, writeWholeRows } from './columnar/write-task.ts';
import { augmentLines, type LineValues } from './jsonl/augment-lines.ts';
import type { PlaceInFile } from './jsonl/portion-writer.ts';
import { readLines } from './jsonl/read-lines.ts';
import type { ReadOptions } from './jsonl/record-reader.ts';
import type { OutputFields } from './layouts/fields.ts';
import type { CompressedLinesPortion, LinesPortion, Portion } from './portion.ts';
import { readTorchRows } from './torch/read-rows.ts';

export interface ReadTask {
  readonly do: 'read';
  readonly portion: Portion;
  readonly options: ReadOptions;
}

export interface AugmentTask {
  readonly do: 'augment';
  readonly portion: LinesPortion | CompressedLinesPortion;
  readonly values: LineValues;
  readonly fields: OutputFields;
  /** null: the lines are emitted. */
  readonly place: PlaceInFile | null;
}

export type Task = ReadTask | AugmentTask | WholeRowsTask | SidecarTask;
export type TaskEmission = RowChunk | Uint8Array;

/** @throws InputError, FileError; a RecordError where a record of the portion is to blame */
export async function runTask(task: Task, emit: (piece: TaskEmission) => void): Promise<void> {
  switch (task.do) {
    case 'read':
      return readPortion(task.portion, task.options, emit);
    case 'augment':
      return augmentLines(task.portion, task.values, task.fields, task.place, emit);
    case 'write-whole':
      return writeWholeRows(task);
    case 'write-sidecar':
      return writeSidecar(task);
  }
}

async function readPortion(portion: Portion, options: ReadOptions, emit: (chunk: RowChunk) => void): Promise<void> {
  switch (portion.format) {
    case 'parquet':
    case 'arrow':
      return readVectorRows(portion, options, emit);
    case 'torch':
      return readTorchRows(portion, options, emit);
    default:
      return readLines(portion, options, emit);
  }
}

/** Coders of one chunk's own; what its codes mean travels with it. */
export function newCoders({ layout, keepIndexes }: ReadOptions): ChunkCoders {
  return {
    groups: new IdCoder(),
    rollouts: new IdCoder(),
    indexes: keepIndexes ? new IdCoder() : null,
    batches: layout.batch ? new IdCoder() : null,
    keys: layout.key ? new IdCoder() : null,
  };
}
