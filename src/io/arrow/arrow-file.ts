/** Opens Arrow IPC data: a file by the index at its end, a stream by walking its messages. */
import { InputError } from '../../errors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import type { ColumnInfo } from '../vectors.ts';
import { columnsOf } from './columns.ts';
import type { Dictionary } from './dictionaries.ts';
import { FlatBuffer, type FlatTable } from './flatbuffer-reader.ts';
import { checkVersion, endOfStream, type Message, readMessage } from './message.ts';
import { type ArrowCodec, batchCodec, HIGHEST_RATIO } from './record-batch.ts';
import { type ArrowLayout, dictionariesOf, type FieldDictionary, parseSchema } from './schema.ts';
import { DictionaryBatchSlot, FooterSlot, HeaderType, RecordBatchSlot } from './slots.ts';

/** Where a message is. */
export interface MessagePlace {
  readonly start: number;
  readonly bodyStart: number;
  readonly end: number;
}

export interface ArrowBatch extends MessagePlace {
  readonly rowCount: number;
  /** Rows of the batches before it. */
  readonly firstRow: number;
}

export interface DictionaryMessage extends MessagePlace {
  readonly id: string;
  /** Whether it adds to what went before; otherwise it replaces that. */
  readonly isDelta: boolean;
  /** The first record batch that it holds for. */
  readonly firstBatch: number;
  /** The message of the same id that began what this one adds to: itself, if it is no delta. */
  readonly base: number;
}

export interface ArrowFile {
  readonly format: 'file' | 'stream';
  readonly rowCount: number;
  readonly batches: readonly ArrowBatch[];
  readonly columns: readonly ColumnInfo[];
  /** To be given to prepareBlockCodecs before anything is read. */
  readonly codecs: readonly ArrowCodec[];
  readonly layout: ArrowLayout;
  readonly metadataVersion: number;
  /**
   * In a file's footer, or a stream's first message. What lies before a file's first batch is not relied on: Polars writes
   * no message there.
   */
  readonly schema: { readonly footer: FlatTable } | { readonly message: MessagePlace };
  readonly dictionaries: readonly DictionaryMessage[];
  /** Indexes into those, by id, in order. */
  readonly dictionariesById: ReadonlyMap<string, readonly number[]>;
  readonly fieldDictionaries: ReadonlyMap<string, FieldDictionary>;
  /** The dictionaries that were read last, by id. */
  readonly dictionaryCache: Map<string, Dictionary>;
}

const FILE_MAGIC = 'ARROW1';
const FEATHER_V1_MAGIC = 'FEA1';
/** The magic, padded to 8 bytes. */
const FILE_HEAD_BYTES = 8;
/** The footer's length and the magic. */
const FILE_TAIL_BYTES = 10;
const BLOCK_BYTES = 24;
const LARGEST_FOOTER = 2 ** 30;

/** @throws InputError where it is no Arrow data, or is malformed */
export function openArrow(file: RandomAccessFile): ArrowFile {
  const head = new Uint8Array(Math.min(FILE_MAGIC.length, file.byteLength));
  file.readInto(head, 0);
  const magic = latin1(head);
  if (magic.startsWith(FEATHER_V1_MAGIC))
    throw new InputError('is Feather version 1, expected an Arrow IPC file or stream (Feather version 2)');
  return magic === FILE_MAGIC ? openFile(file) : openStream(file);
}

function openFile(file: RandomAccessFile): ArrowFile {
  const { footer, start } = readFooter(file);
  const version = footer.int16(FooterSlot.version);
  checkVersion(version, 'the Arrow footer');
  const schema = footer.table(FooterSlot.schema);
  if (schema === null) throw footer.buffer.malformed('it has no schema');
  const collector = new Collector(parseSchema(schema, version), version);
  const dictionaryBlocks = readBlocks(footer, FooterSlot.dictionaries);
  const batchBlocks = readBlocks(footer, FooterSlot.batches);
  checkBlocks([...dictionaryBlocks, ...batchBlocks], start);
  for (const [i, block] of dictionaryBlocks.entries()) {
    collector.addDictionary(readBlock(file, block, start, `dictionary ${i + 1}`, HeaderType.dictionaryBatch));
  }
  collector.refuseReplacements();
  for (const [i, block] of batchBlocks.entries()) {
    collector.addBatch(readBlock(file, block, start, `record batch ${i + 1}`, HeaderType.recordBatch));
  }
  return collector.finish('file', { footer });
}

