/** Parts of an input that can be read, and written back, one apart from another; plain data. */

interface OfFile {
  /** Where the bytes are: the file itself, or the copy of a stream. */
  readonly path: string;
  /** What messages call it. */
  readonly name: string;
}

/** Lines that begin in a range of bytes. */
export interface LinesPortion extends OfFile {
  readonly format: 'lines';
  readonly start: number;
  readonly end: number;
  readonly maxLine: number | undefined;
}

/** All lines of a compressed file, which can only be read from its beginning. */
export interface CompressedLinesPortion extends OfFile {
  readonly format: 'compressed-lines';
  readonly compression: 'gzip' | 'zstd';
  readonly maxLine: number | undefined;
}

/** A file that is one JSON record, over however many lines. */
export interface DocumentPortion extends OfFile {
  readonly format: 'document';
  readonly maxLine: number | undefined;
}

/** Row groups of a Parquet file, or record batches of an Arrow file. */
export interface VectorsPortion extends OfFile {
  readonly format: 'parquet' | 'arrow';
  readonly first: number;
  readonly count: number;
  /** Rows of all of them, as the file states it. */
  readonly rowCount: number;
}

export interface TorchPortion extends OfFile {
  readonly format: 'torch';
}

export type Portion = LinesPortion | CompressedLinesPortion | DocumentPortion | VectorsPortion | TorchPortion;
