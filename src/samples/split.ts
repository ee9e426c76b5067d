/** Splits rows into batches by a column's value; batches are in first-seen order, rows keep theirs. */
import type { SampleColumns } from './columns.ts';
import { gather } from './gather.ts';
import { rewardsOfRows } from './rewards.ts';

export interface BatchRows {
  readonly columns: SampleColumns;
  /** Row of the whole for each row of the batch; null: all of them. */
  readonly rows: Uint32Array | null;
}

/** @param codes of the batch of each row; null: one batch */
export function* splitByCode(columns: SampleColumns, codes: Uint32Array | null): Generator<BatchRows> {
  if (!codes) {
    yield { columns, rows: null };
    return;
  }
  const numbers = new Map<number, number>();
  const counts: number[] = [];
  for (const code of codes) {
    let number = numbers.get(code);
    if (number === undefined) {
      number = counts.length;
      numbers.set(code, number);
      counts.push(0);
    }
    counts[number]++;
  }
  const batches = counts.map((count) => new Uint32Array(count));
  counts.fill(0);
  for (let row = 0; row < codes.length; row++) {
    const number = numbers.get(codes[row])!;
    batches[number][counts[number]++] = row;
  }
  for (const rows of batches) yield { columns: select(columns, rows), rows };
}

function select(columns: SampleColumns, rows: Uint32Array): SampleColumns {
  const { groupCodes, rolloutCodes, fixedTokens, flags } = columns;
  return {
    ...columns,
    rowCount: rows.length,
    groupCodes: gather(groupCodes, rows, new Uint32Array(rows.length)),
    rolloutCodes: gather(rolloutCodes, rows, new Uint32Array(rows.length)),
    ...rewardsOfRows(columns, rows),
    baselines: gather(columns.baselines ?? null, rows, new Float64Array(rows.length)),
    fixedTokens: gather(fixedTokens, rows, new Uint32Array(rows.length)),
    flags: gather(flags, rows, new Uint8Array(rows.length)),
    place: (row) => columns.place(rows[row]),
  };
}
