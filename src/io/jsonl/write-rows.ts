/** Second pass over compressed lines, which can only be read in one go. */
import type { OutputFields } from '../layouts/fields.ts';
import type { Output } from '../output.ts';
import type { CompressedLinesPortion } from '../portion.ts';
import { LineAugmenter, type LineValues } from './augment-lines.ts';
import { openLines } from './compressed-lines.ts';
import { LineBuffer } from './line-buffer.ts';
import { forEachLine } from './lines.ts';

/** @throws FileError where the file no longer has the rows that were read */
export async function augmentCompressedLines(
  portion: CompressedLinesPortion,
  values: LineValues,
  fields: OutputFields,
  output: Output,
): Promise<void> {
  const lines = new LineBuffer();
  const augmenter = new LineAugmenter(portion.name, values, fields, lines);
  const { maxLine } = portion;
  const flushed = flushBetween(openLines(portion), async () => {
    if (lines.length > 0) await output.write(lines.bytes);
    lines.clear();
    if (output.closed) throw new ReaderGone();
  });
  await forEachLine(flushed, maxLine === undefined ? {} : { maxLine }, augmenter.visit);
  augmenter.requireAllRows();
  if (lines.length > 0) await output.write(lines.bytes);
}

/** Hands lines on before the next chunk is read, so that memory holds about one chunk of them. */
async function* flushBetween(
  chunks: AsyncIterable<Uint8Array>,
  flush: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    yield chunk;
    await flush();
  }
}

/** The reader of the output closed its pipe: nothing is wrong, but nothing more is wanted. */
export class ReaderGone extends Error {}
