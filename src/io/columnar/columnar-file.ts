/** What Parquet and Arrow files have in common: columns, and parts of consecutive rows. */
import { openArrow } from '../arrow/arrow-file.ts';
import { readVectors as readArrowVectors } from '../arrow/read-vectors.ts';
import { type BlockCodec, prepareBlockCodecs } from '../codecs/block.ts';
import type { CopiedIds } from '../input.ts';
import type { Layout } from '../layouts/layout.ts';
import { copiedIds } from '../parquet/copied-ids.ts';
import { openParquet } from '../parquet/metadata.ts';
import { readVectors as readParquetVectors } from '../parquet/read-vectors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import type { ColumnInfo, Vector, VectorRequest } from '../vectors.ts';

export interface ColumnarFile {
  readonly columns: readonly ColumnInfo[];
  readonly rowCount: number;
  readonly parts: readonly { readonly rowCount: number; readonly firstRow: number }[];
  /** By the layout that was given. */
  readonly copiedIds: CopiedIds;
  /** To be awaited before vectors are read. */
  prepare(): Promise<void>;
  readVectors(part: number, requests: readonly VectorRequest[]): Vector[];
}

/** @throws InputError where the file is not as the format wants it */
export function openColumnarFile(file: RandomAccessFile, format: 'parquet' | 'arrow', layout?: Layout): ColumnarFile {
  const preparing = (codecs: readonly BlockCodec[]) => () => prepareBlockCodecs(codecs, 'reading');
  if (format === 'arrow') {
    const arrow = openArrow(file);
    const { columns, rowCount, batches: parts } = arrow;
    return {
      columns,
      rowCount,
      parts,
      copiedIds: new Map(),
      prepare: preparing(arrow.codecs),
      readVectors: (part, requests) => readArrowVectors(file, arrow, part, requests),
    };
  }
  const parquet = openParquet(file);
  const { columns, rowCount, rowGroups: parts } = parquet;
  return {
    columns,
    rowCount,
    parts,
    copiedIds: layout ? copiedIds(parquet, layout) : new Map(),
    prepare: preparing(parquet.codecs),
    readVectors: (part, requests) => readParquetVectors(file, parquet, part, requests),
  };
}
