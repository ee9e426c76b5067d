/** Encodes the values of one column in one row group as pages. */
import { type BlockCodec, compressBlock } from '../codecs/block.ts';
import { encodeHybrid, encodeRun } from './encode-hybrid.ts';
import { encodeText } from './encode-text.ts';
import { type EncodedValues, eachPage, indexPages, joined, PAGE_VALUES } from './encoded-values.ts';
import { Encoding } from './encodings.ts';
import { CODECS } from './metadata.ts';
import { type ColumnValues, type NewChunk, type NewColumn, widened } from './new-columns.ts';
import { ThriftWriter } from './thrift-writer.ts';
import { findDictionary } from './value-dictionary.ts';

/** What new pages are compressed with. */
export type WriteCodec = 'none' | Extract<BlockCodec, 'snappy' | 'gzip' | 'zstd'>;

/** Takes bytes and counts them. */
export class ByteSink {
  position = 0;
  readonly #write: (bytes: Uint8Array) => void;

  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write;
  }

  write(bytes: Uint8Array): void {
    this.#write(bytes);
    this.position += bytes.length;
  }
}

/** What a chunk is made of. */
export interface ChunkRequest {
  readonly column: NewColumn;
  readonly values: ColumnValues;
  readonly rowCount: number;
}

/** A chunk on its way into a file; plain data. */
export interface EncodedChunk {
  readonly bytes: Uint8Array;
  /** Offsets count from the chunk's first byte. */
  readonly chunk: NewChunk;
}

/** Writes a chunk where the sink is. */
export function placeChunk(sink: ByteSink, { bytes, chunk }: EncodedChunk): NewChunk {
  const start = sink.position;
  sink.write(bytes);
  const { dataOffset, dictionaryOffset } = chunk;
  return {
    ...chunk,
    dataOffset: start + dataOffset,
    dictionaryOffset: dictionaryOffset === null ? null : start + dictionaryOffset,
  };
}

/** Encodes a column chunk of `rowCount` rows. */
export function encodeChunk({ column, values, rowCount }: ChunkRequest, codec: WriteCodec): EncodedChunk {
  const pieces: Uint8Array[] = [];
  const sink = new ByteSink((bytes) => pieces.push(bytes));
  const presence = column.nullable ? presenceOf(values) : null;
  const encoded = encodeValues(values, presence, rowCount);
  let plainLength = 0;
  const writePage = (body: Uint8Array, header: (writer: ThriftWriter) => void, kind: number) => {
    const stored = codec === 'none' ? body : compressBlock(codec, body);
    const writer = new ThriftWriter();
    writer.struct(() => {
      writer.int32(1, kind);
      writer.int32(2, body.length);
      writer.int32(3, stored.length);
      header(writer);
    });
    plainLength += writer.bytes.length + body.length;
    sink.write(writer.bytes);
    sink.write(stored);
  };
  const { dictionary, encoding } = encoded;
  if (dictionary !== null) {
    writePage(dictionary.bytes, (writer) => writeDictionaryHeader(writer, dictionary.entryCount), 2);
  }
  const dataOffset = sink.position;
  let row = 0;
  for (const page of encoded.pages) {
    const end = endOfPage(presence, row, page.valueCount, rowCount);
    const levels = column.nullable ? encodeLevels(presence, row, end) : EMPTY;
    const entryCount = end - row;
    writePage(joined(levels, page.bytes), (writer) => writeDataHeader(writer, entryCount, encoding), 0);
    row = end;
  }
  const chunk = {
    column,
    encodings: [...new Set([Encoding.runLength, encoding, ...(dictionary === null ? [] : [Encoding.plain])])],
    codec: CODECS.indexOf(codec),
    valueCount: rowCount,
    plainLength,
    storedLength: sink.position,
    dataOffset,
    dictionaryOffset: dictionary === null ? null : 0,
  };
  return { bytes: joined(...pieces), chunk };
}

const EMPTY = new Uint8Array(0);

function writeDictionaryHeader(writer: ThriftWriter, entryCount: number): void {
  writer.structField(7, () => {
    writer.int32(1, entryCount);
    writer.int32(2, Encoding.plain);
  });
}

function writeDataHeader(writer: ThriftWriter, entryCount: number, encoding: number): void {
  writer.structField(5, () => {
    writer.int32(1, entryCount);
    writer.int32(2, encoding);
    writer.int32(3, Encoding.runLength);
    writer.int32(4, Encoding.runLength);
  });
}

/** 1 where a row has a value; null where every row has one. */
function presenceOf(values: ColumnValues): Uint8Array | null {
  if (values.kind === 'constant text' || values.kind === 'sequence') return null;
  if (values.kind === 'float' || values.kind === 'double') {
    if (values.present === 'not NaN') return presenceOfNumbers(values.values);
  }
  const { present } = values;
  return present !== null && present !== 'not NaN' && present.includes(0) ? present : null;
}

