/** Second pass over lines of JSON: every line's own bytes with raw_reward and advantage added. */
import { FileError } from '../../errors.ts';
import type { OutputFields } from '../layouts/fields.ts';
import type { LinesPortion } from '../portion.ts';
import { openRandomAccess } from '../random-access.ts';
import { augmentLine, compileSuffix, LineBuffer, spellNumber } from './augment.ts';
import { forEachLineInRange } from './line-range.ts';
import type { LineVisitor } from './lines.ts';
import { compileFields, FieldSpans, scanObject } from './scan.ts';

export interface LineValues {
  /** Binary64 per row; NaN is written as null. */
  readonly rawRewards: Float64Array;
  /** Binary32 per row. */
  readonly advantages: Float32Array;
}

const PIECE_BYTES = 4 << 20;
/** A line more than a piece. */
const SLACK_BYTES = 1 << 18;

/** @throws FileError where the portion no longer has the rows that were read */
export function augmentLines(
  portion: LinesPortion,
  values: LineValues,
  fields: OutputFields,
  emit: (bytes: Uint8Array) => void,
): void {
  const file = openRandomAccess(portion.path, portion.name);
  try {
    const augmenter = new LineAugmenter(portion.name, values, fields, PIECE_BYTES + SLACK_BYTES);
    forEachLineInRange(file, portion, portion.maxLine, (bytes, start, end, line) => {
      augmenter.visit(bytes, start, end, line);
      if (augmenter.lines.length >= PIECE_BYTES) emit(augmenter.lines.take());
    });
    augmenter.requireAllRows();
    if (augmenter.lines.length > 0) emit(augmenter.lines.take());
  } finally {
    file.close();
  }
}

/** Adds the values of row after row to line after line. */
export class LineAugmenter {
  readonly lines: LineBuffer;
  readonly #name: string;
  readonly #values: LineValues;
  readonly #suffixOf: (values: readonly string[]) => string;
  readonly #replaced;
  readonly #spans: FieldSpans | undefined;
  #row = 0;

  /** @param capacity bytes of lines that are collected before they are taken */
  constructor(name: string, values: LineValues, { advantage, rawReward, overwrite }: OutputFields, capacity?: number) {
    this.lines = new LineBuffer(capacity);
    this.#name = name;
    this.#values = values;
    this.#suffixOf = compileSuffix([rawReward, advantage]);
    this.#replaced = overwrite ? compileFields([rawReward, advantage]) : null;
    this.#spans = this.#replaced ? new FieldSpans(this.#replaced) : undefined;
  }

  readonly visit: LineVisitor = (bytes, start, end) => {
    const { rawRewards, advantages } = this.#values;
    const row = this.#row++;
    if (row >= advantages.length) throw new FileError(`${this.#name}: grew while it was read`);
    const suffix = this.#suffixOf([spellNumber(rawRewards[row]), spellNumber(advantages[row])]);
    if (this.#replaced && this.#spans) scanObject(bytes, start, end, this.#replaced, this.#spans);
    augmentLine(bytes, start, end, suffix, this.lines, this.#spans);
  };

  requireAllRows(): void {
    if (this.#row !== this.#values.advantages.length) throw new FileError(`${this.#name}: shrank while it was read`);
  }
}
