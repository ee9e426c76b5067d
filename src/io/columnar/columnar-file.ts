/** What Parquet and Arrow files have in common: columns, and parts of consecutive rows. */
import { openArrow } from '../arrow/arrow-file.ts';
import { readVectors as readArrowVectors } from '../arrow/read-vectors.ts';
import { prepareBlockCodecs } from '../codecs/block.ts';
import { openParquet } from '../parquet/metadata.ts';
import { readVectors as readParquetVectors } from '../parquet/read-vectors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import type { ColumnInfo, Vector, VectorRequest } from '../vectors.ts';

export interface ColumnarFile {
  readonly columns: readonly ColumnInfo[];
  readonly rowCount: number;
  readonly parts: readonly { readonly rowCount: number; readonly firstRow: number }[];
  readVectors(part: number, requests: readonly VectorRequest[]): Vector[];
}

/** @throws InputError where the file is not as the format wants it */
export async function openColumnarFile(file: RandomAccessFile, format: 'parquet' | 'arrow'): Promise<ColumnarFile> {
  if (format === 'arrow') {
    const arrow = openArrow(file);
    await prepareBlockCodecs(arrow.codecs);
    const { columns, rowCount, batches: parts } = arrow;
    return { columns, rowCount, parts, readVectors: (part, requests) => readArrowVectors(file, arrow, part, requests) };
  }
  const parquet = openParquet(file);
  await prepareBlockCodecs(parquet.codecs);
  const { columns, rowCount, rowGroups: parts } = parquet;
  return {
    columns,
    rowCount,
    parts,
    readVectors: (part, requests) => readParquetVectors(file, parquet, part, requests),
  };
}
