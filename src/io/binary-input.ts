/** Portions of Parquet, Arrow and torch files. */
import { InputError } from '../errors.ts';
import { openColumnarFile } from './columnar/columnar-file.ts';
import type { SniffedFormat } from './format.ts';
import type { Input } from './input.ts';
import type { Layout } from './layouts/layout.ts';
import { recordsHoldRows } from './layouts/resolve-layout.ts';
import type { Portion } from './portion.ts';
import { openRandomAccess } from './random-access.ts';

/** Fewer rows are not worth a task of their own. */
const ROWS_OF_A_PORTION = 1 << 17;

type BinaryInput = Pick<Input, 'format' | 'portions' | 'recordsHoldRows' | 'keepsRows' | 'expectedRows' | 'copiedIds'>;

export function describeBinaryInput(
  path: string,
  name: string,
  format: Exclude<SniffedFormat, 'jsonl'>,
  layout: Layout,
): BinaryInput {
  if (recordsHoldRows(layout) || layout.document)
    throw new InputError(`the layout ${layout.preset} is one of JSON, and this is a ${NAMES[format]} file`);
  if (format === 'torch')
    return { format, portions: [{ format, path, name }], recordsHoldRows: false, keepsRows: false };
  const file = openRandomAccess(path, name);
  try {
    const { parts, rowCount, copiedIds } = openColumnarFile(file, format, layout);
    const portions = portionsOf(parts, { format, path, name });
    // A header may claim anything: memory is set aside for no more rows than the file has bytes.
    const expectedRows = Math.min(rowCount, file.byteLength);
    return { format, portions, recordsHoldRows: false, keepsRows: true, expectedRows, copiedIds };
  } finally {
    file.close();
  }
}

const NAMES = { parquet: 'Parquet', arrow: 'Arrow', torch: 'torch .pt' } as const;

function portionsOf(
  parts: readonly { readonly rowCount: number }[],
  of: { readonly format: 'parquet' | 'arrow'; readonly path: string; readonly name: string },
): Portion[] {
  const portions: Portion[] = [];
  let first = 0;
  let rows = 0;
  for (let i = 0; i < parts.length; i++) {
    rows += parts[i].rowCount;
    if (rows < ROWS_OF_A_PORTION && i + 1 < parts.length) continue;
    portions.push({ ...of, first, count: i + 1 - first, rowCount: rows });
    first = i + 1;
    rows = 0;
  }
  return portions;
}
