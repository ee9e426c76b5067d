/** Lists the entries of a ZIP file and finds their stored bytes; 64-bit sizes, no compression, no encryption. */
import { InputError } from '../../errors.ts';
import type { RandomAccessFile } from '../random-access.ts';
import { ByteWindow } from './byte-window.ts';

export interface ZipEntry {
  readonly name: string;
  readonly method: number;
  readonly flags: number;
  readonly storedLength: number;
  readonly byteLength: number;
  /** Position of its own header. */
  readonly headerStart: number;
}

export interface ZipDirectory {
  readonly start: number;
  readonly byteLength: number;
  readonly entryCount: number;
}

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_HEADER = 0x06054b50;
const END64_HEADER = 0x06064b50;
const END64_LOCATOR = 0x07064b50;
const LOCAL_HEADER_SIZE = 30;
const CENTRAL_HEADER_SIZE = 46;
const END_SIZE = 22;
const END64_SIZE = 56;
const LOCATOR_SIZE = 20;
const LONGEST_COMMENT = 0xffff;
const SIZES64 = 0x0001;
const UNKNOWN16 = 0xffff;
const UNKNOWN32 = 0xffffffff;
const ENCRYPTED = 0x41;
/** Sizes follow the data and are zero in front of it. */
const SIZES_FOLLOW = 0x08;
const METHODS: Readonly<Record<number, string>> = { 8: 'deflate', 9: 'deflate64', 12: 'bzip2', 14: 'lzma', 93: 'zstd' };

/** @throws InputError where the file is no ZIP file */
export function findDirectory(file: RandomAccessFile): ZipDirectory {
  const tailLength = Math.min(file.byteLength, END_SIZE + LONGEST_COMMENT);
  const tail = readAt(file, file.byteLength - tailLength, tailLength);
  for (let at = tailLength - END_SIZE; at >= 0; at--) {
    if (tail.getUint32(at, true) !== END_HEADER || at + END_SIZE + tail.getUint16(at + 20, true) !== tailLength)
      continue;
    return readEnd(file, tail, at, file.byteLength - tailLength + at);
  }
  throw new InputError('expected the directory of a ZIP file at its end, found none: the file may be cut off');
}

/** @param end position of the end record, which lies in `tail` at `at` */
function readEnd(file: RandomAccessFile, tail: DataView, at: number, end: number): ZipDirectory {
  const parts = [4, 6].map((offset) => tail.getUint16(at + offset, true));
  let entryCount = tail.getUint16(at + 10, true);
  let byteLength = tail.getUint32(at + 12, true);
  let start = tail.getUint32(at + 16, true);
  let directoryLimit = end;
  if (entryCount === UNKNOWN16 || byteLength === UNKNOWN32 || start === UNKNOWN32) {
    const record = findEnd64(file, end);
    if (record) {
      entryCount = uint64(record.view, 32);
      byteLength = uint64(record.view, 40);
      start = uint64(record.view, 48);
      directoryLimit = record.position;
    }
  }
  if (parts.some((part) => part !== 0 && part !== UNKNOWN16))
    throw new InputError('is one of several parts of a ZIP file');
  if (start + byteLength > directoryLimit || entryCount * CENTRAL_HEADER_SIZE > byteLength) {
    const what = `ZIP directory of ${entryCount} entries and ${byteLength} bytes at byte ${start}`;
    throw new InputError(`${what} does not fit in front of its end at byte ${directoryLimit}`);
  }
  return { start, byteLength, entryCount };
}

function findEnd64(file: RandomAccessFile, end: number): { view: DataView; position: number } | null {
  if (end < LOCATOR_SIZE + END64_SIZE) return null;
  const locator = readAt(file, end - LOCATOR_SIZE, LOCATOR_SIZE);
  if (locator.getUint32(0, true) !== END64_LOCATOR) return null;
  const position = uint64(locator, 8);
  if (position + END64_SIZE > end - LOCATOR_SIZE)
    throw new InputError(`ZIP64 end record should lie at byte ${position}, behind its own locator`);
  const view = readAt(file, position, END64_SIZE);
  if (view.getUint32(0, true) !== END64_HEADER) throw new InputError(`byte ${position}: expected a ZIP64 end record`);
  return { view, position };
}

/** Entries in the order of the directory. */
export function* readEntries(file: RandomAccessFile, directory: ZipDirectory): Generator<ZipEntry, void, undefined> {
  const window = new ByteWindow(file, directory.start, directory.byteLength, 'the ZIP directory');
  for (let i = 0; i < directory.entryCount; i++) {
    window.require(CENTRAL_HEADER_SIZE);
    const { view, cursor } = window;
    if (view.getUint32(cursor, true) !== CENTRAL_HEADER) throw window.error(`expected ZIP entry ${i + 1}`);
    const nameLength = view.getUint16(cursor + 28, true);
    const extraLength = view.getUint16(cursor + 30, true);
    const length = CENTRAL_HEADER_SIZE + nameLength + extraLength + view.getUint16(cursor + 32, true);
    window.require(length);
    yield readEntry(window, nameLength, extraLength);
    window.cursor += length;
  }
}

