/** The framing of zstd (RFC 8878): headers of frames and blocks. */
import { InputError } from '../../errors.ts';

export const ZSTD_MAGIC = 0xfd2fb528;
const DICTIONARY_ID_BYTES = [0, 1, 2, 4];
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];
/** Magic, descriptor, window, dictionary id, content size. */
export const LONGEST_FRAME_HEADER = 4 + 1 + 1 + 4 + 8;

export interface FrameHeader {
  readonly byteLength: number;
  /** Bytes that the decoder must keep. */
  readonly windowSize: number;
  /** null: not stated. */
  readonly contentSize: number | null;
  readonly hasChecksum: boolean;
}

/** Bytes of the header that its descriptor asks for, the magic number included. */
export function frameHeaderLength(descriptor: number): number {
  const isSingle = (descriptor >> 5) & 1;
  const size = CONTENT_SIZE_BYTES[descriptor >> 6] || isSingle;
  return 5 + (1 - isSingle) + DICTIONARY_ID_BYTES[descriptor & 3] + size;
}

/** @param bytes of the whole header @throws InputError on what cannot be read */
export function readFrameHeader(bytes: Uint8Array): FrameHeader {
  const descriptor = bytes[4];
  const byteLength = frameHeaderLength(descriptor);
  if (bytes.length < byteLength) throw new InputError('a zstd frame ends inside its header');
  if (descriptor & 8) throw new InputError('a zstd frame has a reserved bit set');
  const isSingle = (descriptor & 0x20) !== 0;
  let at = 5;
  let windowSize = 0;
  if (!isSingle) {
    const base = 2 ** (10 + (bytes[at] >> 3));
    windowSize = base + (base / 8) * (bytes[at++] & 7);
  }
  const idBytes = DICTIONARY_ID_BYTES[descriptor & 3];
  if (bytes.subarray(at, at + idBytes).some((byte) => byte !== 0))
    throw new InputError('a zstd frame needs a dictionary, which is not supported');
  at += idBytes;
  const sizeBytes = byteLength - at;
  let contentSize: number | null = null;
  if (sizeBytes > 0) {
    contentSize = sizeBytes === 2 ? 256 : 0;
    for (let i = 0; i < sizeBytes; i++) contentSize += bytes[at + i] * 2 ** (8 * i);
  }
  if (isSingle) windowSize = contentSize ?? 0;
  return { byteLength, windowSize, contentSize, hasChecksum: (descriptor & 4) !== 0 };
}

/** What the first frame says of its decompressed length; null where it says nothing. */
export function zstdContentSize(bytes: Uint8Array): number | null {
  if (bytes.length < 5) throw new InputError('a zstd block is too short for a frame');
  const magic = bytes[0] + bytes[1] * 2 ** 8 + bytes[2] * 2 ** 16 + bytes[3] * 2 ** 24;
  if (magic !== ZSTD_MAGIC) throw new InputError('a zstd block does not begin with a frame');
  return readFrameHeader(bytes.subarray(0, LONGEST_FRAME_HEADER)).contentSize;
}
