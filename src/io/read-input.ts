/** Reads the portions of an input, in whatever threads there are, into an assembler in their order. */
import { InputError } from '../errors.ts';
import type { Assembler } from '../samples/assembler.ts';
import type { RowChunk } from '../samples/row-chunk.ts';
import { sharedBases } from './id-bases.ts';
import type { Input } from './input.ts';
import { RecordError } from './jsonl/line-range.ts';
import type { ReadOptions } from './jsonl/record-reader.ts';
import type { TaskPool } from './task-pool.ts';
import type { TaskEmission } from './tasks.ts';

/** Where the rows of an input stand in the batch. */
export interface InputRows {
  readonly firstRow: number;
  readonly rowCount: number;
  /** Rows of each portion. */
  readonly portionRows: readonly number[];
}

/**
 * @param advance is told how many bytes of the input have been read since it was told last
 * @throws InputError that names the file and the line or row; FileError where it is no longer what it was
 */
export async function readInput(
  input: Input,
  options: ReadOptions,
  assembler: Assembler,
  pool: TaskPool,
  advance: (bytes: number) => void = () => {},
): Promise<InputRows> {
  const { portions } = input;
  input.requireUnchanged();
  assembler.places.beginFile(input, assembler.rowCount);
  const firstRow = assembler.rowCount;
  const portionRows: number[] = [];
  let failed = false;
  let records = 0;
  const { expectedRows } = input;
  if (expectedRows !== undefined) assembler.expectRows(expectedRows);
  const bases = expectedRows === undefined ? undefined : sharedBases(assembler.coders);
  const reading = portions.map((portion) => {
    const chunks: RowChunk[] = [];
    const emit = (chunk: TaskEmission) => chunks.push(chunk as RowChunk);
    const done = pool.run({ do: 'read', portion, options, bases }, { emit, isCancelled: () => failed });
    done.catch(() => {}); // it is awaited in its turn
    return { done, chunks };
  });
  for (const { done, chunks } of reading) {
    const before = assembler.rowCount;
    try {
      const error = await done.then(
        () => null,
        (reason: unknown) => reason ?? new Error('a reader failed'),
      );
      // Rows before the one that is to blame may have worse to tell.
      for (const chunk of chunks) {
        assembler.add(chunk, records);
        records += chunk.recordCount;
      }
      const emitted = chunks.reduce((sum, { recordCount }) => sum + recordCount, 0);
      if (error) throw placed(input, error, records - emitted);
    } catch (error) {
      failed = true;
      input.requireUnchanged(); // else what is wrong with its rows is not its fault
      throw named(input.name, error);
    }
    portionRows.push(assembler.rowCount - before);
    chunks.length = 0;
    advance(input.byteLength / portions.length);
  }
  input.requireUnchanged();
  return { firstRow, rowCount: assembler.rowCount - firstRow, portionRows };
}

function placed({ unit }: Input, error: unknown, recordsBefore: number): unknown {
  if (!(error instanceof RecordError)) return error;
  return new InputError(`${unit} ${recordsBefore + error.record}: ${error.message}`, { cause: error });
}

/** Puts the file's name before what is wrong with its rows. */
export function named(name: string, error: unknown): unknown {
  if (!(error instanceof InputError) || error.message.startsWith(`${name}: `)) return error;
  return new InputError(`${name}: ${error.message}`, { cause: error });
}
