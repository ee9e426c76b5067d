/** A column that chunks are put into as they come, so that no chunk has to be kept until the last is there. */

type Column = Uint8Array | Uint32Array | Float64Array;

export class JoinedColumn<T extends Column> {
  readonly #make: (length: number) => T;
  readonly #blank: number;
  #rows: T | null = null;
  /** Rows from here on have not been put. */
  #end = 0;

  /** @param blank what rows hold that no chunk was put for */
  constructor(make: (length: number) => T, blank: number) {
    this.#make = make;
    this.#blank = blank;
  }

  get isEmpty(): boolean {
    return this.#rows === null;
  }

  /**
   * Chunks come in the order of their rows; the first may be kept as it is.
   * @param expectedRows how long the column is going to be; a hint
   */
  put(chunk: T, firstRow: number, expectedRows: number): void {
    const end = firstRow + chunk.length;
    if (this.#rows === null && firstRow === 0 && end >= expectedRows) this.#rows = chunk;
    else {
      const rows = this.#reserve(end, expectedRows);
      if (firstRow > this.#end) rows.fill(this.#blank, this.#end, firstRow);
      rows.set(chunk, firstRow);
    }
    this.#end = end;
  }

  /** The column of so many rows, which is then given up; null where nothing was put. */
  take(rowCount: number): T | null {
    if (this.#rows === null) return null;
    const rows = this.#reserve(rowCount, rowCount);
    if (rowCount > this.#end) rows.fill(this.#blank, this.#end, rowCount);
    this.#rows = null;
    return rows.length === rowCount ? rows : (rows.subarray(0, rowCount) as T);
  }

  #reserve(end: number, expectedRows: number): T {
    const before = this.#rows;
    if (before !== null && before.length >= end) return before;
    // Growth by half, so that the peak stays near what is kept.
    const rows = this.#make(Math.max(end, expectedRows, before === null ? 0 : Math.ceil(before.length * 1.5)));
    if (before !== null) rows.set(before.subarray(0, this.#end));
    this.#rows = rows;
    return rows;
  }
}
