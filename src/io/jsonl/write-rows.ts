/** Second pass over a JSONL file: every line's own bytes with raw_reward and advantage added. */
import { FileError } from '../../errors.ts';
import type { Output } from '../output.ts';
import { augmentLine, compileSuffix, LineBuffer, spellNumber } from './augment.ts';
import type { OutputFields } from './fields.ts';
import { forEachLine } from './lines.ts';
import { compileFields, FieldSpans, scanObject } from './scan.ts';

export interface RowValues {
  /** Binary64 per row; NaN is written as null. */
  readonly rawRewards: Float64Array;
  /** Binary32 per row. */
  readonly advantages: Float32Array;
}

/** @throws FileError where the file no longer has the rows that were read */
export async function writeRows(
  name: string,
  chunks: AsyncIterable<Uint8Array>,
  maxLine: number | undefined,
  { rawRewards, advantages }: RowValues,
  { advantage, rawReward, overwrite }: OutputFields,
  output: Output,
): Promise<void> {
  const lines = new LineBuffer();
  const suffixOf = compileSuffix([rawReward, advantage]);
  const replaced = overwrite ? compileFields([rawReward, advantage]) : null;
  const spans = replaced && new FieldSpans(replaced);
  let row = 0;
  const flushed = flushBetween(chunks, lines, output);
  await forEachLine(flushed, maxLine === undefined ? {} : { maxLine }, (bytes, start, end) => {
    if (row >= advantages.length) throw new FileError(`${name}: grew while it was read`);
    const suffix = suffixOf([spellNumber(rawRewards[row]), spellNumber(advantages[row])]);
    if (replaced && spans) scanObject(bytes, start, end, replaced, spans);
    augmentLine(bytes, start, end, suffix, lines, spans ?? undefined);
    row++;
  });
  if (row !== advantages.length) throw new FileError(`${name}: shrank while it was read`);
  if (lines.length > 0) await output.write(lines.bytes);
}

/** Hands lines on before the next chunk is read, so that memory holds about one chunk of them. */
async function* flushBetween(
  chunks: AsyncIterable<Uint8Array>,
  lines: LineBuffer,
  output: Output,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    yield chunk;
    if (lines.length > 0) await output.write(lines.bytes);
    lines.clear();
    if (output.closed) throw new ReaderGone();
  }
}

/** The reader of the output closed its pipe: nothing is wrong, but nothing more is wanted. */
export class ReaderGone extends Error {}
