/** Reads the reward of a row: a number, a boolean, one key of an object, or a weighted sum. */
import { InputError } from '../../errors.ts';
import { listKeys } from '../../samples/assembler.ts';
import { RewardSum } from '../../samples/reward-sum.ts';
import type { RewardSource } from '../layouts/layout.ts';
import { numberFromText } from '../layouts/number-text.ts';
import type { RecordCells } from './cells.ts';
import {
  compileFields,
  EntrySpans,
  excerpt,
  FieldSpans,
  type Fields,
  Kind,
  kindOfValue,
  ScanError,
  scanObject,
} from './scan.ts';
import { decodeString, parseNumber } from './values.ts';

const ROWS_SEARCHED_FOR_KEYS = 100;
const STRING_OR_BARE_WORD = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g;
const SCORE = compileFields(['score', 'weight']);

export class RewardReader {
  readonly #source: RewardSource;
  readonly #cells: readonly number[];
  readonly #fields: Fields;
  readonly #spans: FieldSpans;
  readonly #members = new EntrySpans();
  readonly #score = new FieldSpans(SCORE);
  readonly otherKeys = new Set<string>();
  objects = 0;
  keyed = 0;
  fromText = 0;
  /** Rows whose columns are not there at all. */
  absent = 0;
  /** What stood in the place of the last reward that was missing. */
  found = '';
  /** Rows in which each column is there. */
  readonly met: number[];
  readonly #sum = new RewardSum();

  constructor(source: RewardSource, cells: RecordCells) {
    this.#source = source;
    this.#cells = source.columns.map(({ column }) => cells.cellOf(column));
    this.met = this.#cells.map(() => 0);
    this.#fields = compileFields([source.key ?? '']);
    this.#spans = new FieldSpans(this.#fields);
  }

  /** Binary64; NaN where it is missing (absent, null, not finite). @throws InputError on text, lists and the like */
  read(cells: RecordCells, bytes: Uint8Array): number {
    if (this.#source.isSum) return this.#summed(cells, bytes);
    const cell = this.#cells[0];
    const kind = cells.kind[cell] as Kind;
    if (kind === Kind.absent) this.absent++;
    if (this.#source.scored) return this.#scored(kind, bytes, cells.start[cell], cells.end[cell]);
    return this.#one(kind, bytes, cells.start[cell], cells.end[cell]);
  }

  #one(kind: Kind, bytes: Uint8Array, start: number, end: number): number {
    if (kind === Kind.object) return this.#fromObject(bytes, start, end);
    const { key } = this.#source;
    if (key !== undefined && kind !== Kind.absent && kind !== Kind.null) {
      throw new InputError(
        `reward must be an object with the key ${JSON.stringify(key)}, found ${excerpt(bytes, start, end)}`,
      );
    }
    return finite(this.#value(this.#source.columns[0].column.text, kind, bytes, start, end));
  }

  #summed(cells: RecordCells, bytes: Uint8Array): number {
    const sum = this.#sum;
    sum.begin();
    let absent = 0;
    for (let i = 0; i < this.#cells.length; i++) {
      const cell = this.#cells[i];
      const { column, weight } = this.#source.columns[i];
      const kind = cells.kind[cell] as Kind;
      if (kind === Kind.absent) absent++;
      else this.met[i]++;
      sum.add(column.text, weight, this.#value(column.text, kind, bytes, cells.start[cell], cells.end[cell]));
    }
    if (absent === this.#cells.length) this.absent++;
    this.found = sum.found;
    return sum.end();
  }

  #scored(kind: Kind, bytes: Uint8Array, start: number, end: number): number {
    const name = this.#source.columns[0].column.text;
    if (kind === Kind.absent || kind === Kind.null) return this.#value(name, kind, bytes, start, end);
    if (kind !== Kind.object)
      throw new InputError(`${name} must be an object of scores with weights, found ${excerpt(bytes, start, end)}`);
    this.#members.scan(bytes, start, end);
    const sum = this.#sum;
    sum.begin();
    for (let i = 0; i < this.#members.count; i++) {
      const from = this.#members.start[i];
      const to = this.#members.end[i];
      // What was not scored counts nothing.
      if (kindOfValue(bytes, from, to) === Kind.null) continue;
      scanObject(bytes, from, to, SCORE, this.#score);
      const part = (field: number) => {
        const { kind, start, end } = this.#score;
        const value = this.#value(
          `${name}: ${SCORE.names[field]}`,
          kind[field] as Kind,
          bytes,
          start[field],
          end[field],
        );
        // Here a part that is no number is missed: members without a score are null.
        if (!Number.isFinite(value)) sum.lack(this.found);
        return value;
      };
      const score = part(0);
      sum.add(name, this.#score.kind[1] === Kind.absent ? 1 : part(1), score);
    }
    this.found = sum.found;
    return sum.end(0);
  }

  #fromObject(bytes: Uint8Array, start: number, end: number): number {
    const { key } = this.#source;
    if (key === undefined) {
      this.#collectKeys(bytes, start, end);
      throw new InputError(
        `reward is an object, so --reward-key must name one of its keys: ${listKeys([...this.otherKeys])}`,
      );
    }
    scanObject(bytes, start, end, this.#fields, this.#spans);
    const kind = this.#spans.kind[0] as Kind;
    this.objects++;
    if (kind !== Kind.absent) this.keyed++;
    else if (this.keyed === 0 && this.objects <= ROWS_SEARCHED_FOR_KEYS) this.#collectKeys(bytes, start, end);
    const name = `reward[${JSON.stringify(key)}]`;
    try {
      return finite(this.#value(name, kind, bytes, this.#spans.start[0], this.#spans.end[0]));
    } catch (error) {
      if (error instanceof ScanError) throw new InputError(`${name}: ${error.message}`);
      throw error;
    }
  }

  /** NaN where there is no number; an infinity as it stands. */
  #value(name: string, kind: Kind, bytes: Uint8Array, start: number, end: number): number {
    if (kind === Kind.number) {
      const value = parseNumber(bytes, start, end);
      if (!Number.isFinite(value))
        this.found = name === 'reward' ? excerpt(bytes, start, end) : `${name} ${excerpt(bytes, start, end)}`;
      return value;
    }
    if (kind === Kind.true) return 1;
    if (kind === Kind.false) return 0;
    if (kind === Kind.string && this.#source.fromText) return this.#text(name, bytes, start, end);
    if (kind !== Kind.absent && kind !== Kind.null) {
      throw new InputError(`${name} must be a number or a boolean, found ${excerpt(bytes, start, end)}`);
    }
    this.found = kind === Kind.null ? 'null' : `no ${name}`;
    return Number.NaN;
  }

  #text(name: string, bytes: Uint8Array, start: number, end: number): number {
    const value = numberFromText(name, decodeString(bytes, start, end));
    this.fromText++;
    if (!Number.isFinite(value)) this.found = `${name} ${excerpt(bytes, start, end)}`;
    return value;
  }

  /** For a message. JSON.parse does not know the bare NaN and Infinity, which stand outside of strings. */
  #collectKeys(bytes: Uint8Array, start: number, end: number): void {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString();
    const plain = text.replace(STRING_OR_BARE_WORD, (match) => (match.startsWith('"') ? match : 'null'));
    try {
      for (const key of Object.keys(JSON.parse(plain))) this.otherKeys.add(key);
    } catch {
      // The row will be refused for what is wrong with it; until then its keys are not known.
    }
  }
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : Number.NaN;
}
