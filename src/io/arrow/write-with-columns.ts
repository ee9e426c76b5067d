/** Writes an Arrow file or stream again with columns added: bodies byte for byte, their descriptions made anew. */
import { InputError } from '../../errors.ts';
import type { ColumnSource } from '../parquet/write-with-columns.ts';
import type { RandomAccessFile } from '../random-access.ts';
import type { ArrowFile, DictionaryMessage } from './arrow-file.ts';
import { BatchBody, compressionSlot } from './batch-body.ts';
import { encodeColumn } from './encode-column.ts';
import type { FlatTable } from './flatbuffer-reader.ts';
import { type FlatNode, int8, int16, int64, kept, offset, old, serialize, table } from './flatbuffer-writer.ts';
import { type Message, readMessage } from './message.ts';
import { blocksNode, MessageOutput, type Write, type WrittenBlock } from './message-output.ts';
import { openBatch } from './read-vectors.ts';
import type { RecordBatch } from './record-batch.ts';
import { type ArrowField, dictionariesOf, layoutOf } from './schema.ts';
import { extendedSchema, extendSchemaFlatBuffer, type NewField, refuseUnknownSlots } from './schema-message.ts';
import { FooterSlot, HeaderType, MessageSlot, RecordBatchSlot } from './slots.ts';
import { fieldOf } from './write-flat.ts';

const COPIED_AT_ONCE = 1 << 22;

/** Every input column, its type and all metadata stay; the new columns come last. The framing becomes that of Arrow 0.15. */
export function writeWithColumns(
  file: RandomAccessFile,
  arrow: ArrowFile,
  source: ColumnSource,
  { replace }: { readonly replace: boolean },
  write: Write,
): void {
  const names = source.columns.map(({ name }) => name);
  const removed = arrow.layout.fields.filter((field) => names.includes(field.name));
  if (removed.length > 0 && !replace) throw new InputError(`there is already a column ${removed[0].name}`);
  new Rewriter(file, arrow, source, removed, write).run();
}

class Rewriter {
  readonly #file: RandomAccessFile;
  readonly #arrow: ArrowFile;
  readonly #source: ColumnSource;
  readonly #removed: readonly ArrowField[];
  readonly #keptFields: readonly ArrowField[];
  readonly #output: MessageOutput;
  readonly #dictionaryBlocks: WrittenBlock[] = [];
  readonly #batchBlocks: WrittenBlock[] = [];

  constructor(
    file: RandomAccessFile,
    arrow: ArrowFile,
    source: ColumnSource,
    removed: readonly ArrowField[],
    write: Write,
  ) {
    this.#file = file;
    this.#arrow = arrow;
    this.#source = source;
    this.#removed = removed;
    this.#keptFields = arrow.layout.fields.filter((field) => !removed.includes(field));
    this.#output = new MessageOutput(arrow.format, write);
  }

