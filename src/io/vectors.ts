/** Columns of consecutive rows as the columnar formats (Parquet, Arrow) hand them over, whatever their encoding was. */

/** What a reader is asked for: the leaf at a path of field names, as plain values or as the count of a list's ones. */
export interface VectorRequest {
  readonly path: readonly string[];
  /** `mask`: a list of 0/1 or booleans, of which only the number of ones and the length are wanted. */
  readonly as: 'value' | 'mask';
}

/** 1 where a row has a value, 0 where it or something around it is null; null: every row has one. */
export type Presence = Uint8Array | null;

export interface IntegerVector {
  readonly kind: 'integers';
  /** One entry a row, 0 where absent; 64-bit columns keep their width, so that no id is rounded. */
  readonly values: Int32Array | Uint32Array | BigInt64Array | BigUint64Array;
  readonly present: Presence;
}

export interface NumberVector {
  readonly kind: 'numbers';
  /** binary16, binary32 and binary64 alike, exactly; 0 where absent (NaN is a value). */
  readonly values: Float64Array;
  readonly present: Presence;
}

export interface BooleanVector {
  readonly kind: 'booleans';
  /** 0 or 1. */
  readonly values: Uint8Array;
  readonly present: Presence;
}

export interface TextVector {
  readonly kind: 'texts';
  /** Index of each row's text among the distinct ones, which may hold unused or equal entries; 0 where absent. */
  readonly codes: Uint32Array;
  /** UTF-8 of the distinct texts; text i is bytes[offsets[i] .. offsets[i + 1]). */
  readonly bytes: Uint8Array;
  readonly offsets: Float64Array | Uint32Array;
  readonly present: Presence;
}

export interface MaskVector {
  readonly kind: 'masks';
  /** Per row the entries that are 1 or true, and all entries; 0 where absent. */
  readonly ones: Uint32Array;
  readonly lengths: Uint32Array;
  readonly present: Presence;
  /** The first entry that is neither 0 nor 1 (null entries included): its row, counted from the vector's first, and the text of what was found. */
  readonly invalid: { readonly row: number; readonly found: string } | null;
}

/** A column in which every row is null (Arrow's null type, or a Parquet column of nulls alone). */
export interface NullVector {
  readonly kind: 'nulls';
}

export type Vector = IntegerVector | NumberVector | BooleanVector | TextVector | MaskVector | NullVector;

/** A leaf of a columnar file's schema, for presets and messages. */
export interface ColumnInfo {
  /** Names from the root; the inner names of lists ("list", "element", "item") are left out. */
  readonly path: readonly string[];
  /** The type as the format's own documentation spells it, for messages: `int64`, `list<int8>`, `decimal(10, 2)`. */
  readonly type: string;
  readonly isList: boolean;
}