function presenceOfNumbers(numbers: Float32Array | Float64Array): Uint8Array | null {
  let presence: Uint8Array | null = null;
  for (let i = 0; i < numbers.length; i++) {
    if (!Number.isNaN(numbers[i])) continue;
    presence ??= new Uint8Array(numbers.length).fill(1);
    presence[i] = 0;
  }
  return presence;
}

/** The row after the last of a page that starts at `row` and holds `valueCount` values; the absent rows after them too. */
function endOfPage(presence: Uint8Array | null, row: number, valueCount: number, rowCount: number): number {
  if (presence === null) return row + valueCount;
  let left = valueCount;
  let end = row;
  while (end < rowCount && (left > 0 || presence[end] === 0)) left -= presence[end++];
  return end;
}

/** Definition levels with their length in front. */
function encodeLevels(presence: Uint8Array | null, from: number, to: number): Uint8Array {
  const levels = presence === null ? encodeRun(1, to - from, 1) : encodeHybrid(presence, from, to, 1);
  const framed = new Uint8Array(4 + levels.length);
  new DataView(framed.buffer).setUint32(0, levels.length, true);
  framed.set(levels, 4);
  return framed;
}

function encodeValues(values: ColumnValues, presence: Uint8Array | null, rowCount: number): EncodedValues {
  switch (values.kind) {
    case 'sequence':
      return encodeSequence(values.first, rowCount);
    case 'constant text':
    case 'text':
      return encodeText(values, presence, rowCount);
    case 'whole':
      return encodeWords(presentOnly(widened(values.values), 2, presence), 2);
    case 'bool':
      return encodeBooleans(presentOnly(values.values, 1, presence));
    default: {
      const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT } = values.values;
      const words = new Int32Array(buffer, byteOffset, byteLength / 4);
      const wordsPerValue = BYTES_PER_ELEMENT === 8 ? 2 : 1;
      return encodeWords(presentOnly(words, wordsPerValue, presence), wordsPerValue);
    }
  }
}

/** The values of rows that have one, close together. */
function presentOnly<T extends Int32Array | Uint8Array>(values: T, perValue: 1 | 2, presence: Uint8Array | null): T {
  if (presence === null) return values;
  const kept = values.slice() as T;
  let to = 0;
  for (let i = 0; i < presence.length; i++) {
    if (presence[i] === 0) continue;
    for (let k = 0; k < perValue; k++) kept[to++] = values[i * perValue + k];
  }
  return kept.subarray(0, to) as T;
}

function encodeWords(words: Int32Array, wordsPerValue: 1 | 2): EncodedValues {
  const count = words.length / wordsPerValue;
  const found = findDictionary(words, wordsPerValue, count);
  if (found !== null) {
    const dictionary = { entryCount: found.entryCount, bytes: bytesOf(found.entries) };
    return { encoding: Encoding.dictionary, dictionary, pages: indexPages(found.indices, found.entryCount) };
  }
  const bytesPerPage = PAGE_VALUES * wordsPerValue * 4;
  const bytes = bytesOf(words);
  const pages = eachPage(count, (from, to, page) => {
    return { valueCount: to - from, bytes: bytes.subarray(page * bytesPerPage, (page + 1) * bytesPerPage) };
  });
  return { encoding: Encoding.plain, dictionary: null, pages };
}

function bytesOf(words: Int32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

function encodeBooleans(values: Uint8Array): EncodedValues {
  const pages = eachPage(values.length, (from, to) => {
    const bytes = new Uint8Array((to - from + 7) >>> 3);
    for (let i = from; i < to; i++) bytes[(i - from) >>> 3] |= values[i] << ((i - from) & 7);
    return { valueCount: to - from, bytes };
  });
  return { encoding: Encoding.plain, dictionary: null, pages };
}

const DELTA_BLOCK = 128;
const DELTA_MINIBLOCKS = 4;

/** DELTA_BINARY_PACKED of numbers that go up by one: blocks whose smallest difference is all that they have. */
function encodeSequence(first: number, rowCount: number): EncodedValues {
  const pages = eachPage(rowCount, (from, to) => {
    const count = to - from;
    const header = [
      ...varint(DELTA_BLOCK),
      ...varint(DELTA_MINIBLOCKS),
      ...varint(count),
      ...varint((first + from) * 2),
    ];
    const blocks = Math.ceil(Math.max(0, count - 1) / DELTA_BLOCK);
    const bytes = new Uint8Array(header.length + blocks * (1 + DELTA_MINIBLOCKS));
    bytes.set(header);
    // A difference of one, and four widths of zero.
    for (let at = header.length; at < bytes.length; at += 1 + DELTA_MINIBLOCKS) bytes[at] = 2;
    return { valueCount: count, bytes };
  });
  return { encoding: Encoding.deltaBinaryPacked, dictionary: null, pages };
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return bytes;
}
