/** Second pass over lines of JSON: every line's own bytes with raw_reward and advantage added. */
import { FileError } from '../../errors.ts';
import type { OutputFields } from '../layouts/fields.ts';
import type { CompressedLinesPortion, LinesPortion } from '../portion.ts';
import { openRandomAccess } from '../random-access.ts';
import { augmentLine } from './augment.ts';
import { openLines } from './compressed-lines.ts';
import { LineBuffer } from './line-buffer.ts';
import { forEachLineInRange } from './line-range.ts';
import { forEachLine, type LineVisitor } from './lines.ts';
import { type PlaceInFile, PortionWriter, preparePortionWriter } from './portion-writer.ts';
import { compileFields, FieldSpans, Occurrences, scanObject } from './scan.ts';
import { Suffix } from './suffix.ts';

export interface LineValues {
  /** Binary64 per row; NaN is written as null. */
  readonly rawRewards: Float64Array;
  /** Binary32 per row. */
  readonly advantages: Float32Array;
}

/** Lines are passed on when there are so many bytes of them: most portions, with what is added to them, have fewer. */
const PIECE_BYTES = 6 << 20;
/** A line more than a piece. */
const SLACK_BYTES = 1 << 18;

/**
 * @param place where the lines go; null: they are emitted, which is for lines that are not compressed
 * @throws FileError where the portion no longer has the rows that were read
 */
export async function augmentLines(
  portion: LinesPortion | CompressedLinesPortion,
  values: LineValues,
  fields: OutputFields,
  place: PlaceInFile | null,
  emit: (bytes: Uint8Array) => void,
): Promise<void> {
  const lines = new LineBuffer(PIECE_BYTES + SLACK_BYTES);
  if (place === null) {
    await augmentPortion(portion, values, fields, lines, () => emit(lines.take()));
    if (lines.length > 0) emit(lines.bytes);
    return;
  }
  const writer = new PortionWriter(place);
  try {
    await preparePortionWriter(place);
    await augmentPortion(portion, values, fields, lines, () => writer.write(lines));
    writer.finish(lines);
    lines.release();
  } catch (error) {
    writer.giveUp();
    throw error;
  }
}

/** Leaves the last lines, less than a piece, in `lines`. */
async function augmentPortion(
  portion: LinesPortion | CompressedLinesPortion,
  values: LineValues,
  fields: OutputFields,
  lines: LineBuffer,
  flush: () => void,
): Promise<void> {
  const augmenter = new LineAugmenter(portion.name, values, fields, lines);
  await forEachLineOf(portion, (bytes, start, end, line) => {
    augmenter.visit(bytes, start, end, line);
    if (lines.length >= PIECE_BYTES) flush();
  });
  augmenter.requireAllRows();
}

async function forEachLineOf(portion: LinesPortion | CompressedLinesPortion, visit: LineVisitor): Promise<void> {
  const { maxLine } = portion;
  if (portion.format === 'compressed-lines') {
    await forEachLine(openLines(portion), maxLine === undefined ? {} : { maxLine }, visit);
    return;
  }
  const file = openRandomAccess(portion.path, portion.name);
  try {
    forEachLineInRange(file, portion, maxLine, visit);
  } finally {
    file.close();
  }
}

/** Adds the values of row after row to line after line. */
export class LineAugmenter {
  readonly #lines: LineBuffer;
  readonly #name: string;
  readonly #values: LineValues;
  readonly #suffix: Suffix;
  readonly #removed = new Occurrences();
  readonly #replaced;
  readonly #spans: FieldSpans | undefined;
  #row = 0;

  constructor(name: string, values: LineValues, { advantage, rawReward, overwrite }: OutputFields, lines: LineBuffer) {
    this.#lines = lines;
    this.#name = name;
    this.#values = values;
    this.#suffix = new Suffix([rawReward, advantage]);
    this.#replaced = overwrite ? compileFields([rawReward, advantage]) : null;
    this.#spans = this.#replaced ? new FieldSpans(this.#replaced, 2, this.#removed) : undefined;
  }

  readonly visit: LineVisitor = (bytes, start, end) => {
    const { rawRewards, advantages } = this.#values;
    const row = this.#row++;
    if (row >= advantages.length) throw new FileError(`${this.#name}: grew while it was read`);
    this.#suffix.spell(rawRewards[row], advantages[row]);
    if (this.#replaced && this.#spans) scanObject(bytes, start, end, this.#replaced, this.#spans);
    augmentLine(bytes, start, end, this.#suffix.text, this.#lines, this.#removed);
  };

  requireAllRows(): void {
    if (this.#row !== this.#values.advantages.length) throw new FileError(`${this.#name}: shrank while it was read`);
  }
}
