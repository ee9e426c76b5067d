/** The distinct texts of a column in one row group, and the codes that stand for them. */
import { InputError } from '../../errors.ts';
import type { DataPage, DictionaryPage } from './chunk-pages.ts';
import { decodeDelta } from './delta.ts';
import { Encoding, encodingName, isDictionaryEncoding } from './encodings.ts';
import { visitIndices } from './fixed-values.ts';

const MOST_BYTES = 2 ** 31;

export class TextStore {
  readonly #name: string;
  #bytes = new Uint8Array(0);
  #byteCount = 0;
  #offsets = new Uint32Array(256);
  #count = 0;
  /** Entries of the dictionary page, which are the first texts; -1 before it came. */
  #dictionaryCount = -1;

  constructor(name: string) {
    this.#name = name;
  }

  setDictionary(page: DictionaryPage): void {
    this.#dictionaryCount = page.entryCount;
    this.#reserve(page.values.length);
    eachPlainText(page.values, page.entryCount, page.place, (start, end) => void this.#append(page.values, start, end));
  }

  /** Decodes `count` texts of a page into codes[at..). */
  decode(page: DataPage, count: number, codes: Int32Array, at: number): void {
    const { encoding, values, place } = page;
    if (count === 0) return;
    if (isDictionaryEncoding(encoding)) this.#decodeIndices(values, count, codes, at, place);
    else if (encoding === Encoding.plain) {
      let to = at;
      eachPlainText(values, count, place, (start, end) => {
        codes[to++] = this.#add(values, start, end);
      });
    } else if (encoding === Encoding.deltaLengthByteArray) this.#decodeDeltaLength(values, count, codes, at, place);
    else if (encoding === Encoding.deltaByteArray) this.#decodeFrontCoded(values, count, codes, at, place);
    else throw new InputError(`${place}: has text in encoding ${encodingName(encoding)}, which cannot be read`);
  }

  texts(): { bytes: Uint8Array; offsets: Uint32Array } {
    return { bytes: this.#bytes.subarray(0, this.#byteCount), offsets: this.#offsets.subarray(0, this.#count + 1) };
  }

  #decodeIndices(values: Uint8Array, count: number, codes: Int32Array, at: number, place: string): void {
    if (this.#dictionaryCount < 0) throw new InputError(`${place}: has indices, but its column has no dictionary`);
    visitIndices(values, count, this.#dictionaryCount, place, {
      run: (index, from, runCount) => void codes.fill(index, at + from, at + from + runCount),
      each: (indices, from, eachCount) => {
        for (let i = 0; i < eachCount; i++) codes[at + from + i] = indices[i];
      },
    });
  }

  #decodeDeltaLength(values: Uint8Array, count: number, codes: Int32Array, at: number, place: string): void {
    const lengths = new Int32Array(count);
    let position = decodeDelta(values, 0, count, 1, lengths, 0, place);
    for (let i = 0; i < count; i++) {
      const end = checkedEnd(position, lengths[i], values.length, place);
      codes[at + i] = this.#add(values, position, end);
      position = end;
    }
  }

  /** DELTA_BYTE_ARRAY: every text is a prefix of the one before and a suffix of its own. */
  #decodeFrontCoded(values: Uint8Array, count: number, codes: Int32Array, at: number, place: string): void {
    const prefixes = new Int32Array(count);
    const suffixes = new Int32Array(count);
    const afterPrefixes = decodeDelta(values, 0, count, 1, prefixes, 0, place);
    let position = decodeDelta(values, afterPrefixes, count, 1, suffixes, 0, place);
    let previous = -1;
    for (let i = 0; i < count; i++) {
      const end = checkedEnd(position, suffixes[i], values.length, place);
      const previousLength = previous < 0 ? 0 : this.#offsets[previous + 1] - this.#offsets[previous];
      const prefix = prefixes[i];
      if (prefix < 0 || prefix > previousLength) {
        throw new InputError(`${place}: a text repeats ${prefix} bytes of one that has ${previousLength}`);
      }
      if (previous < 0 || prefix < previousLength || end > position) {
        const start = previous < 0 ? 0 : this.#offsets[previous];
        this.#reserve(prefix + end - position);
        this.#bytes.copyWithin(this.#byteCount, start, start + prefix);
        this.#byteCount += prefix;
        previous = this.#append(values, position, end);
      }
      codes[at + i] = previous;
      position = end;
    }
  }

  /** The code of a text: that of the text before where they are equal, as the rows of one prompt mostly are. */
  #add(bytes: Uint8Array, start: number, end: number): number {
    const last = this.#count - 1;
    // Texts of the dictionary are not compared with, so that its last one does not stand out.
    if (last >= this.#dictionaryCount && last >= 0) {
      const from = this.#offsets[last];
      const length = end - start;
      if (this.#byteCount - from === length && equalBytes(this.#bytes, from, bytes, start, length)) return last;
    }
    this.#reserve(end - start);
    return this.#append(bytes, start, end);
  }

  #append(bytes: Uint8Array, start: number, end: number): number {
    this.#reserve(end - start);
    copyBytes(bytes, start, end, this.#bytes, this.#byteCount);
    this.#byteCount += end - start;
    if (this.#count + 2 > this.#offsets.length) {
      const larger = new Uint32Array(Math.ceil(this.#offsets.length * 1.5));
      larger.set(this.#offsets);
      this.#offsets = larger;
    }
    this.#offsets[++this.#count] = this.#byteCount;
    return this.#count - 1;
  }

  #reserve(byteLength: number): void {
    const needed = this.#byteCount + byteLength;
    if (needed <= this.#bytes.length) return;
    if (needed > MOST_BYTES) {
      throw new InputError(
        `${this.#name}: a row group has more than ${MOST_BYTES} bytes of text, which cannot be read`,
      );
    }
    const larger = new Uint8Array(Math.min(MOST_BYTES, Math.max(needed, Math.ceil(this.#bytes.length * 1.5), 1024)));
    larger.set(this.#bytes.subarray(0, this.#byteCount));
    this.#bytes = larger;
  }
}

/** PLAIN: four bytes of length before each text. */
function eachPlainText(
  values: Uint8Array,
  count: number,
  place: string,
  visit: (start: number, end: number) => void,
): void {
  const view = new DataView(values.buffer, values.byteOffset, values.byteLength);
  let position = 0;
  for (let i = 0; i < count; i++) {
    if (position + 4 > values.length) throw cutOff(place);
    const start = position + 4;
    const length = view.getUint32(position, true);
    if (length > values.length - start) throw cutOff(place);
    position = start + length;
    visit(start, position);
  }
}

function checkedEnd(start: number, length: number, limit: number, place: string): number {
  if (length < 0 || length > limit - start) throw cutOff(place);
  return start + length;
}

function cutOff(place: string): InputError {
  return new InputError(`${place}: ends inside a text`);
}

/** Short texts are copied by a loop: a native call costs more than they do. */
const SHORT = 32;

function copyBytes(source: Uint8Array, start: number, end: number, target: Uint8Array, at: number): void {
  if (end - start > SHORT) target.set(source.subarray(start, end), at);
  else for (let i = start; i < end; i++) target[at++] = source[i];
}

function equalBytes(left: Uint8Array, from: number, right: Uint8Array, start: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (left[from + i] !== right[start + i]) return false;
  return true;
}
