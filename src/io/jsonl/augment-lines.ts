/** Second pass over lines of JSON: every line's own bytes with raw_reward, advantage and what else is wanted added. */
import { FileError } from '../../errors.ts';
import type { ExtraColumn } from '../extra-columns.ts';
import { addedNames, type OutputFields } from '../layouts/fields.ts';
import type { CompressedLinesPortion, LinesPortion } from '../portion.ts';
import { openRandomAccess } from '../random-access.ts';
import { augmentLine } from './augment.ts';
import { openLines } from './compressed-lines.ts';
import { ExtraMembers } from './extra-members.ts';
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
  readonly extras: readonly ExtraColumn[];
  /** 0 for rows that are left out; null: none is. */
  readonly keep: Uint8Array | null;
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
  readonly #extras: ExtraMembers | null;
  readonly #removed = new Occurrences();
  readonly #replaced;
  readonly #spans: FieldSpans | undefined;
  #row = 0;

  constructor(name: string, values: LineValues, fields: OutputFields, lines: LineBuffer) {
    this.#lines = lines;
    this.#name = name;
    this.#values = values;
    this.#suffix = new Suffix([fields.rawReward, fields.advantage]);
    this.#extras = values.extras.length > 0 ? new ExtraMembers(values.extras) : null;
    const names = addedNames(fields).map((field) => field.name);
    this.#replaced = fields.overwrite ? compileFields(names) : null;
    this.#spans = this.#replaced ? new FieldSpans(this.#replaced, names.length, this.#removed) : undefined;
  }

  readonly visit: LineVisitor = (bytes, start, end) => {
    const { rawRewards, advantages, keep } = this.#values;
    const row = this.#row++;
    if (row >= advantages.length) throw new FileError(`${this.#name}: grew while it was read`);
    if (keep !== null && keep[row] === 0) return;
    this.#suffix.spell(rawRewards[row], advantages[row]);
    if (this.#extras !== null) this.#suffix.text.appendText(this.#extras.textOf(row));
    if (this.#replaced && this.#spans) scanObject(bytes, start, end, this.#replaced, this.#spans);
    augmentLine(bytes, start, end, this.#suffix.text, this.#lines, this.#removed);
  };

  requireAllRows(): void {
    if (this.#row !== this.#values.advantages.length) throw new FileError(`${this.#name}: shrank while it was read`);
  }
}