function openStream(file: RandomAccessFile): ArrowFile {
  const limit = file.byteLength;
  const message = readMessage(file, 0, limit, 'the first message');
  if (message === null || message.headerType !== HeaderType.schema)
    throw new InputError('expected an Arrow stream that begins with a schema message');
  const collector = new Collector(parseSchema(message.header, message.version), message.version);
  let position = message.end;
  for (;;) {
    const next = readMessage(file, position, limit, `the message after record batch ${collector.batchCount}`);
    if (next === null) break;
    if (next.headerType === HeaderType.recordBatch) collector.addBatch(next);
    else if (next.headerType === HeaderType.dictionaryBatch) collector.addDictionary(next);
    else throw new InputError(`the Arrow stream has a second schema message at byte ${position}`);
    position = next.end;
  }
  const end = endOfStream(file, position, limit);
  if (end < limit)
    throw new InputError(`the Arrow stream ends at byte ${end}, but ${limit - end} bytes follow: expected one stream`);
  const { start, bodyStart } = message;
  return collector.finish('stream', { message: { start, bodyStart, end: message.end } });
}

interface Block {
  readonly start: number;
  readonly metadataLength: number;
}

function readFooter(file: RandomAccessFile): { footer: FlatTable; start: number } {
  const { byteLength } = file;
  const cutOff = () => new InputError(`the Arrow file is cut off: expected it to end in ${FILE_MAGIC}`);
  if (byteLength < FILE_HEAD_BYTES + FILE_TAIL_BYTES) throw cutOff();
  const tail = new Uint8Array(FILE_TAIL_BYTES);
  file.readInto(tail, byteLength - FILE_TAIL_BYTES);
  if (latin1(tail.subarray(4)) !== FILE_MAGIC) throw cutOff();
  const length = new DataView(tail.buffer).getInt32(0, true);
  const most = Math.min(byteLength - FILE_HEAD_BYTES - FILE_TAIL_BYTES, LARGEST_FOOTER);
  if (length < 8 || length > most)
    throw new InputError(`the Arrow footer is malformed: it has ${length} bytes, expected 8 to ${most}`);
  const start = byteLength - FILE_TAIL_BYTES - length;
  const bytes = new Uint8Array(length);
  file.readInto(bytes, start);
  return { footer: new FlatBuffer(bytes, `the Arrow footer at byte ${start}`).root(), start };
}

function readBlocks(footer: FlatTable, slot: number): Block[] {
  const { buffer } = footer;
  const vector = footer.vector(slot, BLOCK_BYTES);
  const blocks: Block[] = [];
  for (let i = 0; vector !== null && i < vector.length; i++) {
    const position = vector.start + BLOCK_BYTES * i;
    const start = buffer.safeInteger(position, `the start of block ${i}`);
    const metadataLength = buffer.view.getInt32(position + 8, true);
    if (metadataLength < 0) throw buffer.malformed(`block ${i} has ${metadataLength} bytes of metadata`);
    blocks.push({ start, metadataLength });
  }
  return blocks;
}

/** Blocks that lie on one another could make any number of rows of few bytes. */
function checkBlocks(blocks: readonly Block[], limit: number): void {
  const sorted = [...blocks].sort((a, b) => a.start - b.start);
  let end = FILE_HEAD_BYTES;
  for (const { start, metadataLength } of sorted) {
    if (start < end || start + metadataLength > limit)
      throw new InputError(
        `the Arrow footer is malformed: a block at byte ${start} begins before byte ${end} or ends past byte ${limit}`,
      );
    end = start + Math.max(metadataLength, 1);
  }
}

