/** The inside of an LZ4 block: sequences of literals and of matches, which repeat earlier output. */
import { InputError } from '../../errors.ts';

const SHORTEST_MATCH = 4;
/** What is no longer than this is copied faster by a loop than by a call. */
const NEAR = 32;

/**
 * Decodes `input[from..end)` to `output[to..]` and gives where it ends there.
 * @param first how far back in the output matches may reach
 * @throws InputError where the block is corrupt or does not fit
 */
export function decodeLz4Sequences(
  input: Uint8Array,
  from: number,
  end: number,
  output: Uint8Array,
  to: number,
  first = 0,
): number {
  if (from === end) return to;
  let at = from;
  let written = to;
  const limit = output.length;
  while (at < end) {
    const token = input[at++];
    let literals = token >> 4;
    if (literals === 15) {
      for (let byte = 255; byte === 255; literals += byte) {
        if (at === end) throw corrupt('ends inside a length');
        byte = input[at++];
      }
    }
    if (literals > end - at) throw corrupt('ends inside literals');
    if (literals > limit - written) throw corrupt(`has more than ${limit - to} bytes`);
    if (literals > NEAR) output.set(input.subarray(at, at + literals), written);
    else for (let i = 0; i < literals; i++) output[written + i] = input[at + i];
    at += literals;
    written += literals;
    // The last sequence has no match.
    if (at === end) return written;
    if (end - at < 2) throw corrupt('ends inside an offset');
    const offset = input[at] | (input[at + 1] << 8);
    at += 2;
    if (offset === 0 || offset > written - first) throw corrupt('refers to bytes before its beginning');
    let match = (token & 15) + SHORTEST_MATCH;
    if (match === 15 + SHORTEST_MATCH) {
      for (let byte = 255; byte === 255; match += byte) {
        if (at === end) throw corrupt('ends inside a length');
        byte = input[at++];
      }
    }
    if (match > limit - written) throw corrupt(`has more than ${limit - to} bytes`);
    if (match > NEAR) copyMatch(output, written, offset, match);
    else for (let i = written; i < written + match; i++) output[i] = output[i - offset];
    written += match;
  }
  throw corrupt('ends with a match');
}

/** A match may overlap what it writes, which then repeats. */
function copyMatch(output: Uint8Array, to: number, offset: number, length: number): void {
  const start = to - offset;
  for (let done = 0; done < length; ) {
    // What has been copied already lies right behind the pattern and may be copied with it.
    const step = Math.min(offset + done, length - done);
    output.copyWithin(to + done, start, start + step);
    done += step;
  }
}

function corrupt(what: string): InputError {
  return new InputError(`an lz4 block ${what}`);
}
