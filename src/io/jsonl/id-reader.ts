/** Reads one id column: bytes to codes, with one compare a row while an id repeats. */
import { InputError } from '../../errors.ts';
import { mixedKinds } from '../../samples/assembler.ts';
import { encodeText, type Id, type IdCoder, NO_ID } from '../../samples/ids.ts';
import type { KindSeen } from '../../samples/row-chunk.ts';
import { cutText } from '../layouts/cut.ts';
import type { Cut, IdPart, IdSource } from '../layouts/layout.ts';
import { ENTRY_NUMBER, RECORD_NUMBER } from '../layouts/reference.ts';
import type { RecordCells } from './cells.ts';
import { LastSpan } from './last-span.ts';
import { excerpt, Kind } from './scan.ts';
import { decodeString, needsDecoding, plainDigits, wholeNumber } from './values.ts';

/** Where a row stands: its record in the file and its place in the record, both from 0. */
export interface RowNumbers {
  record: number;
  entry: number;
}

export class IdReader {
  /** As a message about a value begins. */
  readonly prefix: string;
  readonly #first: PartReader;
  readonly #parts: readonly PartReader[];
  readonly #otherwise: IdReader | null;
  readonly #coder: IdCoder;
  /** By part, the first kind met. */
  readonly kindsSeen: Record<string, KindSeen> = {};

  constructor(field: string, { parts, otherwise }: IdSource, coder: IdCoder, cells: RecordCells) {
    this.prefix = `${field}: `;
    this.#parts = parts.map((part) => new PartReader(nameOf(field, part, parts.length), part, cells, this.kindsSeen));
    this.#first = this.#parts[0];
    this.#otherwise = otherwise ? new IdReader(field, otherwise, coder, cells) : null;
    this.#coder = coder;
  }

  /** Code of the row's id; NO_ID where it is absent. @param row counted in the chunk, for facts */
  read(bytes: Uint8Array, numbers: RowNumbers, row: number): number {
    const code =
      this.#parts.length === 1 ? this.#first.code(bytes, numbers, row, this.#coder) : this.#joined(bytes, numbers, row);
    return code === NO_ID && this.#otherwise ? this.#otherwise.read(bytes, numbers, row) : code;
  }

  /** Checks an id that is not needed, so that the coder need not hold it. */
  check(bytes: Uint8Array, row: number): void {
    if (!this.#parts.every((part) => part.check(bytes, row))) this.#otherwise?.check(bytes, row);
  }

  #joined(bytes: Uint8Array, numbers: RowNumbers, row: number): number {
    const ids: Id[] = [];
    for (const part of this.#parts) {
      const id = part.id(bytes, numbers, row);
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
  readonly #cells: RecordCells;
  readonly #cell: number;
  readonly #pseudo: string;
  readonly #cut: Cut | undefined;
  readonly #seen: Record<string, KindSeen>;
  /** The kind that was found to be right, so that the others need no second look. */
  #kind: Kind = Kind.absent;
  #lastNumber = -1;
  #lastNumberCode = NO_ID;
  readonly #last = new LastSpan();
  #lastCode = NO_ID;

  constructor(name: string, { column, cut }: IdPart, cells: RecordCells, seen: Record<string, KindSeen>) {
    this.#name = name;
    this.#pseudo = column.text === RECORD_NUMBER || column.text === ENTRY_NUMBER ? column.text : '';
    this.#cells = cells;
    this.#cell = this.#pseudo === '' ? cells.cellOf(column) : -1;
    this.#cut = cut;
    this.#seen = seen;
  }

  code(bytes: Uint8Array, numbers: RowNumbers, row: number, coder: IdCoder): number {
    if (this.#pseudo !== '') return coder.codeOfInteger(this.#number(numbers));
    const kind = this.#cells.kind[this.#cell] as Kind;
    if (kind === Kind.absent || kind === Kind.null) return NO_ID;
    const start = this.#cells.start[this.#cell];
    const end = this.#cells.end[this.#cell];
    if (kind !== this.#kind) this.#requireKind(kind, bytes, start, end, row);
    if (kind === Kind.number) {
      const small = plainDigits(bytes, start, end);
      if (small >= 0) {
        if (small === this.#lastNumber) return this.#lastNumberCode;
        this.#lastNumber = small;
        this.#lastNumberCode = coder.codeOfInteger(small);
        return this.#lastNumberCode;
      }
    }
    if (this.#last.equals(bytes, start, end)) return this.#lastCode;
    const code =
      kind === Kind.number
        ? coder.codeOfInteger(wholeNumber(bytes, start, end))
        : this.#codeOfText(bytes, start, end, coder);
    this.#last.remember(bytes, start, end);
    this.#lastCode = code;
    return code;
  }

  id(bytes: Uint8Array, numbers: RowNumbers, row: number): Id | null {
    if (this.#pseudo !== '') return this.#number(numbers);
    const kind = this.#cells.kind[this.#cell] as Kind;
    if (kind === Kind.absent || kind === Kind.null) return null;
    const start = this.#cells.start[this.#cell];
    const end = this.#cells.end[this.#cell];
    if (kind !== this.#kind) this.#requireKind(kind, bytes, start, end, row);
    return kind === Kind.number ? wholeNumber(bytes, start, end) : this.#text(bytes, start, end);
  }

  /** Whether it is there. @throws InputError, ScanError where it could be no id */
  check(bytes: Uint8Array, row: number): boolean {
    if (this.#pseudo !== '') return true;
    const kind = this.#cells.kind[this.#cell] as Kind;
    if (kind === Kind.absent || kind === Kind.null) return false;
    const start = this.#cells.start[this.#cell];
    const end = this.#cells.end[this.#cell];
    if (kind !== this.#kind) this.#requireKind(kind, bytes, start, end, row);
    if (kind === Kind.number) wholeNumber(bytes, start, end);
    else if (this.#cut || needsDecoding(bytes, start, end)) this.#text(bytes, start, end);
    return true;
  }

  #number({ record, entry }: RowNumbers): number {
    return this.#pseudo === RECORD_NUMBER ? record : entry;
  }

  #codeOfText(bytes: Uint8Array, start: number, end: number, coder: IdCoder): number {
    // Equal text may be spelled with and without escapes, so only plain text is compared by its bytes.
    if (!this.#cut && !needsDecoding(bytes, start, end)) return coder.codeOfBytes(bytes, start + 1, end - 1);
    return coder.codeOfBytes(encodeText(this.#text(bytes, start, end)));
  }

  #text(bytes: Uint8Array, start: number, end: number): string {
    const text = decodeString(bytes, start, end);
    return this.#cut ? cutText(this.#name, text, this.#cut) : text;
  }

  #requireKind(kind: Kind, bytes: Uint8Array, start: number, end: number, row: number): void {
    if ((kind !== Kind.number && kind !== Kind.string) || (this.#cut && kind !== Kind.string)) {
      const wanted = this.#cut ? 'a string' : 'a whole number or a string';
      throw new InputError(`${this.#name} must be ${wanted}, found ${excerpt(bytes, start, end)}`);
    }
    const name = kind === Kind.number ? 'a number' : 'a string';
    const before = this.#seen[this.#name];
    if (before === undefined) this.#seen[this.#name] = { kind: name, row, found: excerpt(bytes, start, end) };
    else if (before.kind !== name)
      throw new InputError(mixedKinds(this.#name, name, excerpt(bytes, start, end), before.kind));
    this.#kind = kind;
  }
}