function readEntry(window: ByteWindow, nameLength: number, extraLength: number): ZipEntry {
  const { view, cursor } = window;
  const nameStart = cursor + CENTRAL_HEADER_SIZE;
  const name = Buffer.from(window.bytes.subarray(nameStart, nameStart + nameLength)).toString();
  const sizes = [24, 20, 42].map((offset) => view.getUint32(cursor + offset, true));
  const extra = window.bytes.subarray(nameStart + nameLength, nameStart + nameLength + extraLength);
  widenSizes(sizes, extra, name);
  const [byteLength, storedLength, headerStart] = sizes;
  const [flags, method] = [8, 10].map((offset) => view.getUint16(cursor + offset, true));
  return { name, method, flags, storedLength, byteLength, headerStart };
}

/** Replaces those of the sizes that did not fit into 32 bits by their 64-bit values, which follow in that order. */
function widenSizes(sizes: number[], extra: Uint8Array, name: string): void {
  if (!sizes.includes(UNKNOWN32)) return;
  const view = new DataView(extra.buffer, extra.byteOffset, extra.byteLength);
  for (let at = 0; at + 4 <= view.byteLength; at += 4 + view.getUint16(at + 2, true)) {
    if (view.getUint16(at, true) !== SIZES64) continue;
    const end = Math.min(view.byteLength, at + 4 + view.getUint16(at + 2, true));
    let field = at + 4;
    for (let i = 0; i < sizes.length; i++) {
      if (sizes[i] !== UNKNOWN32) continue;
      if (field + 8 > end) break;
      sizes[i] = uint64(view, field);
      field += 8;
    }
    return;
  }
  throw new InputError(`ZIP entry ${JSON.stringify(name)} needs 64-bit sizes, but has none`);
}

/** Where the bytes of an entry begin. @throws InputError where they are not stored as they are, or not where they should be */
export function locateEntry(file: RandomAccessFile, directory: ZipDirectory, entry: ZipEntry): number {
  const { name, method, flags, storedLength, byteLength, headerStart } = entry;
  const label = `ZIP entry ${JSON.stringify(name)}`;
  if (flags & ENCRYPTED) throw new InputError(`${label} is encrypted`);
  if (method !== 0) {
    const known = METHODS[method] ?? `method ${method}`;
    throw new InputError(`${label} is compressed (${known}); torch stores entries as they are`);
  }
  if (storedLength !== byteLength)
    throw new InputError(`${label} has two sizes: ${storedLength} and ${byteLength} bytes`);
  if (headerStart + LOCAL_HEADER_SIZE + byteLength > directory.start)
    throw new InputError(
      `${label} of ${byteLength} bytes at byte ${headerStart} does not fit in front of the directory`,
    );
  const header = readAt(file, headerStart, LOCAL_HEADER_SIZE);
  if (header.getUint32(0, true) !== LOCAL_HEADER)
    throw new InputError(`byte ${headerStart}: expected the header of ${label}`);
  const nameLength = header.getUint16(26, true);
  const start = headerStart + LOCAL_HEADER_SIZE + nameLength + header.getUint16(28, true);
  if (start + byteLength > directory.start)
    throw new InputError(`${label} of ${byteLength} bytes at byte ${start} does not fit in front of the directory`);
  requireSameHeader(file, entry, header, label);
  return start;
}

function requireSameHeader(file: RandomAccessFile, entry: ZipEntry, header: DataView, label: string): void {
  const nameBytes = readAt(file, entry.headerStart + LOCAL_HEADER_SIZE, header.getUint16(26, true));
  const name = Buffer.from(nameBytes.buffer).toString();
  if (name !== entry.name) throw new InputError(`${label} is called ${JSON.stringify(name)} in its own header`);
  const flags = header.getUint16(6, true);
  if (flags & ENCRYPTED || header.getUint16(8, true) !== 0)
    throw new InputError(`${label} is compressed or encrypted by its own header`);
  for (const offset of [18, 22]) {
    const size = header.getUint32(offset, true);
    if (size === entry.byteLength || size === UNKNOWN32 || (size === 0 && flags & SIZES_FOLLOW)) continue;
    throw new InputError(`${label} has ${size} bytes by its own header, ${entry.byteLength} by the directory`);
  }
}

function readAt(file: RandomAccessFile, position: number, count: number): DataView {
  const bytes = new Uint8Array(count);
  file.readInto(bytes, position);
  return new DataView(bytes.buffer);
}

function uint64(view: DataView, offset: number): number {
  return view.getUint32(offset, true) + view.getUint32(offset + 4, true) * 2 ** 32;
}
