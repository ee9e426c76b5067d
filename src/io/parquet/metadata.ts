/** The footer of a Parquet file: what it says about schema, row groups and column chunks, checked against itself. */
import { InputError } from '../../errors.ts';
import type { BlockCodec } from '../codecs/block.ts';
import type { RandomAccessFile } from '../random-access.ts';
import type { ColumnInfo } from '../vectors.ts';
import { PHYSICAL_TYPES, readSchemaElement, type SchemaElement, type SchemaLeaf, schemaLeaves } from './schema.ts';
import { checkType, ThriftReader, ThriftType } from './thrift.ts';

/** By the number that the format gives them; `none` needs no codec and `lzo` has none here. */
export const CODECS = ['none', 'snappy', 'gzip', 'lzo', 'brotli', 'lz4', 'zstd', 'lz4_raw'] as const;
export type ParquetCodec = (typeof CODECS)[number];

/** The bytes of one column in one row group. */
export interface ColumnChunk {
  readonly codec: ParquetCodec;
  readonly valueCount: number;
  /** Where the first page starts, a dictionary included. */
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly uncompressedByteLength: number;
}

export interface RowGroup {
  readonly rowCount: number;
  /** Rows of the file before it. */
  readonly firstRow: number;
  /** One for each leaf of the schema. */
  readonly chunks: readonly ColumnChunk[];
}

export interface ParquetFile {
  readonly rowCount: number;
  readonly rowGroups: readonly RowGroup[];
  readonly columns: readonly ColumnInfo[];
  readonly leaves: readonly SchemaLeaf[];
  readonly schema: readonly SchemaElement[];
  readonly keyValueMetadata: ReadonlyMap<string, string>;
  readonly createdBy: string;
  /** What must be given to prepareBlockCodecs before vectors are read. */
  readonly codecs: readonly BlockCodec[];
  /** The FileMetaData struct as it stands in the file, and where that is. */
  readonly footer: Uint8Array;
  readonly footerOffset: number;
}

const MAGIC_LENGTH = 4;
/** The footer's length and the magic after it. */
const TAIL_LENGTH = 8;
/** Footers are kept in memory; 256 MiB describe some million column chunks. */
const LONGEST_FOOTER = 2 ** 28;

/** Reads and checks the footer. */
export function openParquet(file: RandomAccessFile): ParquetFile {
  const { footer, footerOffset } = readFooter(file);
  const raw = readFileMetadata(footer, footerOffset);
  const leaves = schemaLeaves(raw.schema);
  const rowGroups = placeRowGroups(raw.rowGroups, leaves.length, raw.rowCount);
  const codecs = new Set<BlockCodec>();
  for (const group of rowGroups) {
    for (const { codec } of group.chunks) if (codec !== 'none' && codec !== 'lzo') codecs.add(codec);
  }
  return {
    rowCount: raw.rowCount,
    rowGroups,
    columns: leaves.map((leaf) => ({ path: leaf.path, type: leaf.type, isList: leaf.maxRepetition > 0 })),
    leaves,
    schema: raw.schema,
    keyValueMetadata: raw.keyValueMetadata,
    createdBy: raw.createdBy,
    codecs: [...codecs],
    footer,
    footerOffset,
  };
}

function readFooter(file: RandomAccessFile): { footer: Uint8Array; footerOffset: number } {
  if (file.byteLength < MAGIC_LENGTH + TAIL_LENGTH) {
    throw new InputError(`is no Parquet file: it has ${file.byteLength} bytes`);
  }
  const head = new Uint8Array(MAGIC_LENGTH);
  const tail = new Uint8Array(TAIL_LENGTH);
  file.readInto(head, 0);
  file.readInto(tail, file.byteLength - TAIL_LENGTH);
  const magics = [magicOf(head), magicOf(tail.subarray(4))];
  if (magics.includes('PARE')) throw new InputError('is an encrypted Parquet file, which cannot be read');
  if (magics[0] !== 'PAR1') throw new InputError('is no Parquet file: it does not begin with PAR1');
  if (magics[1] !== 'PAR1') throw new InputError('is no whole Parquet file: it does not end with PAR1');
  const byteLength = new DataView(tail.buffer).getUint32(0, true);
  const footerOffset = file.byteLength - TAIL_LENGTH - byteLength;
  if (footerOffset < MAGIC_LENGTH) {
    throw new InputError(`the footer is said to have ${byteLength} bytes, but the file has ${file.byteLength}`);
  }
  if (byteLength > LONGEST_FOOTER) {
    throw new InputError(`the footer has ${byteLength} bytes; at most ${LONGEST_FOOTER} can be read`);
  }
  const footer = new Uint8Array(byteLength);
  file.readInto(footer, footerOffset);
  return { footer, footerOffset };
}

function magicOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

interface RawRowGroup {
  readonly rowCount: number;
  readonly chunks: readonly ColumnChunk[];
}

interface RawMetadata {
  readonly schema: SchemaElement[];
  readonly rowCount: number;
  readonly rowGroups: RawRowGroup[];
  readonly keyValueMetadata: Map<string, string>;
  readonly createdBy: string;
}

const PLACE = 'the footer';

function readFileMetadata(footer: Uint8Array, footerOffset: number): RawMetadata {
  const reader = new ThriftReader(footer, 0, footer.length, PLACE);
  const schema: SchemaElement[] = [];
  const rowGroups: RawRowGroup[] = [];
  const keyValueMetadata = new Map<string, string>();
  let rowCount = -1;
  let createdBy = '';
  reader.struct((id, type) => {
    if (id === 2 && checkType(type, ThriftType.list, PLACE)) {
      readStructs(reader, () => schema.push(readSchemaElement(reader)));
    } else if (id === 3 && checkType(type, ThriftType.i64, PLACE)) {
      rowCount = reader.integer();
    } else if (id === 4 && checkType(type, ThriftType.list, PLACE)) {
      // The schema comes first in every file; its leaves tell the paths that chunks must have.
      const leaves = leafNames(schema);
      readStructs(reader, () => rowGroups.push(readRowGroup(reader, leaves, rowGroups.length + 1, footerOffset)));
    } else if (id === 5 && checkType(type, ThriftType.list, PLACE)) {
      readStructs(reader, () => readKeyValue(reader, keyValueMetadata));
    } else if (id === 6 && checkType(type, ThriftType.binary, PLACE)) {
      createdBy = reader.text();
    } else if (id === 8) {
      throw new InputError('is an encrypted Parquet file (its footer names an encryption), which cannot be read');
    } else return false;
    return true;
  });
  return { schema, rowCount, rowGroups, keyValueMetadata, createdBy };
}

/** Reads a list of structs. */
export function readStructs(reader: ThriftReader, readOne: () => void): void {
  reader.list((_, type) => {
    checkType(type, ThriftType.struct, PLACE);
    readOne();
  });
}

/** The stored paths of the leaves in the bytes that chunks repeat them in. */
function leafNames(schema: readonly SchemaElement[]): LeafName[] {
  const encoder = new TextEncoder();
  return schemaLeaves(schema).map((leaf) => ({
    parts: leaf.storedPath.map((part) => encoder.encode(part)),
    physicalType: leaf.element.physicalType,
    text: leaf.path.join('.'),
  }));
}

interface LeafName {
  readonly parts: readonly Uint8Array[];
  readonly physicalType: string | null;
  readonly text: string;
}

function readKeyValue(reader: ThriftReader, target: Map<string, string>): void {
  let key = '';
  let value = '';
  reader.struct((id, type) => {
    if (id > 2 || type !== ThriftType.binary) return false;
    if (id === 1) key = reader.text();
    else value = reader.text();
    return true;
  });
  target.set(key, value);
}

function readRowGroup(reader: ThriftReader, leaves: LeafName[], ordinal: number, footerOffset: number): RawRowGroup {
  const chunks: ColumnChunk[] = [];
  let rowCount = -1;
  reader.struct((id, type) => {
    if (id === 1 && checkType(type, ThriftType.list, PLACE)) {
      readStructs(reader, () => {
        if (chunks.length === leaves.length) {
          throw new InputError(`row group ${ordinal} has more than ${leaves.length} columns, the count of the schema`);
        }
        const leaf = leaves[chunks.length];
        chunks.push(readChunk(reader, leaf, `row group ${ordinal}, column ${leaf.text}`, footerOffset));
      });
    } else if (id === 3 && checkType(type, ThriftType.i64, PLACE)) {
      rowCount = reader.integer();
    } else return false;
    return true;
  });
  return { rowCount, chunks };
}

