/** The values of a mask's page as a bitmap of ones, whatever they are stored as. */
import type { Bitmap } from './bitmap.ts';
import { booleanSpan, checkPlainBooleans } from './boolean-values.ts';
import type { DataPage, DictionaryPage } from './chunk-pages.ts';
import { Encoding, isDictionaryEncoding } from './encodings.ts';
import {
  type ByteWidth,
  decodeFixed,
  decodeFixedDictionary,
  type FixedDictionary,
  indexWidth,
  visitIndices,
  wordsOf,
} from './fixed-values.ts';
import type { SchemaLeaf } from './schema.ts';

/** Says of values that were decoded as words whether they are 1, 0 or something else (2). */
type Judge = (words: Int32Array, index: number) => 0 | 1 | 2;

const INVALID = 2;

export class MaskValues {
  /** The first value of the page that is neither 0 nor 1: its index among the page's values, and its text. */
  invalid: { readonly index: number; readonly found: string } | null = null;
  readonly #isBoolean: boolean;
  readonly #width: ByteWidth;
  readonly #judge: Judge;
  readonly #text: (words: Int32Array, index: number) => string;
  #words = new Int32Array(0);
  #dictionary: FixedDictionary | null = null;
  /** What each entry of the dictionary is. */
  #judged = new Uint8Array(0);

  constructor(leaf: SchemaLeaf) {
    const { physicalType, annotation } = leaf.element;
    this.#isBoolean = physicalType === 'boolean';
    this.#width =
      physicalType === 'fixed_len_byte_array' ? 2 : physicalType === 'int32' || physicalType === 'float' ? 4 : 8;
    const isFloat = physicalType === 'float' || physicalType === 'double' || annotation === 'float16';
    this.#judge = isFloat ? floatJudge(this.#width) : this.#width === 8 ? judgeInt64 : judgeInt32;
    this.#text = (words, index) => textOf(words, index, this.#width, isFloat, annotation?.startsWith('u') ?? false);
  }

  setDictionary(page: DictionaryPage): void {
    this.#dictionary = decodeFixedDictionary(page.values, page.entryCount, this.#width, page.place);
    this.#judged = new Uint8Array(page.entryCount);
    for (let i = 0; i < page.entryCount; i++) this.#judged[i] = this.#judge(this.#dictionary.words, i);
  }

  /** Puts the page's `count` values into the bitmap; one that is invalid counts as zero. */
  read(page: DataPage, count: number, bits: Bitmap): void {
    this.invalid = null;
    bits.reset(count);
    if (count === 0) return;
    if (this.#isBoolean) readBooleanBits(page, count, bits);
    else if (isDictionaryEncoding(page.encoding) && this.#dictionary !== null) this.#readIndices(page, count, bits);
    else this.#readWords(page, count, bits);
  }

  #readIndices(page: DataPage, count: number, bits: Bitmap): void {
    const { values, place } = page;
    const judged = this.#judged;
    if (judged.length === 2 && indexWidth(values, place) === 1 && judged[0] + judged[1] === 1) {
      bits.setHybrid(values, 1, values.length, count, `${place}: indices`);
      if (judged[0] === 1) bits.invert();
      return;
    }
    visitIndices(values, count, judged.length, place, {
      run: (index, from, runCount) => {
        bits.appendRun(judged[index] === 1 ? 1 : 0, runCount);
        if (judged[index] === INVALID) this.#noteInvalid(from, this.#entryText(index));
      },
      each: (indices, from, eachCount) => {
        for (let i = 0; i < eachCount; i++) {
          const judgement = judged[indices[i]];
          bits.append(judgement & 1);
          if (judgement === INVALID) this.#noteInvalid(from + i, this.#entryText(indices[i]));
        }
      },
    });
  }

  #entryText(index: number): string {
    return this.#dictionary === null ? '' : this.#text(this.#dictionary.words, index);
  }

  #readWords(page: DataPage, count: number, bits: Bitmap): void {
    const wordCount = count * wordsOf(this.#width);
    if (wordCount > this.#words.length) this.#words = new Int32Array(wordCount);
    const words = this.#words;
    decodeFixed(page.encoding, page.values, this.#width, count, null, words, 0, page.place);
    const judge = this.#judge;
    const target = bits.words;
    let collected = 0;
    for (let i = 0; i < count; i++) {
      const judgement = judge(words, i);
      collected |= (judgement & 1) << (i & 31);
      if (judgement === INVALID) this.#noteInvalid(i, this.#text(words, i));
      if ((i & 31) !== 31) continue;
      target[i >>> 5] = collected;
      collected = 0;
    }
    target[count >>> 5] = collected;
    bits.length = count;
  }

  #noteInvalid(index: number, found: string): void {
    this.invalid ??= { index, found };
  }
}

function readBooleanBits(page: DataPage, count: number, bits: Bitmap): void {
  const { encoding, values, place } = page;
  if (encoding === Encoding.plain) {
    checkPlainBooleans(values, count, place);
    bits.setPacked(values, 0, count);
    return;
  }
  const { start, end } = booleanSpan(encoding, values, place);
  bits.setHybrid(values, start, end, count, `${place}: booleans`);
}

// Nobody can guess the bits of a mask: that they are bits at all is the only thing that is branched on.
const judgeInt32: Judge = (words, index) => {
  const word = words[index];
  return (word & ~1) === 0 ? (word as 0 | 1) : INVALID;
};

const judgeInt64: Judge = (words, index) => {
  const low = words[2 * index];
  return ((low & ~1) | words[2 * index + 1]) === 0 ? (low as 0 | 1) : INVALID;
};

/** By the bits of 1; both zeros are zero. */
function floatJudge(width: ByteWidth): Judge {
  const one = width === 2 ? 0x3c00 : width === 4 ? 0x3f800000 : 0x3ff00000;
  const minusZero = width === 2 ? 0x8000 : -0x80000000;
  const isDouble = width === 8;
  return (words, index) => {
    const top = isDouble ? words[2 * index + 1] : words[index];
    if (isDouble && words[2 * index] !== 0) return INVALID;
    if (top === 0 || top === minusZero) return 0;
    return top === one ? 1 : INVALID;
  };
}

function textOf(words: Int32Array, index: number, width: ByteWidth, isFloat: boolean, isUnsigned: boolean): string {
  const wordsPerValue = wordsOf(width);
  const { buffer } = words.slice(index * wordsPerValue, (index + 1) * wordsPerValue);
  if (!isFloat) {
    if (width === 8) return String((isUnsigned ? new BigUint64Array(buffer) : new BigInt64Array(buffer))[0]);
    return String((isUnsigned ? new Uint32Array(buffer) : new Int32Array(buffer))[0]);
  }
  if (width === 8) return String(new Float64Array(buffer)[0]);
  if (width === 4) return String(new Float32Array(buffer)[0]);
  return `binary16 0x${words[index].toString(16).padStart(4, '0')}`;
}
