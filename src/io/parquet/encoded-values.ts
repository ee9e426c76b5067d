/** Values of a column chunk on their way into pages. */
import { encodeHybrid } from './encode-hybrid.ts';

/** Values of a column chunk, present ones only, encoded but not compressed. */
export interface EncodedValues {
  readonly encoding: number;
  /** Entries and bytes of the dictionary page. */
  readonly dictionary: { readonly entryCount: number; readonly bytes: Uint8Array } | null;
  /** For the pages in order: how many values, and the bytes that stand for them. */
  readonly pages: Iterable<{ readonly valueCount: number; readonly bytes: Uint8Array }>;
}

/** Values of a page: a megabyte of binary64. */
export const PAGE_VALUES = 1 << 17;

/** Pages of dictionary indices, each with their width in front. */
export function* indexPages(
  indices: Int32Array,
  entryCount: number,
): Generator<{ valueCount: number; bytes: Uint8Array }> {
  const width = Math.max(1, 32 - Math.clz32(entryCount - 1));
  yield* eachPage(indices.length, (from, to) => {
    return { valueCount: to - from, bytes: joined(Uint8Array.of(width), encodeHybrid(indices, from, to, width)) };
  });
}

/** Makes the pages one by one; a column without values has one page without values. */
export function* eachPage<T>(count: number, make: (from: number, to: number, page: number) => T): Generator<T> {
  for (let from = 0, page = 0; from < count || page === 0; from += PAGE_VALUES, page++) {
    yield make(from, Math.min(count, from + PAGE_VALUES), page);
  }
}

export function joined(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
