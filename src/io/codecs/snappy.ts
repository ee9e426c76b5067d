/** Snappy blocks, compressed and decompressed by WebAssembly. */
import { InputError } from '../../errors.ts';

type Snappy = typeof import('hysnappy');

/** A decoder never gives memory back; one that has held more than this is not kept. */
const LARGEST_KEPT = 32 << 20;
const LONGEST_LENGTH_BYTES = 5;

let snappy: Snappy | null = null;
let decompress: ReturnType<Snappy['snappyUncompressor']> | null = null;
let compress: ReturnType<Snappy['snappyCompressor']> | null = null;

export async function loadSnappy(): Promise<void> {
  snappy ??= await import('hysnappy');
}

/** @throws InputError where the bytes are corrupt or do not have exactly that length */
export function snappyBlock(bytes: Uint8Array, length: number): Uint8Array {
  const [stated, start] = statedLength(bytes);
  // The decoder believes the length that the block begins with, and writes as much.
  if (stated !== length) throw new InputError(`a snappy block has ${stated} bytes where ${length} were promised`);
  if (length === 0) {
    if (start === bytes.length) return new Uint8Array(0);
    throw new InputError('a snappy block of no bytes is followed by others');
  }
  decompress ??= loaded().snappyUncompressor();
  const run = decompress;
  // One that failed in the middle, or that has grown large, is not used again.
  decompress = null;
  try {
    const plain = run(bytes, length);
    if (bytes.length + length <= LARGEST_KEPT) decompress = run;
    return plain;
  } catch (cause) {
    throw new InputError(`a snappy block is corrupt: ${(cause as Error).message}`, { cause });
  }
}

export function toSnappy(bytes: Uint8Array): Uint8Array {
  const run = compress ?? loaded().snappyCompressor();
  compress = bytes.length <= LARGEST_KEPT ? run : null;
  return run(bytes);
}

/** The decompressed length, and where the content begins. */
function statedLength(bytes: Uint8Array): [length: number, start: number] {
  let length = 0;
  for (let i = 0, scale = 1; i < LONGEST_LENGTH_BYTES; i++, scale *= 128) {
    if (i >= bytes.length) throw new InputError('a snappy block ends inside its length');
    length += (bytes[i] & 0x7f) * scale;
    if (bytes[i] < 0x80) return [length, i + 1];
  }
  throw new InputError(`a snappy block has a length of more than ${LONGEST_LENGTH_BYTES} bytes`);
}

function loaded(): Snappy {
  if (snappy === null) throw new Error('prepareBlockCodecs was not awaited');
  return snappy;
}
