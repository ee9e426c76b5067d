/** Columns that are written beside raw_reward and advantage, where they are asked for. */
import type { NewColumn } from './parquet/new-columns.ts';
import type { Presence } from './vectors.ts';

export interface ExtraColumn extends NewColumn {
  readonly values:
    | { readonly kind: 'whole'; readonly values: Uint32Array; readonly present: Presence }
    | { readonly kind: 'bool'; readonly values: Uint8Array; readonly present: Presence }
    | { readonly kind: 'double'; readonly values: Float64Array; readonly present: 'not NaN' };
}
