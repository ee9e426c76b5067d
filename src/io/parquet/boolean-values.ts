/** Booleans: a bit each, or runs. */
import { InputError } from '../../errors.ts';
import { Encoding, encodingName } from './encodings.ts';
import { HybridRuns, unpackBytes } from './hybrid-runs.ts';

/** Decodes `count` booleans into target, from `at` on, as 0 and 1. */
export function decodeBooleans(
  encoding: number,
  values: Uint8Array,
  count: number,
  target: Uint8Array,
  at: number,
  place: string,
): void {
  if (count === 0) return;
  if (encoding === Encoding.plain) {
    checkPlainBooleans(values, count, place);
    unpackBytes(values, 0, values.length, 1, target, at, count);
    return;
  }
  const { start, end } = booleanSpan(encoding, values, place);
  const runs = new HybridRuns(values, start, end, 1, count, `${place}: booleans`);
  for (; runs.next(); at += runs.count) {
    if (runs.isPacked) unpackBytes(values, runs.byteOffset, end, 1, target, at, runs.count);
    else target.fill(runs.value & 1, at, at + runs.count);
  }
}

export function checkPlainBooleans(values: Uint8Array, count: number, place: string): void {
  if (count > values.length * 8) throw new InputError(`${place}: has ${values.length} bytes for ${count} booleans`);
}

/** Where the runs of RLE-coded booleans are; their length stands in front of them. */
export function booleanSpan(encoding: number, values: Uint8Array, place: string): { start: number; end: number } {
  if (encoding !== Encoding.runLength) {
    throw new InputError(`${place}: has booleans in encoding ${encodingName(encoding)}, which cannot be read`);
  }
  if (values.length < 4) throw new InputError(`${place}: ends before its booleans`);
  const length = new DataView(values.buffer, values.byteOffset, values.byteLength).getUint32(0, true);
  if (length > values.length - 4) {
    throw new InputError(`${place}: its booleans are said to have ${length} of ${values.length - 4} bytes`);
  }
  return { start: 4, end: 4 + length };
}