  run(): void {
    const { batches, dictionaries } = this.#arrow;
    this.#output.message(this.#schemaMessage(), 0, () => {});
    // Readers refuse a dictionary that no field uses.
    const used = dictionariesOf(this.#keptFields);
    let next = 0;
    for (let batch = 0; batch <= batches.length; batch++) {
      for (; next < dictionaries.length && dictionaries[next].firstBatch <= batch; next++) {
        if (used.has(dictionaries[next].id)) this.#copyDictionary(dictionaries[next]);
      }
      if (batch < batches.length) this.#writeBatch(batch);
    }
    this.#output.end(() => this.#footer());
  }

  #schemaMessage(): Uint8Array {
    const { schema, metadataVersion } = this.#arrow;
    if ('message' in schema) {
      const { start, end } = schema.message;
      const { flat } = reread(this.#file, schema.message, end, `the schema message at byte ${start}`);
      return extendSchemaFlatBuffer(flat, this.#newFields(), this.#removedNames());
    }
    const message = table(
      int16(metadataVersion),
      int8(HeaderType.schema),
      offset(this.#footerSchema(schema.footer)),
      int64(0),
    );
    return serialize(message, schema.footer.buffer.bytes);
  }

  #footerSchema(footer: FlatTable): FlatNode {
    const schema = footer.table(FooterSlot.schema);
    if (schema === null) throw footer.buffer.malformed('it has no schema');
    return extendedSchema(schema, this.#newFields(), this.#removedNames());
  }

  #footer(): Uint8Array {
    const { schema } = this.#arrow;
    if (!('footer' in schema)) throw new Error('a stream has no footer');
    const { footer } = schema;
    refuseUnknownSlots(footer, FooterSlot);
    const extended = table(
      int16(this.#arrow.metadataVersion),
      offset(this.#footerSchema(footer)),
      offset(blocksNode(this.#dictionaryBlocks)),
      offset(blocksNode(this.#batchBlocks)),
      kept(footer.target(FooterSlot.customMetadata)),
    );
    return serialize(extended, footer.buffer.bytes);
  }

  #newFields(): NewField[] {
    return this.#source.columns.map(fieldOf);
  }

  #removedNames(): string[] {
    return this.#removed.map((field) => field.name);
  }

  #copyDictionary(dictionary: DictionaryMessage): void {
    const place = `dictionary ${dictionary.id} at byte ${dictionary.start}`;
    const message = reread(this.#file, dictionary, dictionary.end, place);
    const body = new BatchBody();
    this.#reserveCopy(body, message.bodyStart, message.end - message.bodyStart);
    this.#dictionaryBlocks.push(this.#writeMessage(message, old(message.header.position), body));
  }

  #writeBatch(index: number): void {
    const batch = openBatch(this.#file, this.#arrow, index);
    refuseUnknownSlots(batch.table, RecordBatchSlot);
    const values = this.#source.valuesOf(index);
    const { rowCount } = batch;
    for (const column of values) {
      if ('values' in column && column.values.length !== rowCount)
        throw new Error(`${batch.place} has ${rowCount} rows, but got ${column.values.length} values`);
    }
    const body = new BatchBody();
    const viewBufferCounts = this.#keepFields(batch, body);
    const isCompressed = batch.codec !== null;
    for (const column of values) body.addColumn(encodeColumn(column, 0, rowCount), rowCount, isCompressed);
    const compression = batch.codec === null ? null : compressionSlot(batch.codecNumber);
    const counts = viewBufferCounts.length > 0 ? viewBufferCounts : null;
    const block = this.#writeMessage(batch.message, body.recordBatch(rowCount, compression, counts), body);
    this.#batchBlocks.push(block);
  }

  /** Describes the fields that stay and copies their bytes; returns how many data buffers their views have. */
  #keepFields(batch: RecordBatch, body: BatchBody): number[] {
    const buffers: { offset: number; length: number }[] = [];
    const viewBufferCounts: number[] = [];
    for (const field of this.#keptFields) {
      const { nodeCount, viewCount } = layoutOf(field, this.#arrow.metadataVersion);
      for (let i = 0; i < nodeCount; i++) {
        const { length, nullCount } = batch.node(field.nodeIndex + i);
        body.addNode(length, nullCount);
      }
      const { from, to } = this.#bufferRange(batch, field);
      for (let i = from; i < to; i++) buffers.push(batch.buffer(i));
      for (let i = 0; i < viewCount; i++) viewBufferCounts.push(batch.viewBufferCount(field.viewIndex + i));
    }
    const { bodyStart, end } = batch.message;
    const bodyLength = end - bodyStart;
    const total = buffers.reduce((sum, { length }) => sum + length, 0);
    // Buffers that lie on one another would grow the output past the input if they were copied apart.
    if (this.#removed.length === 0 || total > bodyLength) {
      this.#reserveCopy(body, bodyStart, bodyLength);
      for (const buffer of buffers) body.addBuffer(buffer.offset, buffer.length);
    } else {
      for (const { offset: start, length } of buffers) {
        body.addBuffer(length === 0 ? 0 : this.#reserveCopy(body, bodyStart + start, length), length);
      }
    }
    return viewBufferCounts;
  }

  #bufferRange(batch: RecordBatch, field: ArrowField): { from: number; to: number } {
    const { bufferCount, viewCount } = layoutOf(field, this.#arrow.metadataVersion);
    const from = batch.bufferIndex(field, 0);
    let to = from + bufferCount;
    for (let i = 0; i < viewCount; i++) to += batch.viewBufferCount(field.viewIndex + i);
    return { from, to };
  }

  #reserveCopy(body: BatchBody, start: number, byteLength: number): number {
    return body.reserve(byteLength, (put) => {
      for (let done = 0; done < byteLength; ) {
        // A new buffer for each piece: the receiver may keep it until it is written.
        const piece = new Uint8Array(Math.min(COPIED_AT_ONCE, byteLength - done));
        this.#file.readInto(piece, start + done);
        put(piece);
        done += piece.length;
      }
    });
  }

  /** Writes a message like another one with another header and body. */
  #writeMessage({ root, flat, version, headerType }: Message, header: FlatNode, body: BatchBody): WrittenBlock {
    refuseUnknownSlots(root, MessageSlot);
    const customMetadata = kept(root.target(MessageSlot.customMetadata));
    const message = table(int16(version), int8(headerType), offset(header), int64(body.byteLength), customMetadata);
    const needsOld = customMetadata !== null || header.kind === 'old';
    const flatBytes = serialize(message, needsOld ? flat.bytes : undefined);
    return this.#output.message(flatBytes, body.byteLength, (put) => body.write(put));
  }
}

function reread(
  file: RandomAccessFile,
  { start, bodyStart }: { readonly start: number; readonly bodyStart: number },
  end: number,
  place: string,
): Message {
  const message = readMessage(file, start, end, place, bodyStart - start);
  if (message === null) throw new InputError(`${place} is not there any more`);
  return message;
}
