/** Counts the trained tokens of a row in its mask: ones, labels that are not -100, or masks that lie inside a list. */
import { InputError } from '../../errors.ts';
import type { MaskSource } from '../layouts/layout.ts';
import { ALL, type Reference } from '../layouts/reference.ts';
import { RecordCells } from './cells.ts';
import { EntrySpans, excerpt, Kind, kindOfValue } from './scan.ts';
import { countOnes, wholeNumber } from './values.ts';

/** The label of a token that is not trained, as torch's cross entropy ignores it. */
const IGNORED_LABEL = -100;

export class MaskReader {
  readonly #source: MaskSource;
  readonly #cell: number;
  readonly #inner: RecordCells | null;
  readonly #innerCell: number;
  readonly #entries = new EntrySpans();
  readonly #labels = new EntrySpans();
  /** Whether any row so far had what the mask is read from, null included. */
  isMet = false;

  constructor(source: MaskSource, cell: number) {
    this.#source = source;
    this.#cell = cell;
    const { steps, text } = source.column;
    const all = steps.indexOf(ALL);
    const rest: Reference = { text, steps: all < 0 ? [] : steps.slice(all + 1) };
    this.#inner = rest.steps.length > 0 ? new RecordCells([rest]) : null;
    this.#innerCell = this.#inner ? this.#inner.cellOf(rest) : -1;
  }

  /** null where the row has no mask. */
  read(cells: RecordCells, bytes: Uint8Array): { trained: number; length: number } | null {
    const kind = cells.kind[this.#cell] as Kind;
    const start = cells.start[this.#cell];
    const end = cells.end[this.#cell];
    if (kind !== Kind.absent && this.#inner === null) this.isMet = true;
    if (kind === Kind.absent || kind === Kind.null) return null;
    if (!this.#source.column.steps.includes(ALL)) return this.#count(kind, bytes, start, end);
    return this.#countEach(kind, bytes, start, end);
  }

  /** Masks inside the entries of a list; entries without one have no trained token. */
  #countEach(kind: Kind, bytes: Uint8Array, start: number, end: number): { trained: number; length: number } {
    if (kind !== Kind.array) throw this.#wrong(bytes, start, end);
    this.#entries.scan(bytes, start, end);
    const total = { trained: 0, length: 0 };
    for (let i = 0; i < this.#entries.count; i++) {
      let from = this.#entries.start[i];
      let to = this.#entries.end[i];
      let inner = kindOfValue(bytes, from, to);
      if (this.#inner) {
        this.#inner.scanValue(bytes, inner, from, to);
        inner = this.#inner.kind[this.#innerCell] as Kind;
        from = this.#inner.start[this.#innerCell];
        to = this.#inner.end[this.#innerCell];
      }
      if (inner !== Kind.absent) this.isMet = true;
      if (inner === Kind.absent || inner === Kind.null) continue;
      const { trained, length } = this.#count(inner, bytes, from, to);
      total.trained += trained;
      total.length += length;
    }
    return total;
  }

  #count(kind: Kind, bytes: Uint8Array, start: number, end: number): { trained: number; length: number } {
    if (kind !== Kind.array) throw this.#wrong(bytes, start, end);
    if (this.#source.counts === 'labels') return this.#countLabels(bytes, start, end);
    const { ones, length } = countOnes(bytes, start, end);
    return { trained: ones, length };
  }

  #countLabels(bytes: Uint8Array, start: number, end: number): { trained: number; length: number } {
    const labels = this.#labels;
    labels.scan(bytes, start, end);
    let trained = 0;
    for (let i = 0; i < labels.count; i++) {
      const value = wholeNumber(bytes, labels.start[i], labels.end[i]);
      if (value !== IGNORED_LABEL) trained++;
    }
    return { trained, length: labels.count };
  }

  #wrong(bytes: Uint8Array, start: number, end: number): InputError {
    const wanted = this.#source.counts === 'ones' ? 'a list of 0 and 1' : 'a list of labels';
    return new InputError(`${this.#source.column.text} must be ${wanted}, found ${excerpt(bytes, start, end)}`);
  }
}
