/** Reads the reward of a row: a number, a boolean, or one key of an object. */
import { InputError } from '../../errors.ts';
import { compileFields, excerpt, FieldSpans, type Fields, Kind, ScanError, scanObject } from './scan.ts';
import { parseNumber } from './values.ts';

const KEYS_LISTED = 20;
const ROWS_SEARCHED_FOR_KEYS = 100;
const STRING_OR_BARE_WORD = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g;

export class RewardReader {
  readonly #key: string | undefined;
  readonly #fields: Fields;
  readonly #spans: FieldSpans;
  readonly #otherKeys = new Set<string>();
  #objects = 0;
  #keyed = 0;
  /** What stood in the place of the last reward that was missing. */
  found = '';

  constructor(key: string | undefined) {
    this.#key = key;
    this.#fields = compileFields([key ?? '']);
    this.#spans = new FieldSpans(this.#fields);
  }

  /** Binary64; NaN where it is missing (absent, null, not finite). @throws InputError on text, lists and the like */
  read(kind: Kind, bytes: Uint8Array, start: number, end: number): number {
    if (kind === Kind.object) return this.#fromObject(bytes, start, end);
    if (this.#key !== undefined && kind !== Kind.absent && kind !== Kind.null) {
      throw new InputError(
        `reward must be an object with the key ${JSON.stringify(this.#key)}, found ${excerpt(bytes, start, end)}`,
      );
    }
    return this.#value('reward', kind, bytes, start, end);
  }

  /** @throws InputError where --reward-key was given and no object of the batch has it */
  requireKeyMet(): void {
    if (this.#objects === 0 || this.#keyed > 0) return;
    throw new InputError(
      `no row's reward has the key ${JSON.stringify(this.#key)}; keys there are: ${this.#listKeys()}`,
    );
  }

  #fromObject(bytes: Uint8Array, start: number, end: number): number {
    if (this.#key === undefined) {
      this.#collectKeys(bytes, start, end);
      throw new InputError(`reward is an object, so --reward-key must name one of its keys: ${this.#listKeys()}`);
    }
    scanObject(bytes, start, end, this.#fields, this.#spans);
    const kind = this.#spans.kind[0] as Kind;
    this.#objects++;
    if (kind !== Kind.absent) this.#keyed++;
    else if (this.#keyed === 0 && this.#objects <= ROWS_SEARCHED_FOR_KEYS) this.#collectKeys(bytes, start, end);
    const name = `reward[${JSON.stringify(this.#key)}]`;
    try {
      return this.#value(name, kind, bytes, this.#spans.start[0], this.#spans.end[0]);
    } catch (error) {
      if (error instanceof ScanError) throw new InputError(`${name}: ${error.message}`);
      throw error;
    }
  }

  #value(name: string, kind: Kind, bytes: Uint8Array, start: number, end: number): number {
    if (kind === Kind.true) return 1;
    if (kind === Kind.false) return 0;
    if (kind === Kind.number) {
      const value = parseNumber(bytes, start, end);
      if (Number.isFinite(value)) return value;
      this.found = name === 'reward' ? excerpt(bytes, start, end) : `${name} ${excerpt(bytes, start, end)}`;
      return Number.NaN;
    }
    if (kind !== Kind.absent && kind !== Kind.null) {
      throw new InputError(`${name} must be a number or a boolean, found ${excerpt(bytes, start, end)}`);
    }
    this.found = kind === Kind.null ? 'null' : `no ${name}`;
    return Number.NaN;
  }

  /** For a message. JSON.parse does not know the bare NaN and Infinity, which stand outside of strings. */
  #collectKeys(bytes: Uint8Array, start: number, end: number): void {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString();
    const plain = text.replace(STRING_OR_BARE_WORD, (match) => (match.startsWith('"') ? match : 'null'));
    try {
      for (const key of Object.keys(JSON.parse(plain))) this.#otherKeys.add(key);
    } catch {
      // The row will be refused for what is wrong with it; until then its keys are not known.
    }
  }

  #listKeys(): string {
    const keys = [...this.#otherKeys];
    const listed = keys.slice(0, KEYS_LISTED).map((key) => JSON.stringify(key));
    const more = keys.length > KEYS_LISTED ? `, and ${keys.length - KEYS_LISTED} more` : '';
    return keys.length > 0 ? listed.join(', ') + more : 'none';
  }
}
