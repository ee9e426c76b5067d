/** Reads one id column: bytes to codes, with one compare a row while an id repeats. */
import { InputError } from '../../errors.ts';
import { encodeText, type IdCoder, NO_ID } from '../../samples/ids.ts';
import { LastSpan } from './last-span.ts';
import { excerpt, Kind } from './scan.ts';
import { decodeString, hasEscape, wholeNumber } from './values.ts';

export class IdReader {
  readonly #field: string;
  readonly #coder: IdCoder;
  #columnKind: Kind | null = null;
  readonly #last = new LastSpan();
  #lastCode = NO_ID;

  constructor(field: string, coder: IdCoder) {
    this.#field = field;
    this.#coder = coder;
  }

  /** Code of the id in a value's span; NO_ID where it is absent or null. */
  read(kind: Kind, bytes: Uint8Array, start: number, end: number): number {
    if (kind === Kind.absent || kind === Kind.null) return NO_ID;
    if (this.#last.equals(bytes, start, end)) return this.#lastCode;
    this.#requireKind(kind, bytes, start, end);
    const code =
      kind === Kind.number ? this.#coder.codeOfInteger(wholeNumber(bytes, start, end)) : this.#text(bytes, start, end);
    this.#last.remember(bytes, start, end);
    this.#lastCode = code;
    return code;
  }

  /** Checks an id that is not needed. */
  check(kind: Kind, bytes: Uint8Array, start: number, end: number): void {
    if (kind === Kind.absent || kind === Kind.null) return;
    this.#requireKind(kind, bytes, start, end);
    if (kind === Kind.number) wholeNumber(bytes, start, end);
  }

  #text(bytes: Uint8Array, start: number, end: number): number {
    // Equal text may be spelled with and without escapes, so only plain text is compared by its bytes.
    if (!hasEscape(bytes, start, end)) return this.#coder.codeOfBytes(bytes, start + 1, end - 1);
    return this.#coder.codeOfBytes(encodeText(decodeString(bytes, start, end)));
  }

  #requireKind(kind: Kind, bytes: Uint8Array, start: number, end: number): void {
    if (kind !== Kind.number && kind !== Kind.string) {
      throw new InputError(`${this.#field} must be a whole number or a string, found ${excerpt(bytes, start, end)}`);
    }
    this.#columnKind ??= kind;
    if (kind === this.#columnKind) return;
    const name = (of: Kind) => (of === Kind.number ? 'a number' : 'a string');
    throw new InputError(
      `${this.#field} mixes numbers and strings: found ${name(kind)}, ${excerpt(bytes, start, end)}, after ${name(this.#columnKind)}`,
    );
  }
}
