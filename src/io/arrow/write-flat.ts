/** Writes Arrow files and streams of flat columns. */
import type { ColumnKind, ColumnValues, NewColumn } from '../parquet/new-columns.ts';
import type { FlatColumn } from '../parquet/write-flat.ts';
import { BatchBody } from './batch-body.ts';
import { encodeColumn, textBytes } from './encode-column.ts';
import { int8, int16, int64, offset, serialize, table } from './flatbuffer-writer.ts';
import { blocksNode, MessageOutput, type Write, type WrittenBlock } from './message-output.ts';
import { type NewField, newSchema, newSchemaFlatBuffer } from './schema-message.ts';
import { HeaderType, METADATA_V5 } from './slots.ts';

/** Record batches have this many rows, and fewer where they hold more text than this, as offsets end at 2 GiB. */
const BATCH_ROWS = 1 << 17;
const BATCH_TEXT_BYTES = 1 << 26;

/** Writes the columns of all rows. */
export function writeFlatArrow(
  columns: readonly FlatColumn[],
  rowCount: number,
  format: 'file' | 'stream',
  write: Write,
): void {
  const writer = new FlatArrowWriter(columns, format, write);
  writer.writeRows(
    columns.map((column) => column.values),
    rowCount,
  );
  writer.finish();
}

/** Writes a file or stream piece by piece, where not all rows are at hand at once. */
export class FlatArrowWriter {
  readonly #fields: readonly NewField[];
  readonly #output: MessageOutput;
  readonly #blocks: WrittenBlock[] = [];

  constructor(columns: readonly NewColumn[], format: 'file' | 'stream', write: Write) {
    this.#fields = columns.map(fieldOf);
    this.#output = new MessageOutput(format, write);
    this.#output.message(newSchemaFlatBuffer(this.#fields), 0, () => {});
  }

  /** @param values one for each column */
  writeRows(values: readonly ColumnValues[], rowCount: number): void {
    for (let from = 0; from < rowCount; ) {
      const to = batchEnd(values, from, rowCount);
      this.#writeBatch(values, from, to);
      from = to;
    }
  }

  finish(): void {
    this.#output.end(() =>
      serialize(
        table(
          int16(METADATA_V5),
          offset(newSchema(this.#fields)),
          offset(blocksNode([])),
          offset(blocksNode(this.#blocks)),
        ),
      ),
    );
  }

  #writeBatch(values: readonly ColumnValues[], from: number, to: number): void {
    const body = new BatchBody();
    for (const column of values) body.addColumn(encodeColumn(column, from, to), to - from, false);
    const header = body.recordBatch(to - from, null, null);
    const message = table(int16(METADATA_V5), int8(HeaderType.recordBatch), offset(header), int64(body.byteLength));
    this.#blocks.push(this.#output.message(serialize(message), body.byteLength, (put) => body.write(put)));
  }
}

/** The row after the last of the batch that begins at `from`. */
function batchEnd(values: readonly ColumnValues[], from: number, rowCount: number): number {
  let to = Math.min(rowCount, from + BATCH_ROWS);
  for (const column of values) {
    while (to - from > 1 && textBytes(column, from, to) > BATCH_TEXT_BYTES) to = from + ((to - from) >>> 1);
  }
  return to;
}

export function fieldOf({ name, kind, nullable }: NewColumn): NewField {
  return { name, type: TYPES[kind], nullable };
}

const TYPES: Readonly<Record<ColumnKind, NewField['type']>> = {
  int64: 'int64',
  uint64: 'uint64',
  int32: 'int32',
  float: 'float',
  double: 'double',
  text: 'utf8',
  bool: 'bool',
};
