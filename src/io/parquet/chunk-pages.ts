/** The pages of one column chunk, read in pieces, checked and decompressed one by one. */
import { crc32 } from 'node:zlib';
import { InputError } from '../../errors.ts';
import { decompressBlockInPlace } from '../codecs/block.ts';
import type { RandomAccessFile } from '../random-access.ts';
import type { ColumnChunk } from './metadata.ts';
import { type PageHeader, readPageHeader } from './page-header.ts';
import type { SchemaLeaf } from './schema.ts';
import { ThriftCutOff } from './thrift.ts';

/** Encoded levels: bytes[start..end), in the hybrid or in the packing that format version 1 had first. */
export interface LevelSpan {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly isLegacyPacked: boolean;
}

export interface DictionaryPage {
  readonly isDictionary: true;
  readonly entryCount: number;
  readonly values: Uint8Array;
  readonly place: string;
}

export interface DataPage {
  readonly isDictionary: false;
  /** Entries, absent ones and those of every list included. */
  readonly entryCount: number;
  /** Rows that begin in it, or -1 where the header does not say. */
  readonly rowCount: number;
  /** Number of the encoding; see encodings.ts. */
  readonly encoding: number;
  readonly repetition: LevelSpan | null;
  readonly definition: LevelSpan | null;
  readonly values: Uint8Array;
  /** For messages. */
  readonly place: string;
}

const WINDOW_LENGTH = 1 << 22;
const FIRST_HEADER_LENGTH = 1 << 10;
/** Larger pages are refused: each is held in memory as a whole. */
const LARGEST_PAGE = 2 ** 30;
/** Bitmaps and positions are made for the entries of one page. */
const MOST_ENTRIES = 2 ** 29;

/** How many times larger than its input a codec's output can be; more is a lie of the header. */
const LARGEST_RATIO = {
  none: 1,
  snappy: 64,
  gzip: 1032,
  lzo: 256,
  brotli: 2 ** 24,
  lz4: 256,
  zstd: 2 ** 16,
  lz4_raw: 256,
};

/** Bytes of the file that are kept from one read to the next, and from one column to the next. */
export class ReadWindow {
  readonly #file: RandomAccessFile;
  #buffer = new Uint8Array(0);
  #start = 0;
  #length = 0;

  constructor(file: RandomAccessFile) {
    this.#file = file;
  }

  /** The bytes [position..position + length), valid until the next call; more, up to `end`, are read along. */
  view(position: number, length: number, end: number): Uint8Array {
    if (position < this.#start || position + length > this.#start + this.#length) this.#fill(position, length, end);
    const from = position - this.#start;
    return this.#buffer.subarray(from, from + length);
  }

  #fill(position: number, length: number, end: number): void {
    const wanted = Math.max(length, Math.min(WINDOW_LENGTH, end - position));
    // What is there already of the bytes wanted is not read again.
    const from = position - this.#start;
    const kept = from >= 0 && from < this.#length ? Math.min(this.#length - from, wanted) : 0;
    const buffer = wanted > this.#buffer.length ? new Uint8Array(wanted) : this.#buffer;
    if (kept > 0) buffer.set(this.#buffer.subarray(from, from + kept));
    this.#buffer = buffer;
    this.#length = 0;
    this.#file.readInto(buffer.subarray(kept, wanted), position + kept);
    this.#start = position;
    this.#length = wanted;
  }
}

/** Goes from page to page until the chunk's values have all been seen. */
export class ChunkPages {
  readonly #window: ReadWindow;
  readonly #chunk: ColumnChunk;
  readonly #leaf: SchemaLeaf;
  readonly #place: string;
  readonly #end: number;
  #position: number;
  #entriesLeft: number;
  #hasDictionary = false;

  constructor(window: ReadWindow, chunk: ColumnChunk, leaf: SchemaLeaf, place: string) {
    if (chunk.codec === 'lzo') throw new InputError(`${place}: is compressed with LZO, which cannot be read`);
    this.#window = window;
    this.#chunk = chunk;
    this.#leaf = leaf;
    this.#place = place;
    this.#position = chunk.byteOffset;
    this.#end = chunk.byteOffset + chunk.byteLength;
    this.#entriesLeft = chunk.valueCount;
  }