function readChunk(reader: ThriftReader, leaf: LeafName, place: string, footerOffset: number): ColumnChunk {
  let chunk: ColumnChunk | null = null;
  reader.struct((id, type) => {
    if (id === 1) throw new InputError(`${place}: lies in another file, which cannot be read`);
    if (id === 8 || id === 9) throw new InputError(`${place}: is encrypted and cannot be read`);
    if (id !== 3) return false;
    checkType(type, ThriftType.struct, place);
    chunk = readChunkMetadata(reader, leaf, place, footerOffset);
    return true;
  });
  if (chunk === null) throw new InputError(`${place}: has no metadata`);
  return chunk;
}

function readChunkMetadata(reader: ThriftReader, leaf: LeafName, place: string, footerOffset: number): ColumnChunk {
  const numbers = new Float64Array(12).fill(-1);
  reader.struct((id, type) => {
    if (id === 3 && checkType(type, ThriftType.list, place)) {
      checkPath(reader, leaf, place);
      return true;
    }
    if (id > 11 || (type !== ThriftType.i32 && type !== ThriftType.i64)) return false;
    numbers[id] = reader.integer();
    return true;
  });
  const [, type, , , codec, valueCount, uncompressedByteLength, byteLength, , dataOffset, , dictionaryOffset] = numbers;
  if (PHYSICAL_TYPES[type] !== leaf.physicalType) {
    throw new InputError(
      `${place}: has physical type ${PHYSICAL_TYPES[type] ?? type}, the schema ${leaf.physicalType}`,
    );
  }
  if (!(codec in CODECS)) throw new InputError(`${place}: has unknown codec ${codec}`);
  const hasDictionary = dictionaryOffset >= MAGIC_LENGTH && dictionaryOffset < dataOffset;
  const byteOffset = hasDictionary ? dictionaryOffset : dataOffset;
  if (valueCount < 0) throw new InputError(`${place}: is said to have ${valueCount} values`);
  // A chunk of no values has no pages, and some writers give it no place.
  if (valueCount === 0) {
    return { codec: CODECS[codec], valueCount, byteOffset: MAGIC_LENGTH, byteLength: 0, uncompressedByteLength: 0 };
  }
  if (byteOffset < MAGIC_LENGTH || byteLength < 0 || byteOffset + byteLength > footerOffset) {
    throw new InputError(`${place}: is said to be ${byteLength} bytes at ${byteOffset}, outside the file's data`);
  }
  return { codec: CODECS[codec], valueCount, byteOffset, byteLength, uncompressedByteLength };
}

function checkPath(reader: ThriftReader, leaf: LeafName, place: string): void {
  let matches = 0;
  let count = 0;
  reader.list((index, type) => {
    checkType(type, ThriftType.binary, place);
    count++;
    const part = reader.binary();
    if (index < leaf.parts.length && Buffer.compare(part, leaf.parts[index]) === 0) matches++;
  });
  if (matches !== leaf.parts.length || count !== matches) {
    throw new InputError(`${place}: the row group has another column in its place`);
  }
}

function placeRowGroups(raw: readonly RawRowGroup[], leafCount: number, rowCount: number): RowGroup[] {
  let firstRow = 0;
  const placed = raw.map((group, index) => {
    const place = `row group ${index + 1}`;
    if (group.rowCount < 0) throw new InputError(`${place} is said to have ${group.rowCount} rows`);
    if (group.chunks.length !== leafCount) {
      throw new InputError(`${place} has ${group.chunks.length} columns, but the schema has ${leafCount}`);
    }
    const rowGroup = { ...group, firstRow };
    firstRow += group.rowCount;
    return rowGroup;
  });
  if (firstRow !== rowCount) {
    throw new InputError(`the footer counts ${rowCount} rows, but its row groups have ${firstRow}`);
  }
  return placed;
}
