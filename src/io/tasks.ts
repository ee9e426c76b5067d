/** What a task pool can be asked for: to read a portion into columns, or to write its lines back with what was computed. */

import { IdCoder } from '../samples/ids.ts';
import type { ChunkCoders, RowChunk } from '../samples/row-chunk.ts';
import type { SidecarTask, WholeRowsTask } from './columnar/write-task.ts';
import type { IdBases } from './id-bases.ts';
import type { LineValues } from './jsonl/augment-lines.ts';
import type { PlaceInFile } from './jsonl/portion-writer.ts';
import type { ReadOptions } from './jsonl/record-reader.ts';
import type { OutputFields } from './layouts/fields.ts';
import type { EncodedChunk } from './parquet/encode-chunk.ts';
import type { EncodeTask } from './parquet/encode-task.ts';
import type { CompressedLinesPortion, LinesPortion, Portion } from './portion.ts';

export interface ReadTask {
  readonly do: 'read';
  readonly portion: Portion;
  readonly options: ReadOptions;
  /** For formats whose ids are integers mostly; undefined: each chunk has a base of its own. */
  readonly bases?: IdBases | undefined;
}

export interface AugmentTask {
  readonly do: 'augment';
  readonly portion: LinesPortion | CompressedLinesPortion;
  readonly values: LineValues;
  readonly fields: OutputFields;
  /** null: the lines are emitted. */
  readonly place: PlaceInFile | null;
}

export type Task = ReadTask | AugmentTask | WholeRowsTask | SidecarTask | EncodeTask;
export type TaskEmission = RowChunk | Uint8Array | EncodedChunk;

/**
 * What a task needs is loaded with the first of its kind: a thread mostly does one kind, and starts sooner without the rest.
 * @throws InputError, FileError; a RecordError where a record of the portion is to blame
 */
export async function runTask(task: Task, emit: (piece: TaskEmission) => void): Promise<void> {
  switch (task.do) {
    case 'read':
      return readPortion(task, emit);
    case 'augment':
      return (await import('./jsonl/augment-lines.ts')).augmentLines(
        task.portion,
        task.values,
        task.fields,
        task.place,
        emit,
      );
    case 'write-whole':
      return (await import('./columnar/write-task.ts')).writeWholeRows(task);
    case 'write-sidecar':
      return (await import('./columnar/write-task.ts')).writeSidecar(task);
    case 'encode':
      return (await import('./parquet/encode-task.ts')).encodeChunks(task, emit);
  }
}

async function readPortion({ portion, options, bases }: ReadTask, emit: (chunk: RowChunk) => void): Promise<void> {
  switch (portion.format) {
    case 'parquet':
    case 'arrow':
      return (await import('./columnar/read-rows.ts')).readVectorRows(portion, options, bases, emit);
    case 'torch':
      return (await import('./torch/read-rows.ts')).readTorchRows(portion, options, emit);
    default:
      return (await import('./jsonl/read-lines.ts')).readLines(portion, options, emit);
  }
}

/** Coders of one chunk's own; what its codes mean travels with it. */
export function newCoders({ layout, keepIndexes }: ReadOptions, bases?: IdBases): ChunkCoders {
  return {
    groups: new IdCoder(bases?.groups),
    rollouts: new IdCoder(bases?.rollouts),
    indexes: keepIndexes ? new IdCoder(bases?.indexes) : null,
    batches: layout.batch ? new IdCoder(bases?.batches) : null,
    keys: layout.key ? new IdCoder(bases?.keys) : null,
  };
}