  /** The next page, whose bytes are valid until the next call; null after the last. */
  next(): DictionaryPage | DataPage | null {
    while (this.#entriesLeft > 0) {
      const place = `${this.#place}, page at byte ${this.#position}`;
      if (this.#position >= this.#end) {
        throw new InputError(`${this.#place}: ends ${this.#entriesLeft} values too early`);
      }
      const header = this.#readHeader(place);
      const stored = this.#window.view(this.#position, header.storedLength, this.#end);
      this.#position += header.storedLength;
      if (header.crc !== null && crc32(stored) !== header.crc) {
        throw new InputError(`${place}: its checksum does not match`);
      }
      if (header.kind === 'dictionary') {
        if (this.#hasDictionary) throw new InputError(`${place}: is a second dictionary`);
        this.#hasDictionary = true;
        const values = this.#decompress(stored, header.plainLength, place);
        return { isDictionary: true, entryCount: header.entryCount, values, place };
      }
      if (header.kind === 'index') continue;
      this.#entriesLeft -= header.entryCount;
      if (this.#entriesLeft < 0) {
        throw new InputError(`${place}: has ${-this.#entriesLeft} values more than the footer counts`);
      }
      return header.kind === 'data2' ? this.#splitVersion2(header, stored, place) : this.#split(header, stored, place);
    }
    return null;
  }

  #readHeader(place: string): PageHeader {
    const left = this.#end - this.#position;
    for (let length = Math.min(FIRST_HEADER_LENGTH, left); ; length = Math.min(length * 16, left)) {
      try {
        const { header, byteLength } = readPageHeader(this.#window.view(this.#position, length, this.#end), place);
        this.#position += byteLength;
        this.#checkSizes(header, place);
        return header;
      } catch (error) {
        if (!(error instanceof ThriftCutOff) || length >= Math.min(left, LARGEST_PAGE)) throw error;
      }
    }
  }

  #checkSizes(header: PageHeader, place: string): void {
    const left = this.#end - this.#position;
    if (header.storedLength > left) {
      throw new InputError(`${place}: has ${header.storedLength} bytes, but only ${left} are left of its column`);
    }
    if (header.storedLength > LARGEST_PAGE || header.plainLength > LARGEST_PAGE) {
      throw new InputError(`${place}: has ${header.plainLength} bytes; at most ${LARGEST_PAGE} can be read`);
    }
    if (header.plainLength > 64 + header.storedLength * LARGEST_RATIO[this.#chunk.codec]) {
      const codec = this.#chunk.codec;
      throw new InputError(`${place}: ${header.storedLength} bytes of ${codec} cannot hold ${header.plainLength}`);
    }
    if (header.entryCount > MOST_ENTRIES) {
      throw new InputError(`${place}: has ${header.entryCount} values; at most ${MOST_ENTRIES} can be read`);
    }
  }

  #decompress(stored: Uint8Array, plainLength: number, place: string): Uint8Array {
    const { codec } = this.#chunk;
    if (codec === 'none' || codec === 'lzo') {
      if (stored.length !== plainLength) {
        throw new InputError(`${place}: has ${stored.length} bytes, expected ${plainLength}`);
      }
      return stored;
    }
    try {
      return decompressBlockInPlace(codec, stored, plainLength);
    } catch (error) {
      if (error instanceof InputError) throw new InputError(`${place}: ${error.message}`, { cause: error });
      throw error;
    }
  }

  #split(header: PageHeader, stored: Uint8Array, place: string): DataPage {
    const bytes = this.#decompress(stored, header.plainLength, place);
    const { maxRepetition, maxDefinition } = this.#leaf;
    const repetition = spanOfLevels(bytes, 0, maxRepetition, header.repetitionEncoding, header.entryCount, place);
    const afterRepetition = repetition?.end ?? 0;
    const { definitionEncoding, entryCount } = header;
    const definition = spanOfLevels(bytes, afterRepetition, maxDefinition, definitionEncoding, entryCount, place);
    const values = bytes.subarray(definition?.end ?? afterRepetition);
    return {
      isDictionary: false,
      entryCount,
      rowCount: -1,
      encoding: header.encoding,
      repetition,
      definition,
      values,
      place,
    };
  }

  #splitVersion2(header: PageHeader, stored: Uint8Array, place: string): DataPage {
    const { repetitionLength, definitionLength, entryCount, rowCount, encoding } = header;
    const levelLength = repetitionLength + definitionLength;
    if (repetitionLength < 0 || definitionLength < 0 || levelLength > Math.min(stored.length, header.plainLength)) {
      throw new InputError(`${place}: its levels are said to have ${repetitionLength} and ${definitionLength} bytes`);
    }
    const { maxRepetition, maxDefinition } = this.#leaf;
    const span = (start: number, end: number) => ({ bytes: stored, start, end, isLegacyPacked: false });
    const body = stored.subarray(levelLength);
    const plainLength = header.plainLength - levelLength;
    const isCompressed = header.isCompressed && !(plainLength === 0 && body.length === 0);
    return {
      isDictionary: false,
      entryCount,
      rowCount,
      encoding,
      repetition: maxRepetition > 0 ? span(0, repetitionLength) : null,
      definition: maxDefinition > 0 ? span(repetitionLength, levelLength) : null,
      values: isCompressed ? this.#decompress(body, plainLength, place) : body,
      place,
    };
  }
}

const RLE = 3;
const BIT_PACKED = 4;

/** Where the levels of a version 1 page lie, which begin at `start`; null where the column has none. */
function spanOfLevels(
  bytes: Uint8Array,
  start: number,
  maxLevel: number,
  encoding: number,
  entryCount: number,
  place: string,
): LevelSpan | null {
  if (maxLevel === 0) return null;
  if (encoding === BIT_PACKED) {
    const end = start + Math.ceil((entryCount * levelWidth(maxLevel)) / 8);
    if (end > bytes.length) throw new InputError(`${place}: is too short for its levels`);
    return { bytes, start, end, isLegacyPacked: true };
  }
  if (encoding !== RLE) throw new InputError(`${place}: has levels in encoding ${encoding}, which cannot be read`);
  if (start + 4 > bytes.length) throw new InputError(`${place}: is too short for its levels`);
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(start, true);
  if (length > bytes.length - start - 4) {
    throw new InputError(`${place}: its levels are said to have ${length} of ${bytes.length} bytes`);
  }
  return { bytes, start: start + 4, end: start + 4 + length, isLegacyPacked: false };
}

/** Bits that a level of at most `maxLevel` takes. */
export function levelWidth(maxLevel: number): number {
  return 32 - Math.clz32(maxLevel);
}
