/** Where rows come from: how an error names a row of a batch, and which file a row belongs to. */
import { type Growable, growableF64 } from './growable.ts';

export interface FileOfRows {
  readonly name: string;
  /** `line` for text, `row` for everything else. */
  readonly unit: 'line' | 'row';
  /** Several rows may be of one record. */
  readonly recordsHoldRows: boolean;
}

interface FileRows extends FileOfRows {
  readonly firstRow: number;
  /** Runs of rows whose records follow one another, or, where records hold rows, the first row of each record. */
  readonly rows: Growable<Float64Array>;
  readonly records: Growable<Float64Array>;
}

export class Places {
  readonly #files: FileRows[] = [];
  readonly #namesFiles: boolean;

  /** @param namesFiles rows of several files are one batch, so that a place must name the file */
  constructor(namesFiles: boolean) {
    this.#namesFiles = namesFiles;
  }

  beginFile(file: FileOfRows, firstRow: number): void {
    this.#files.push({ ...file, firstRow, rows: growableF64(16), records: growableF64(16) });
  }

  /** The row has that record of the file begun last, and so on until the next run. */
  beginRun(row: number, record: number): void {
    const { rows, records, recordsHoldRows } = this.#files[this.#files.length - 1];
    const last = rows.length - 1;
    const step = recordsHoldRows || last < 0 ? 0 : row - rows.get(last);
    if (last >= 0 && records.get(last) + step === record) return;
    rows.push(row);
    records.push(record);
  }

  describe(row: number): string {
    const file = this.#files[lastAtOrBefore(this.#files.length, row, (i) => this.#files[i].firstRow)];
    if (!file) return `row ${row + 1}`;
    const name = this.#namesFiles ? `${file.name}: ` : '';
    if (file.rows.length === 0) return `${name}row ${row - file.firstRow + 1}`;
    const run = lastAtOrBefore(file.rows.length, row, (i) => file.rows.get(i));
    const at = row - file.rows.get(run);
    const record = file.records.get(run);
    return file.recordsHoldRows
      ? `${name}${file.unit} ${record}, entry ${at + 1}`
      : `${name}${file.unit} ${record + at}`;
  }
}

/** The last of `count` ascending values that is not above `row`; 0 where there is none. */
function lastAtOrBefore(count: number, row: number, valueAt: (i: number) => number): number {
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (valueAt(middle) <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}
