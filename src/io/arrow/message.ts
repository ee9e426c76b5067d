/** Encapsulated messages: a prefix, a FlatBuffer that describes a body, and the body. */
import { InputError } from '../../errors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import { FlatBuffer, type FlatTable } from './flatbuffer-reader.ts';
import { CONTINUATION } from './schema-message.ts';
import { HeaderType, MessageSlot, NEWEST_METADATA, OLDEST_METADATA } from './slots.ts';

export interface Message {
  readonly flat: FlatBuffer;
  readonly root: FlatTable;
  readonly version: number;
  readonly headerType: number;
  readonly header: FlatTable;
  /** Where it begins, its body begins, and what follows it begins. */
  readonly start: number;
  readonly bodyStart: number;
  readonly end: number;
}

/** A description of a batch takes some bytes a column; past this, the length is no length. */
const LONGEST_METADATA = 1 << 28;

/**
 * The message at `start`, which lies before `limit`; null where the stream ends.
 * @param metadataLength bytes before the body, where an index gives them
 */
export function readMessage(
  file: RandomAccessFile,
  start: number,
  limit: number,
  what: string,
  metadataLength?: number,
): Message | null {
  const place = `${what} at byte ${start}`;
  if (start === limit) return null;
  const cutOff = (needed: number) =>
    new InputError(`${place} is cut off: expected ${needed} bytes or more, found ${limit - start}`);
  if (limit - start < 4) throw cutOff(4);
  const prefix = new DataView(new ArrayBuffer(8));
  file.readInto(new Uint8Array(prefix.buffer, 0, Math.min(8, limit - start)), start);
  // Before Arrow 0.15 there was no continuation marker, and the length came first.
  const prefixLength = prefix.getUint32(0, true) === CONTINUATION ? 8 : 4;
  if (limit - start < prefixLength) throw cutOff(prefixLength);
  const length = prefix.getInt32(prefixLength - 4, true);
  if (length === 0) return null;
  if (length < 8 || length > LONGEST_METADATA)
    throw new InputError(`${place} is malformed: its metadata has ${length} bytes, expected 8 to ${LONGEST_METADATA}`);
  if (length > limit - start - prefixLength) throw cutOff(prefixLength + length);
  const bytes = new Uint8Array(length);
  file.readInto(bytes, start + prefixLength);
  const flat = new FlatBuffer(bytes, place);
  const before = metadataLength ?? prefixLength + length;
  if (before < prefixLength + length)
    throw flat.malformed(`its metadata has ${prefixLength + length} bytes, but ${before} in the footer`);
  return parseMessage(flat, start, start + before, limit);
}

/** Where a message ends that says "no more", or `start` where the bytes simply end. */
export function endOfStream(file: RandomAccessFile, start: number, limit: number): number {
  if (start === limit) return start;
  const marker = new DataView(new ArrayBuffer(4));
  file.readInto(new Uint8Array(marker.buffer), start);
  return start + (marker.getUint32(0, true) === CONTINUATION ? 8 : 4);
}

export function checkVersion(version: number, place: string): void {
  if (version < OLDEST_METADATA || version > NEWEST_METADATA)
    throw new InputError(`${place} has Arrow metadata version V${version + 1}, expected V4 or V5`);
}

function parseMessage(flat: FlatBuffer, start: number, bodyStart: number, limit: number): Message {
  const root = flat.root();
  const version = root.int16(MessageSlot.version);
  const headerType = root.uint8(MessageSlot.headerType);
  checkVersion(version, `the message at byte ${start}`);
  const known = Object.values(HeaderType) as number[];
  if (!known.includes(headerType))
    throw new InputError(
      `the message at byte ${start} is ${HEADER_NAMES[headerType] ?? `of type ${headerType}`}, expected a schema, a dictionary or a record batch`,
    );
  const header = root.table(MessageSlot.header);
  if (header === null) throw flat.malformed('it has no header');
  const bodyLength = root.safeInteger(MessageSlot.bodyLength, 'its body length');
  const end = bodyStart + bodyLength;
  if (end > limit)
    throw new InputError(
      `the message at byte ${start} is cut off: its body of ${bodyLength} bytes from byte ${bodyStart} on ends past byte ${limit}`,
    );
  return { flat, root, version, headerType, header, start, bodyStart, end };
}

const HEADER_NAMES: Readonly<Record<number, string>> = { 0: 'empty', 4: 'a tensor', 5: 'a sparse tensor' };