function readBlock(file: RandomAccessFile, block: Block, limit: number, what: string, type: number): Message {
  const message = readMessage(file, block.start, limit, what, block.metadataLength);
  if (message === null || message.headerType !== type)
    throw new InputError(`the Arrow footer is malformed: there is no ${what} at byte ${block.start}`);
  return message;
}

/** Rows that may go without a byte of their own: columns of nulls have none. */
const FREE_ROWS = 1 << 24;
const BITS_PER_BYTE = 8;
/** What the format asks of those who want to be read by everyone. */
const MOST_ROWS_OF_BATCH = 2 ** 31 - 1;

/** Takes the messages one by one. */
class Collector {
  readonly #layout: ArrowLayout;
  readonly #version: number;
  readonly #fieldDictionaries: ReadonlyMap<string, FieldDictionary>;
  readonly #batches: ArrowBatch[] = [];
  readonly #dictionaries: DictionaryMessage[] = [];
  readonly #dictionariesById = new Map<string, number[]>();
  readonly #codecs = new Set<ArrowCodec>();
  #rowCount = 0;
  #mostRows = FREE_ROWS;

  constructor(layout: ArrowLayout, version: number) {
    this.#layout = layout;
    this.#version = version;
    this.#fieldDictionaries = dictionariesOf(layout.fields);
  }

  get batchCount(): number {
    return this.#batches.length;
  }

  addBatch({ flat, header, start, bodyStart, end }: Message): void {
    const rowCount = header.safeInteger(RecordBatchSlot.length, 'its row count');
    if (rowCount > MOST_ROWS_OF_BATCH)
      throw flat.malformed(`it has ${rowCount} rows, expected ${MOST_ROWS_OF_BATCH} or fewer`);
    const ratio = this.#noteCodec(header);
    this.#batches.push({ rowCount, firstRow: this.#rowCount, start, bodyStart, end });
    this.#rowCount += rowCount;
    this.#mostRows += (end - bodyStart) * BITS_PER_BYTE * ratio;
    if (this.#rowCount > this.#mostRows)
      throw flat.malformed(`it has ${rowCount} rows, more than its body of ${end - bodyStart} bytes can hold`);
  }

  addDictionary({ flat, header, start, bodyStart, end }: Message): void {
    const data = header.table(DictionaryBatchSlot.data);
    if (data === null) throw flat.malformed('its dictionary has no data');
    this.#noteCodec(data);
    const id = `${header.bigInt64(DictionaryBatchSlot.id)}`;
    const isDelta = header.uint8(DictionaryBatchSlot.isDelta) !== 0;
    const index = this.#dictionaries.length;
    const earlier = this.#dictionariesById.get(id) ?? [];
    if (isDelta && earlier.length === 0) throw flat.malformed(`it adds to dictionary ${id}, which is not there`);
    const base = isDelta ? this.#dictionaries[earlier[earlier.length - 1]].base : index;
    this.#dictionariesById.set(id, earlier);
    earlier.push(index);
    this.#dictionaries.push({ id, isDelta, firstBatch: this.#batches.length, base, start, bodyStart, end });
  }

  /** In a file every batch sees every dictionary. */
  refuseReplacements(): void {
    const seen = new Set<string>();
    for (const { id, isDelta, start } of this.#dictionaries) {
      if (!isDelta && seen.has(id))
        throw new InputError(`dictionary ${id} at byte ${start} replaces another, which an Arrow file cannot do`);
      seen.add(id);
    }
  }

  finish(format: ArrowFile['format'], schema: ArrowFile['schema']): ArrowFile {
    return {
      format,
      rowCount: this.#rowCount,
      batches: this.#batches,
      columns: columnsOf(this.#layout.fields),
      codecs: [...this.#codecs],
      layout: this.#layout,
      metadataVersion: this.#version,
      schema,
      dictionaries: this.#dictionaries,
      dictionariesById: this.#dictionariesById,
      fieldDictionaries: this.#fieldDictionaries,
      dictionaryCache: new Map(),
    };
  }

  #noteCodec(batch: FlatTable): number {
    const codec = batchCodec(batch);
    if (codec === null) return 1;
    this.#codecs.add(codec);
    return HIGHEST_RATIO[codec];
  }
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
