/** Encodes texts: through a dictionary where they repeat, else one after the other. */

import { encodeRun } from './encode-hybrid.ts';
import { type EncodedValues, indexPages, joined } from './encoded-values.ts';
import { Encoding } from './encodings.ts';
import type { ColumnValues } from './new-columns.ts';

type Texts = Extract<ColumnValues, { kind: 'text' }>;

const MOST_ENTRIES = 1 << 15;
const DICTIONARY_BYTES = 1 << 20;
const PAGE_BYTES = 1 << 20;

export function encodeText(
  values: Texts | Extract<ColumnValues, { kind: 'constant text' }>,
  presence: Uint8Array | null,
  rowCount: number,
): EncodedValues {
  if (values.kind === 'constant text') return encodeConstant(values.text, rowCount);
  const { entries, indices } = distinctTexts(values, presence, rowCount);
  const byteLength = plainLength(values, entries);
  const isWorthIt = entries.length > 0 && entries.length * 2 <= indices.length && entries.length <= MOST_ENTRIES;
  if (isWorthIt && byteLength <= DICTIONARY_BYTES) {
    const dictionary = {
      entryCount: entries.length,
      bytes: plainTexts(values, entries, 0, entries.length, byteLength),
    };
    return { encoding: Encoding.dictionary, dictionary, pages: indexPages(indices, entries.length) };
  }
  return {
    encoding: Encoding.plain,
    dictionary: null,
    pages: plainPages(
      values,
      indices.map((index) => entries[index]),
    ),
  };
}

function encodeConstant(text: string, rowCount: number): EncodedValues {
  const bytes = new TextEncoder().encode(text);
  const framed = new Uint8Array(4 + bytes.length);
  new DataView(framed.buffer).setUint32(0, bytes.length, true);
  framed.set(bytes, 4);
  const page = joined(Uint8Array.of(1), encodeRun(0, rowCount, 1));
  return {
    encoding: Encoding.dictionary,
    dictionary: { entryCount: 1, bytes: framed },
    pages: [{ valueCount: rowCount, bytes: rowCount === 0 ? Uint8Array.of(1) : page }],
  };
}

/** The texts that present rows have, by first use, and for each such row its place among them. */
function distinctTexts(
  values: Texts,
  presence: Uint8Array | null,
  rowCount: number,
): { entries: Int32Array; indices: Int32Array } {
  const entryOf = new Int32Array(values.offsets.length).fill(-1);
  const entries = new Int32Array(Math.min(rowCount, values.offsets.length));
  const indices = new Int32Array(rowCount);
  let entryCount = 0;
  let count = 0;
  for (let row = 0; row < rowCount; row++) {
    if (presence !== null && presence[row] === 0) continue;
    const code = values.codes[row];
    if (entryOf[code] < 0) {
      entries[entryCount] = code;
      entryOf[code] = entryCount++;
    }
    indices[count++] = entryOf[code];
  }
  return { entries: entries.subarray(0, entryCount), indices: indices.subarray(0, count) };
}

function plainLength({ offsets }: Texts, codes: Int32Array): number {
  return codes.reduce((sum, code) => sum + 4 + offsets[code + 1] - offsets[code], 0);
}

/** PLAIN: each text with its length in front. */
function plainTexts(values: Texts, codes: Int32Array, from: number, to: number, byteLength: number): Uint8Array {
  const target = new Uint8Array(byteLength);
  const view = new DataView(target.buffer);
  let at = 0;
  for (let i = from; i < to; i++) {
    const start = values.offsets[codes[i]];
    const end = values.offsets[codes[i] + 1];
    view.setUint32(at, end - start, true);
    target.set(values.bytes.subarray(start, end), at + 4);
    at += 4 + end - start;
  }
  return target;
}

function* plainPages(values: Texts, codes: Int32Array): Generator<{ valueCount: number; bytes: Uint8Array }> {
  const { offsets } = values;
  let from = 0;
  do {
    let byteLength = 0;
    let to = from;
    while (to < codes.length && (to === from || byteLength < PAGE_BYTES)) {
      byteLength += 4 + offsets[codes[to] + 1] - offsets[codes[to]];
      to++;
    }
    yield { valueCount: to - from, bytes: plainTexts(values, codes, from, to, byteLength) };
    from = to;
  } while (from < codes.length);
}
