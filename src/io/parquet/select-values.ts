/** Some rows of a column. */
import type { ColumnValues } from './new-columns.ts';

/** @param rows in their order, each at most once */
export function selectValues(values: ColumnValues, rows: Uint32Array): ColumnValues {
  switch (values.kind) {
    case 'constant text':
      return values;
    case 'sequence':
      return { kind: 'whole', values: rows.map((row) => values.first + row), present: null };
    case 'text':
      return { ...values, codes: pick(values.codes, rows), present: pickPresence(values.present, rows) };
    default: {
      const present = values.present === 'not NaN' ? values.present : pickPresence(values.present, rows);
      return { ...values, values: pick(values.values, rows), present } as ColumnValues;
    }
  }
}

function pickPresence(present: Uint8Array | null, rows: Uint32Array): Uint8Array | null {
  return present && pick(present, rows);
}

type Values = Extract<ColumnValues, { values: unknown }>['values'];

function pick<T extends Values>(all: T, rows: Uint32Array): T {
  const picked = all.slice(0, rows.length) as T;
  for (let i = 0; i < rows.length; i++) picked[i] = all[rows[i]];
  return picked;
}
