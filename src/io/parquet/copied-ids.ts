/** Id columns whose bytes another file can have as they are. */
import type { CopiedId, CopiedIds } from '../input.ts';
import type { IdField, IdSource, Layout } from '../layouts/layout.ts';
import type { ParquetFile } from './metadata.ts';
import { canCopy } from './write-columns-only.ts';

const INTEGER = /^u?int(8|16|32|64)$/;

export function copiedIds(parquet: ParquetFile, layout: Layout): CopiedIds {
  const copied = new Map<IdField, CopiedId>();
  for (const field of ['group_index', 'rollout_id', 'index'] as const) {
    // Groups of a fixed size, and the ids that a joined file may give, are not those of the column.
    if (field === 'group_index' && layout.groupSize !== undefined) continue;
    if (field !== 'index' && layout.key) continue;
    const path = plainPath(layout[field]);
    const column = path && parquet.columns.find((candidate) => candidate.path.join('\0') === path.join('\0'));
    if (column && canCopy(parquet, path)) copied.set(field, { path, isInteger: INTEGER.test(column.type) });
  }
  return copied;
}

/** The one column that an id is, as it is. */
function plainPath(source: IdSource | undefined): string[] | null {
  if (source?.parts.length !== 1 || source.otherwise || source.parts[0].cut) return null;
  const { steps, text } = source.parts[0].column;
  if (text.startsWith('#')) return null;
  const names = steps.filter((step) => typeof step === 'string');
  return names.length === steps.length ? names : null;
}
