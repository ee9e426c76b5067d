/** Values of a fixed width, as 32-bit words: one word for 32 bits and less, two for 64, the low one first. */
import { InputError } from '../../errors.ts';
import { decodeDelta } from './delta.ts';
import { Encoding, encodingName } from './encodings.ts';
import { HybridRuns, unpackWords } from './hybrid-runs.ts';

/** How many bytes a value has in the file; two-byte values are widened to a word. */
export type ByteWidth = 2 | 4 | 8;

export function wordsOf(byteWidth: ByteWidth): 1 | 2 {
  return byteWidth === 8 ? 2 : 1;
}

/** Decoded entries of a dictionary page. */
export interface FixedDictionary {
  readonly words: Int32Array;
  readonly entryCount: number;
}

export function decodeFixedDictionary(
  values: Uint8Array,
  count: number,
  width: ByteWidth,
  place: string,
): FixedDictionary {
  if (count * width > values.length) throw tooShort(values.length, count, place);
  const words = new Int32Array(count * wordsOf(width));
  decodePlain(values, width, count, words, 0, place);
  return { words, entryCount: count };
}

/** Decodes `count` values of a page into target, from value `at` on. */
export function decodeFixed(
  encoding: number,
  values: Uint8Array,
  width: ByteWidth,
  count: number,
  dictionary: FixedDictionary | null,
  target: Int32Array,
  at: number,
  place: string,
): void {
  if (count === 0) return;
  const words = wordsOf(width);
  if (encoding === Encoding.plain) decodePlain(values, width, count, target, at, place);
  else if (encoding === Encoding.plainDictionary || encoding === Encoding.dictionary) {
    if (dictionary === null) throw new InputError(`${place}: has indices, but its column has no dictionary`);
    gather(values, count, dictionary, words, target, at, place);
  } else if (encoding === Encoding.byteStreamSplit) joinStreams(values, width, count, target, at, place);
  else if (encoding === Encoding.deltaBinaryPacked && width !== 2) {
    decodeDelta(values, 0, count, words, target, at, place);
  } else
    throw new InputError(
      `${place}: has ${width * 8}-bit values in encoding ${encodingName(encoding)}, which cannot be read`,
    );
}

function decodePlain(
  values: Uint8Array,
  width: ByteWidth,
  count: number,
  target: Int32Array,
  at: number,
  place: string,
): void {
  if (count * width > values.length) throw tooShort(values.length, count, place);
  if (width === 2) {
    for (let i = 0; i < count; i++) target[at + i] = values[2 * i] | (values[2 * i + 1] << 8);
    return;
  }
  const bytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
  bytes.set(values.subarray(0, count * width), at * width);
}

/** BYTE_STREAM_SPLIT: all first bytes, then all second bytes, and so on. */
function joinStreams(
  values: Uint8Array,
  width: ByteWidth,
  count: number,
  target: Int32Array,
  at: number,
  place: string,
): void {
  if (count * width > values.length) throw tooShort(values.length, count, place);
  const words = wordsOf(width);
  for (let word = 0; word < words; word++) {
    const first = values.subarray(word * 4 * count);
    for (let i = 0; i < count; i++) {
      let value = first[i] | (first[count + i] << 8);
      if (width !== 2) value |= (first[2 * count + i] << 16) | (first[3 * count + i] << 24);
      target[(at + i) * words + word] = value;
    }
  }
}

function tooShort(byteLength: number, count: number, place: string): InputError {
  return new InputError(`${place}: has ${byteLength} bytes of values, too few for ${count} values`);
}

const INDICES_AT_ONCE = 1 << 14;
let unpackedIndices = new Int32Array(0);

function gather(
  values: Uint8Array,
  count: number,
  dictionary: FixedDictionary,
  words: 1 | 2,
  target: Int32Array,
  at: number,
  place: string,
): void {
  const entries = dictionary.words;
  visitIndices(values, count, dictionary.entryCount, place, {
    run(index, from, runCount) {
      if (words === 1) return void target.fill(entries[index], at + from, at + from + runCount);
      const low = entries[2 * index];
      const high = entries[2 * index + 1];
      for (let i = 2 * (at + from), end = i + 2 * runCount; i < end; i += 2) {
        target[i] = low;
        target[i + 1] = high;
      }
    },
    each(indices, from, eachCount) {
      if (words === 1) {
        for (let i = 0; i < eachCount; i++) target[at + from + i] = entries[indices[i]];
        return;
      }
      for (let i = 0, to = 2 * (at + from); i < eachCount; i++, to += 2) {
        const index = 2 * indices[i];
        target[to] = entries[index];
        target[to + 1] = entries[index + 1];
      }
    },
  });
}

interface IndexVisitor {
  run(index: number, from: number, count: number): void;
  each(indices: Int32Array, from: number, count: number): void;
}

/** Goes over the dictionary indices of a page, which begin with their width; all are inside the dictionary. */
export function visitIndices(
  values: Uint8Array,
  count: number,
  entryCount: number,
  place: string,
  to: IndexVisitor,
): void {
  const width = indexWidth(values, place);
  const runs = new HybridRuns(values, 1, values.length, width, count, `${place}: indices`);
  for (let from = 0; runs.next(); from += runs.count) {
    if (!runs.isPacked) {
      if (runs.value >= entryCount) throw indexError(runs.value, entryCount, place);
      to.run(runs.value, from, runs.count);
      continue;
    }
    if (unpackedIndices.length === 0) unpackedIndices = new Int32Array(INDICES_AT_ONCE);
    for (let done = 0; done < runs.count; ) {
      const part = Math.min(INDICES_AT_ONCE, runs.count - done);
      const start = runs.byteOffset + (done * width) / 8;
      const largest = unpackWords(values, start, values.length, width, unpackedIndices, part);
      if (largest >= entryCount) throw indexError(largest, entryCount, place);
      to.each(unpackedIndices, from + done, part);
      done += part;
    }
  }
}

/** The bits of each index, by a page's first byte. */
export function indexWidth(values: Uint8Array, place: string): number {
  if (values.length === 0) throw new InputError(`${place}: ends before its indices`);
  if (values[0] > 32) throw new InputError(`${place}: has indices of ${values[0]} bits, expected at most 32`);
  return values[0];
}

function indexError(found: number, entryCount: number, place: string): InputError {
  return new InputError(`${place}: has index ${found}, but its dictionary has ${entryCount} entries`);
}
