/** LZ4 as Parquet and Arrow files hold it: bare blocks, blocks in Hadoop's framing, and frames. */
import { InputError } from '../../errors.ts';
import { decodeLz4Sequences } from './lz4-sequences.ts';
import { xxhash32 } from './xxhash32.ts';

/** One block that becomes exactly `length` bytes. */
export function lz4Block(input: Uint8Array, length: number): Uint8Array {
  const output = new Uint8Array(length);
  requireLength(decodeLz4Sequences(input, 0, input.length, output, 0), length);
  return output;
}

/** Hadoop's framing as Parquet's first LZ4 codec meant it; else a frame or a bare block, as other readers accept. */
export function lz4Hadoop(input: Uint8Array, length: number): Uint8Array {
  const plain = fromHadoop(input, length);
  if (plain) return plain;
  return beginsWithFrame(input) ? lz4Frame(input, length) : lz4Block(input, length);
}

/** One or more frames; what is stated of lengths and checksums must be right. */
export function lz4Frame(input: Uint8Array, length: number): Uint8Array {
  const reader = new Reader(input);
  const output = new Uint8Array(length);
  let written = 0;
  do {
    const magic = reader.uint32('its beginning');
    if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC) reader.take(reader.uint32('a length'), 'what is to be skipped');
    else if (magic === FRAME_MAGIC) written = readFrame(reader, output, written);
    else throw corrupt('does not begin with a frame, or is followed by other bytes');
  } while (reader.position < input.length);
  requireLength(written, length);
  return output;
}

const FRAME_MAGIC = 0x184d2204;
const SKIPPABLE_MAGIC = 0x184d2a50;
const DICTIONARY_FLAG = 0x01;
const CONTENT_CHECKSUM_FLAG = 0x04;
const CONTENT_SIZE_FLAG = 0x08;
const BLOCK_CHECKSUM_FLAG = 0x10;
const INDEPENDENT_FLAG = 0x20;
const STORED_BIT = 0x80000000;
/** Largest length of a block by the code in the header: 64 KiB to 4 MiB. */
const FIRST_SIZE_CODE = 4;
const LAST_SIZE_CODE = 7;

interface FrameHeader {
  readonly flags: number;
  readonly largestBlock: number;
  readonly contentSize: number | null;
}

/** Decodes one frame after its magic number to `output[start..]`; gives where it ends there. */
function readFrame(reader: Reader, output: Uint8Array, start: number): number {
  const { flags, largestBlock, contentSize } = readFrameHeader(reader);
  let written = start;
  for (;;) {
    const word = reader.uint32('the length of a block');
    if (word === 0) break;
    const isStored = word >= STORED_BIT;
    const byteLength = isStored ? word - STORED_BIT : word;
    if (byteLength > largestBlock)
      throw corrupt(`has a piece of ${byteLength} bytes, ${largestBlock} are the most there`);
    const bytes = reader.take(byteLength, 'a piece');
    if (flags & BLOCK_CHECKSUM_FLAG) requireChecksum(bytes, reader.uint32('a checksum'));
    // Only pieces that depend on one another may refer to what was before them.
    const first = flags & INDEPENDENT_FLAG ? written : start;
    const to = isStored
      ? store(bytes, output, written)
      : decodeLz4Sequences(bytes, 0, bytes.length, output, written, first);
    if (to - written > largestBlock)
      throw corrupt(`has a piece of ${to - written} bytes, ${largestBlock} are the most there`);
    written = to;
  }
  if (contentSize !== null && written - start !== contentSize)
    throw corrupt(`has ${written - start} bytes where its header says ${contentSize}`);
  if (flags & CONTENT_CHECKSUM_FLAG) requireChecksum(output.subarray(start, written), reader.uint32('a checksum'));
  return written;
}

function readFrameHeader(reader: Reader): FrameHeader {
  const start = reader.position;
  const flags = reader.byte();
  const sizeCode = (reader.byte() >> 4) & 7;
  if (flags >> 6 !== 1) throw corrupt(`is of version ${flags >> 6} of the frame format, expected 1`);
  if (flags & DICTIONARY_FLAG) throw corrupt('needs a dictionary, which is not supported');
  if (sizeCode < FIRST_SIZE_CODE || sizeCode > LAST_SIZE_CODE) throw corrupt(`has the block size code ${sizeCode}`);
  let contentSize: number | null = null;
  if (flags & CONTENT_SIZE_FLAG) {
    contentSize = reader.uint32('its length');
    contentSize += reader.uint32('its length') * 2 ** 32;
  }
  const descriptor = reader.since(start);
  if (((xxhash32(descriptor) >> 8) & 0xff) !== reader.byte())
    throw corrupt('has a header whose checksum does not match');
  return { flags, largestBlock: 2 ** (8 + 2 * sizeCode), contentSize };
}

/** null where the bytes are not framed so: big-endian lengths of a piece, then of each compressed part of it. */
function fromHadoop(input: Uint8Array, length: number): Uint8Array | null {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  const output = new Uint8Array(length);
  let at = 0;
  let written = 0;
  try {
    while (at < input.length) {
      if (at + 4 > input.length) return null;
      const end = written + view.getUint32(at);
      at += 4;
      if (end > length) return null;
      // A piece of nothing may have a part, or none.
      while (written < end || (at < input.length && end === 0)) {
        if (at + 4 > input.length) return null;
        const packed = view.getUint32(at);
        at += 4;
        if (packed === 0 || packed > input.length - at) return null;
        written = decodeLz4Sequences(input, at, at + packed, output.subarray(0, end), written, written);
        at += packed;
      }
    }
  } catch (error) {
    if (error instanceof InputError) return null;
    throw error;
  }
  return written === length ? output : null;
}

/** Little-endian values, each checked to be there. */
class Reader {
  position = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  byte(): number {
    return this.take(1, 'its header')[0];
  }

  uint32(what: string): number {
    const [a, b, c, d] = this.take(4, what);
    return (a | (b << 8) | (c << 16) | (d << 24)) >>> 0;
  }

  take(byteLength: number, what: string): Uint8Array {
    if (byteLength > this.#bytes.length - this.position) throw corrupt(`ends inside ${what}`);
    this.position += byteLength;
    return this.#bytes.subarray(this.position - byteLength, this.position);
  }

  since(start: number): Uint8Array {
    return this.#bytes.subarray(start, this.position);
  }
}

function beginsWithFrame(input: Uint8Array): boolean {
  return input.length >= 4 && new Reader(input).uint32('its beginning') === FRAME_MAGIC;
}

function store(bytes: Uint8Array, output: Uint8Array, at: number): number {
  if (bytes.length > output.length - at) throw corrupt(`has more than ${output.length} bytes`);
  output.set(bytes, at);
  return at + bytes.length;
}

function requireChecksum(bytes: Uint8Array, expected: number): void {
  if (xxhash32(bytes) !== expected) throw corrupt('has a checksum that does not match');
}

function requireLength(found: number, expected: number): void {
  if (found !== expected) throw corrupt(`has ${found} bytes where ${expected} were promised`);
}

function corrupt(what: string): InputError {
  return new InputError(`an lz4 block ${what}`);
}
