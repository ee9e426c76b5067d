/** LZ4 as Parquet and Arrow files hold it: bare blocks, blocks in Hadoop's framing, and frames. */
import { InputError } from '../../errors.ts';

const SHORTEST_MATCH = 4;
const FRAME_MAGIC = 0x184d2204;

/** One block that becomes exactly `length` bytes. */
export function lz4Block(input: Uint8Array, length: number): Uint8Array {
  const output = new Uint8Array(length);
  const written = decodeBlock(input, output, 0);
  if (written !== length) throw corrupt(`ends after ${written} of ${length} bytes`);
  return output;
}

/** Big-endian lengths before every block, as Hadoop writes them; else a bare block, else a frame, as other readers accept. */
export function lz4Hadoop(input: Uint8Array, length: number): Uint8Array {
  const view = viewOf(input);
  const output = new Uint8Array(length);
  let at = 0;
  let written = 0;
  while (at + 8 <= input.length) {
    const plain = view.getUint32(at);
    const packed = view.getUint32(at + 4);
    if (plain > length - written || packed > input.length - at - 8) break;
    at += 8;
    const end = decodeBlock(input.subarray(at, at + packed), output.subarray(0, written + plain), written);
    if (end !== written + plain) break;
    written = end;
    at += packed;
  }
  if (at === input.length && written === length) return output;
  if (input.length >= 4 && view.getUint32(0, true) === FRAME_MAGIC) return lz4Frame(input, length);
  return lz4Block(input, length);
}

/** A frame; checksums are passed over, the lengths must be right. */
export function lz4Frame(input: Uint8Array, length: number): Uint8Array {
  const view = viewOf(input);
  if (input.length < 7 || view.getUint32(0, true) !== FRAME_MAGIC) throw corrupt('does not begin with a frame');
  const flags = input[4];
  if (flags >> 6 !== 1) throw corrupt(`has version ${flags >> 6}, expected 1`);
  if (flags & 1) throw corrupt('needs a dictionary, which is not supported');
  let at = 7 + (flags & 8 ? 8 : 0);
  const output = new Uint8Array(length);
  let written = 0;
  for (;;) {
    if (at + 4 > input.length) throw corrupt('ends inside a frame');
    const size = view.getUint32(at, true);
    at += 4;
    if (size === 0) break;
    const packed = size & 0x7fffffff;
    if (packed > input.length - at) throw corrupt('ends inside a block');
    const block = input.subarray(at, at + packed);
    if (size > 0x7fffffff) {
      if (packed > length - written) throw corrupt(`has more than ${length} bytes`);
      output.set(block, written);
      written += packed;
    } else written = decodeBlock(block, output, written);
    at += packed + (flags & 16 ? 4 : 0);
  }
  if (written !== length) throw corrupt(`ends after ${written} of ${length} bytes`);
  return output;
}

/** Decodes sequences of literals and matches; matches may reach back to the beginning of the output. */
function decodeBlock(input: Uint8Array, output: Uint8Array, start: number): number {
  let from = 0;
  let to = start;
  const lengthAfter = (nibble: number) => {
    let length = nibble;
    if (nibble < 15) return length;
    for (;;) {
      if (from >= input.length) throw corrupt('ends inside a length');
      const byte = input[from++];
      length += byte;
      if (byte < 255) return length;
    }
  };
  while (from < input.length) {
    const token = input[from++];
    const literals = lengthAfter(token >> 4);
    if (literals > input.length - from) throw corrupt('ends inside literals');
    if (literals > output.length - to) throw corrupt(`has more than ${output.length} bytes`);
    output.set(input.subarray(from, from + literals), to);
    from += literals;
    to += literals;
    if (from === input.length) return to;
    if (from + 2 > input.length) throw corrupt('ends inside an offset');
    const offset = input[from] | (input[from + 1] << 8);
    from += 2;
    if (offset === 0 || offset > to) throw corrupt('refers to bytes before its beginning');
    const match = lengthAfter(token & 15) + SHORTEST_MATCH;
    if (match > output.length - to) throw corrupt(`has more than ${output.length} bytes`);
    // A match may overlap what it writes.
    if (offset >= match) output.copyWithin(to, to - offset, to - offset + match);
    else for (let i = 0; i < match; i++) output[to + i] = output[to + i - offset];
    to += match;
  }
  return to;
}

function corrupt(what: string): InputError {
  return new InputError(`an lz4 block ${what}`);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
