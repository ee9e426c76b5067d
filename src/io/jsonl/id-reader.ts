/** Reads one id column: bytes to codes, with one compare a row while an id repeats. */
import { InputError } from '../../errors.ts';
import { mixedKinds } from '../../samples/assembler.ts';
import { encodeText, type Id, type IdCoder, NO_ID } from '../../samples/ids.ts';
import type { KindSeen } from '../../samples/row-chunk.ts';
import { cutText } from '../layouts/cut.ts';
import type { Cut, IdPart, IdSource } from '../layouts/layout.ts';
import { ENTRY_NUMBER, RECORD_NUMBER, type Reference } from '../layouts/reference.ts';
import type { RecordCells } from './cells.ts';
import { LastSpan } from './last-span.ts';
import { excerpt, Kind } from './scan.ts';
import { decodeString, hasEscape, wholeNumber } from './values.ts';

/** Where a row stands: its record in the file and its place in the record, both from 0. */
export interface RowNumbers {
  record: number;
  entry: number;
}

/** Finds the cell of a reference. */
export type CellOf = (reference: Reference) => number;

export class IdReader {
  readonly #parts: PartReader[];
  readonly #otherwise: IdReader | null;
  readonly #coder: IdCoder;
  /** By part, the first kind met. */
  readonly kindsSeen: Record<string, KindSeen> = {};

  constructor(field: string, { parts, otherwise }: IdSource, coder: IdCoder, cellOf: CellOf) {
    this.#parts = parts.map((part) => new PartReader(nameOf(field, part, parts.length), part, cellOf));
    this.#otherwise = otherwise ? new IdReader(field, otherwise, coder, cellOf) : null;
    this.#coder = coder;
  }

  /** Code of the row's id; NO_ID where it is absent. @param row counted in the chunk, for facts */
  read(cells: RecordCells, bytes: Uint8Array, numbers: RowNumbers, row: number): number {
    const code =
      this.#parts.length === 1
        ? this.#parts[0].code(cells, bytes, numbers, row, this.#coder, this.kindsSeen)
        : this.#joined(cells, bytes, numbers, row);
    return code === NO_ID && this.#otherwise ? this.#otherwise.read(cells, bytes, numbers, row) : code;
  }

  #joined(cells: RecordCells, bytes: Uint8Array, numbers: RowNumbers, row: number): number {
    const ids: Id[] = [];
    for (const part of this.#parts) {
      const id = part.id(cells, bytes, numbers, row, this.kindsSeen);
      if (id === null) return NO_ID;
      ids.push(id);
    }
    return this.#coder.codeOfParts(ids);
  }
}

function nameOf(field: string, { column }: IdPart, partCount: number): string {
  return partCount === 1 && column.text === field ? field : `${field} (${column.text})`;
}

class PartReader {
  readonly #name: string;
  readonly #cell: number;
  readonly #pseudo: string;
  readonly #cut: Cut | undefined;
  readonly #last = new LastSpan();
  #lastCode = NO_ID;

  constructor(name: string, { column, cut }: IdPart, cellOf: CellOf) {
    this.#name = name;
    this.#pseudo = column.text === RECORD_NUMBER || column.text === ENTRY_NUMBER ? column.text : '';
    this.#cell = this.#pseudo === '' ? cellOf(column) : -1;
    this.#cut = cut;
  }

  code(
    cells: RecordCells,
    bytes: Uint8Array,
    numbers: RowNumbers,
    row: number,
    coder: IdCoder,
    seen: Record<string, KindSeen>,
  ): number {
    if (this.#pseudo !== '') return coder.codeOfInteger(this.#number(numbers));
    const kind = cells.kind[this.#cell] as Kind;
    if (kind === Kind.absent || kind === Kind.null) return NO_ID;
    const start = cells.start[this.#cell];
    const end = cells.end[this.#cell];
    if (this.#last.equals(bytes, start, end)) return this.#lastCode;
    this.#requireKind(kind, bytes, start, end, row, seen);
    const code =
      kind === Kind.number
        ? coder.codeOfInteger(wholeNumber(bytes, start, end))
        : this.#codeOfText(bytes, start, end, coder);
    this.#last.remember(bytes, start, end);
    this.#lastCode = code;
    return code;
  }

  id(
    cells: RecordCells,
    bytes: Uint8Array,
    numbers: RowNumbers,
    row: number,
    seen: Record<string, KindSeen>,
  ): Id | null {
    if (this.#pseudo !== '') return this.#number(numbers);
    const kind = cells.kind[this.#cell] as Kind;
    if (kind === Kind.absent || kind === Kind.null) return null;
    const start = cells.start[this.#cell];
    const end = cells.end[this.#cell];
    this.#requireKind(kind, bytes, start, end, row, seen);
    if (kind === Kind.number) return wholeNumber(bytes, start, end);
    return this.#text(bytes, start, end);
  }

  #number({ record, entry }: RowNumbers): number {
    return this.#pseudo === RECORD_NUMBER ? record : entry;
  }

  #codeOfText(bytes: Uint8Array, start: number, end: number, coder: IdCoder): number {
    // Equal text may be spelled with and without escapes, so only plain text is compared by its bytes.
    if (!this.#cut && !hasEscape(bytes, start, end)) return coder.codeOfBytes(bytes, start + 1, end - 1);
    return coder.codeOfBytes(encodeText(this.#text(bytes, start, end)));
  }

  #text(bytes: Uint8Array, start: number, end: number): string {
    const text = decodeString(bytes, start, end);
    return this.#cut ? cutText(this.#name, text, this.#cut) : text;
  }

  #requireKind(
    kind: Kind,
    bytes: Uint8Array,
    start: number,
    end: number,
    row: number,
    seen: Record<string, KindSeen>,
  ): void {
    if ((kind !== Kind.number && kind !== Kind.string) || (this.#cut && kind !== Kind.string)) {
      const wanted = this.#cut ? 'a string' : 'a whole number or a string';
      throw new InputError(`${this.#name} must be ${wanted}, found ${excerpt(bytes, start, end)}`);
    }
    const name = kind === Kind.number ? 'a number' : 'a string';
    const before = seen[this.#name];
    if (before === undefined) seen[this.#name] = { kind: name, row, found: excerpt(bytes, start, end) };
    else if (before.kind !== name)
      throw new InputError(mixedKinds(this.#name, name, excerpt(bytes, start, end), before.kind));
  }
}
