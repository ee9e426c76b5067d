/** Packs loss masks into bits. */
import { InputError } from '../errors.ts';
import type { PackedLossMasks } from './columns.ts';

const BITS = 32;

/**
 * Packs one mask per row; null or undefined is a row without a mask.
 * @throws InputError where a mask is no array, or an entry neither 0, 1 nor a boolean
 */
export function packLossMasks(masks: ArrayLike<ArrayLike<number | boolean> | null | undefined>): PackedLossMasks {
  const wordOffsets = new Uint32Array(masks.length + 1);
  for (let row = 0; row < masks.length; row++) {
    const mask: unknown = masks[row] ?? null;
    if (mask !== null && !isColumn(mask))
      throw new InputError(`row ${row + 1}: lossMask must be an array or a typed array, got ${typeof mask}`);
    wordOffsets[row + 1] = wordOffsets[row] + Math.ceil((mask?.length ?? 0) / BITS);
  }
  const words = new Uint32Array(wordOffsets[masks.length]);
  for (let row = 0; row < masks.length; row++) {
    const mask = masks[row];
    if (mask) packRow(mask, words, wordOffsets[row], row);
  }
  return { words, wordOffsets };
}

function packRow(mask: ArrayLike<number | boolean>, words: Uint32Array, firstWord: number, row: number): void {
  for (let i = 0; i < mask.length; i++) {
    const entry: unknown = mask[i];
    if (entry === 1 || entry === true) words[firstWord + (i >>> 5)] |= 1 << (i & 31);
    else if (entry !== 0 && entry !== false)
      throw new InputError(`row ${row + 1}: lossMask entry ${i + 1} must be 0 or 1, got ${mask[i]}`);
  }
}

/**
 * Bits say nothing of where a mask ends, so a row with words must have those that its length needs, and no one past it.
 * @throws InputError
 */
export function requireMaskLength({ words, wordOffsets }: PackedLossMasks, row: number, length: number): void {
  const count = wordOffsets[row + 1] - wordOffsets[row];
  if (count === 0) return;
  const needed = Math.ceil(length / BITS);
  if (count !== needed)
    throw new InputError(
      `row ${row + 1}: packed lossMask has ${count} words of ${BITS} entries but responseLength is ${length}, which needs ${needed}`,
    );
  const used = length % BITS;
  if (used > 0 && words[wordOffsets[row + 1] - 1] >>> used !== 0)
    throw new InputError(`row ${row + 1}: packed lossMask has a one past the ${length} entries of responseLength`);
}

/** An array or a typed array. */
export function isColumn(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

/** @throws InputError where the offsets do not lead through the words; a row without words has no mask */
export function requirePackedMasks({ words, wordOffsets }: PackedLossMasks): void {
  if (!(words instanceof Uint32Array) || !(wordOffsets instanceof Uint32Array)) {
    throw new InputError('packed lossMask must hold words and wordOffsets, both Uint32Array');
  }
  const rowCount = wordOffsets.length - 1;
  for (let row = 0; row < rowCount; row++) {
    if (wordOffsets[row] <= wordOffsets[row + 1]) continue;
    throw new InputError(
      `row ${row + 1}: packed lossMask ends at word ${wordOffsets[row + 1]}, before it begins at ${wordOffsets[row]}`,
    );
  }
  if (wordOffsets[rowCount] > words.length) {
    throw new InputError(`packed lossMask has ${words.length} words but its offsets end at ${wordOffsets[rowCount]}`);
  }
}
