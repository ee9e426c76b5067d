/** What Parquet and Arrow files have in common: columns, and parts of consecutive rows. */
import { openArrow } from '../arrow/arrow-file.ts';
import { readVectors as readArrowVectors } from '../arrow/read-vectors.ts';
import { type BlockCodec, prepareBlockCodecs } from '../codecs/block.ts';
import type { CopiedIds } from '../input.ts';
import type { Layout } from '../layouts/layout.ts';
import { copiedIds } from '../parquet/copied-ids.ts';
import { openParquet, type ParquetFile } from '../parquet/metadata.ts';
import { readVectors as readParquetVectors } from '../parquet/read-vectors.ts';
import { Scratch } from '../parquet/scratch.ts';
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
  /** The vectors are valid until those of another part, of whatever file, are read in this thread. */
  readVectors(part: number, requests: readonly VectorRequest[]): Vector[];
}

const NONE: CopiedIds = new Map();
const scratch = new Scratch();

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
      copiedIds: NONE,
      prepare: preparing(arrow.codecs),
      readVectors: (part, requests) => readArrowVectors(file, arrow, part, requests),
    };
  }
  const parquet = openLastParquet(file);
  const { columns, rowCount, rowGroups: parts } = parquet;
  let lastPart = -1;
  return {
    columns,
    rowCount,
    parts,
    copiedIds: layout ? copiedIds(parquet, layout) : NONE,
    prepare: preparing(parquet.codecs),
    readVectors: (part, requests) => {
      if (part !== lastPart) scratch.recycle();
      lastPart = part;
      return readParquetVectors(file, parquet, part, requests, scratch);
    },
  };
}

let last: { readonly identity: string; readonly parquet: ParquetFile } | null = null;

/** A thread reads one file part by part, and the footer of a long one takes as long as many a part. */
function openLastParquet(file: RandomAccessFile): ParquetFile {
  const { identity } = file;
  if (identity !== undefined && last?.identity === identity) return last.parquet;
  const parquet = openParquet(file);
  last = identity === undefined ? null : { identity, parquet };
  return parquet;
}
