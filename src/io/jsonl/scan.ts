/** Finds the wanted members of one JSON object in its bytes and skips everything else at native speed. */

/** What a value is, by how it begins. A number is only known to look like one until it is parsed. */
export const Kind = {
  absent: 0,
  null: 1,
  true: 2,
  false: 3,
  number: 4,
  string: 5,
  array: 6,
  object: 7,
} as const;
export type Kind = (typeof Kind)[keyof typeof Kind];

/** Text that breaks the grammar; the caller knows the line and puts it before the message. */
export class ScanError extends Error {
  /** Where in the scanned bytes. */
  readonly byteOffset: number;

  constructor(message: string, byteOffset: number) {
    super(message);
    this.name = 'ScanError';
    this.byteOffset = byteOffset;
  }
}

/** Wanted names, each once, prepared for comparison with the bytes of keys. */
export interface Fields {
  readonly names: readonly string[];
  readonly encoded: readonly Uint8Array[];
  /** First field by min(byte length, 255), or -1; the others of that length follow in nextOfLength. */
  readonly firstOfLength: Int32Array;
  readonly nextOfLength: Int32Array;
}

export function compileFields(names: readonly string[]): Fields {
  const encoder = new TextEncoder();
  const firstOfLength = new Int32Array(256).fill(-1);
  const nextOfLength = new Int32Array(names.length).fill(-1);
  const encoded = names.map((name) => encoder.encode(name));
  for (let i = names.length - 1; i >= 0; i--) {
    // A name with a lone surrogate has no UTF-8 form: only an escaped key can spell it.
    if (!names[i].isWellFormed()) continue;
    const slot = Math.min(encoded[i].length, 255);
    nextOfLength[i] = firstOfLength[slot];
    firstOfLength[slot] = i;
  }
  return { names, encoded, firstOfLength, nextOfLength };
}

/** What scanObject found, by field; reused from line to line. Spans are positions in the scanned bytes. */
export class FieldSpans {
  readonly kind: Uint8Array;
  readonly start: Int32Array;
  readonly end: Int32Array;
  /** Where members are to be taken out again; null: they are only read. */
  readonly occurrences: Occurrences | null;
  /** @internal */
  readonly lookahead = new Lookahead();
  /** @internal */
  readonly layout = new Layout();

  /** @param count entries, where there are to be more than fields; those after the fields are absent in every scan */
  constructor(fields: Fields, count: number = fields.names.length, occurrences: Occurrences | null = null) {
    this.occurrences = occurrences;
    this.kind = new Uint8Array(count);
    this.start = new Int32Array(count);
    this.end = new Int32Array(count);
  }

  /** @internal */
  reset(bytes: Uint8Array, start: number, end: number, fields: Fields): void {
    const { kind } = this;
    for (let i = 0; i < kind.length; i++) kind[i] = Kind.absent;
    if (this.occurrences) this.occurrences.count = 0;
    this.lookahead.attach(bytes, start, end);
    this.layout.attach(bytes, fields);
  }
}

/** Every member with a wanted name in line order, repeated names included: from the key's quote to the value's end. */
export class Occurrences {
  count = 0;
  start = new Int32Array(8);
  end = new Int32Array(8);

  add(start: number, end: number): void {
    const index = this.count++;
    if (index === this.start.length) {
      this.start = doubled(this.start);
      this.end = doubled(this.end);
    }
    this.start[index] = start;
    this.end[index] = end;
  }
}

/**
 * Scans the object in bytes[start..end), which may change only when it is given as another view or from an earlier start,
 * and notes kind and span of each wanted value, of equal names the last.
 * Top-level punctuation must be right; skipped values are only held to terminated strings and balanced brackets.
 */
export function scanObject(bytes: Uint8Array, start: number, end: number, fields: Fields, spans: FieldSpans): void {
  spans.reset(bytes, start, end, fields);
  let position = skipSpace(bytes, start, end);
  if (position >= end || bytes[position] !== OPEN_OBJECT) throw expected(`a JSON object`, bytes, position, end);
  position = skipSpace(bytes, position + 1, end);
  const isEmpty = position < end && bytes[position] === CLOSE_OBJECT;
  if (!isEmpty) position = scanMembers(bytes, position, end, fields, spans);
  position = skipSpace(bytes, position + 1, end);
  if (position < end) throw expected('nothing after the closing brace', bytes, position, end);
}

/** The entries of a list, or the members' values of an object, given with its brackets; reused from list to list. */
export class EntrySpans {
  count = 0;
  start = new Int32Array(16);
  end = new Int32Array(16);
  readonly #lookahead = new Lookahead();

  /** The list may lie anywhere in `bytes`, which change only when given as another view or from an earlier start. */
  scan(bytes: Uint8Array, listStart: number, listEnd: number): void {
    this.count = 0;
    this.#lookahead.attach(bytes, listStart, listEnd);
    const end = listEnd - 1;
    const isObject = bytes[listStart] === OPEN_OBJECT;
    let position = skipSpace(bytes, listStart + 1, end);
    if (position === end) return;
    for (;;) {
      if (isObject) position = this.#skipKey(bytes, position, end);
      const start = position;
      position = skipValue(bytes, start, end, this.#lookahead);
      this.#add(start, position);
      position = skipSpace(bytes, position, end);
      if (position === end) return;
      if (bytes[position] !== COMMA) throw expected("',' or the end of the list", bytes, position, end);
      position = skipSpace(bytes, position + 1, end);
    }
  }

  #skipKey(bytes: Uint8Array, start: number, end: number): number {
    if (bytes[start] !== QUOTE) throw expected('a name in quotes', bytes, start, end);
    const position = skipSpace(bytes, skipString(bytes, start, end, this.#lookahead), end);
    if (position >= end || bytes[position] !== COLON) throw expected("':' after a name", bytes, position, end);
    return skipSpace(bytes, position + 1, end);
  }

  #add(start: number, end: number): void {
    const index = this.count++;
    if (index === this.start.length) {
      this.start = doubled(this.start);
      this.end = doubled(this.end);
    }
    this.start[index] = start;
    this.end[index] = end;
  }
}

/** What a value is, by how it begins. @throws ScanError on what begins no value */
export function kindOfValue(bytes: Uint8Array, start: number, end: number): Kind {
  const kind = KIND_BY_FIRST_BYTE[bytes[start]] as Kind;
  if (kind >= Kind.number || (kind !== Kind.absent && spells(bytes, start, end, LITERALS[kind]))) return kind;
  throw expected('a value', bytes, start, end);
}

/** A quotation of at most 40 characters for messages. */
export function excerpt(bytes: Uint8Array, start: number, end: number): string {
  if (start >= end) return 'the end of the line';
  let text = '';
  let position = start;
  while (position < end && text.length <= LONGEST_EXCERPT) {
    const byte = bytes[position++];
    const isPrintable = byte >= 0x20 && byte < 0x7f;
    text += isPrintable ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`;
  }
  const isWhole = position === end && text.length <= LONGEST_EXCERPT;
  return isWhole ? text : `${text.slice(0, LONGEST_EXCERPT - 3)}...`;
}

const LONGEST_EXCERPT = 40;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** In ASCII a closing bracket is its opening bracket plus two, for both kinds. */
const CLOSE_MINUS_OPEN = 2;
/** A native search costs about as much as a loop over this many bytes. */
const NEAR = 48;

const EMPTY = Buffer.alloc(0);
const IS_STRUCTURAL = byteTable('"[]{}');
const ENDS_SCALAR = byteTable(' \t\r\n,:"[]{}');
/** Spelled out, by kind. */
const LITERALS = ['', 'null', 'true', 'false'];
const KIND_BY_FIRST_BYTE = kindTable();

function byteTable(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const character of characters) table[character.charCodeAt(0)] = 1;
  return table;
}

function kindTable(): Uint8Array {
  const table = new Uint8Array(256);
  const assign = (characters: string, kind: Kind) => {
    for (const character of characters) table[character.charCodeAt(0)] = kind;
  };
  for (const kind of [Kind.null, Kind.true, Kind.false]) assign(LITERALS[kind][0], kind);
  // NaN and Infinity are numbers here. A plus or a point is none, but the number parser has the better message.
  assign('-+.0123456789NI', Kind.number);
  assign('"', Kind.string);
  assign('[', Kind.array);
  assign('{', Kind.object);
  return table;
}

function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * array.length);
  larger.set(array);
  return larger;
}

function expected(what: string, bytes: Uint8Array, position: number, end: number): ScanError {
  return new ScanError(`expected ${what}, found ${excerpt(bytes, position, end)}`, position);
}

/**
 * Native searches over the bytes being scanned. The next position of each byte is kept until the scan has passed it,
 * so that however often it is asked for, a line is searched once per byte value.
 */
class Lookahead {
  /** Open brackets around the current position. */
  brackets = new Uint8Array(256);
  #bytes: Uint8Array = EMPTY;
  #view: Buffer = EMPTY;
  #quote = -1;
  #openList = -1;
  #closeList = -1;
  #openObject = -1;
  #closeObject = -1;
  #lineEnd = 0;

  /** What was found stays known for the next line of the same bytes, so a search never goes over them again. */
  attach(bytes: Uint8Array, start: number, end: number): void {
    const goesOn = bytes === this.#bytes && start >= this.#lineEnd;
    this.#lineEnd = end;
    if (goesOn) return;
    this.#bytes = bytes;
    this.#view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#quote = this.#openList = this.#closeList = this.#openObject = this.#closeObject = -1;
  }

  quote(position: number): number {
    if (this.#quote < position) this.#quote = this.#find(QUOTE, position);
    return this.#quote;
  }

  /** The next quote or bracket of any kind. */
  structural(position: number): number {
    if (this.#openList < position) this.#openList = this.#find(OPEN_LIST, position);
    if (this.#closeList < position) this.#closeList = this.#find(CLOSE_LIST, position);
    if (this.#openObject < position) this.#openObject = this.#find(OPEN_OBJECT, position);
    if (this.#closeObject < position) this.#closeObject = this.#find(CLOSE_OBJECT, position);
    return Math.min(this.quote(position), this.#openList, this.#closeList, this.#openObject, this.#closeObject);
  }

  #find(byte: number, position: number): number {
    const found = this.#view.indexOf(byte, position);
    return found < 0 ? this.#view.length : found;
  }
}

const LAYOUT_MEMBERS = 64;
const LAYOUT_WORDS = 16;

/**
 * The keys of the line before. Rows mostly repeat them in the same order, and comparing a key with its colon and space,
 * four bytes at a time, costs less than finding out again where it ends and whether it is wanted.
 */
class Layout {
  /** The field of the key passed last, or -1. */
  field = -1;
  #fieldsOfLayout: Fields | undefined;
  #bytes: Uint8Array = EMPTY;
  #view: DataView = new DataView(EMPTY.buffer);
  readonly #words = new Int32Array(LAYOUT_MEMBERS * LAYOUT_WORDS);
  readonly #lengths = new Uint8Array(LAYOUT_MEMBERS);
  readonly #fields = new Int32Array(LAYOUT_MEMBERS);

  attach(bytes: Uint8Array, fields: Fields): void {
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    if (fields !== this.#fieldsOfLayout) {
      this.#fieldsOfLayout = fields;
      this.#lengths.fill(0);
    }
  }

  /** The position after the key at `start` when it is the same as in the line before, else 0. */
  match(ordinal: number, start: number, end: number): number {
    const length = ordinal < LAYOUT_MEMBERS ? this.#lengths[ordinal] : 0;
    if (length === 0 || start + length > end) return 0;
    const words = this.#words;
    const view = this.#view;
    const last = start + length - 4;
    let word = ordinal * LAYOUT_WORDS;
    for (let position = start; position < last; position += 4) {
      if (view.getInt32(position, true) !== words[word++]) return 0;
    }
    // The last word may overlap the one before, so that no length needs a remainder.
    if (view.getInt32(last, true) !== words[word]) return 0;
    this.field = this.#fields[ordinal];
    return start + length;
  }

  learn(ordinal: number, start: number, end: number): void {
    if (ordinal >= LAYOUT_MEMBERS) return;
    const length = end - start;
    const fits = length >= 4 && length <= 4 * LAYOUT_WORDS;
    this.#lengths[ordinal] = fits ? length : 0;
    if (!fits) return;
    this.#fields[ordinal] = this.field;
    let word = ordinal * LAYOUT_WORDS;
    for (let position = start; position < end - 4; position += 4) {
      this.#words[word++] = this.#view.getInt32(position, true);
    }
    this.#words[word] = this.#view.getInt32(end - 4, true);
  }
}

function skipSpace(bytes: Uint8Array, position: number, end: number): number {
  while (position < end) {
    const byte = bytes[position];
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0d && byte !== 0x0a && byte !== 0x09)) break;
    position++;
  }
  return position;
}

/** Scans from the first member to the closing brace, whose position it returns. */
function scanMembers(bytes: Uint8Array, position: number, end: number, fields: Fields, spans: FieldSpans): number {
  const { lookahead, layout } = spans;
  for (let ordinal = 0; ; ordinal++) {
    const keyStart = position;
    let valueStart = layout.match(ordinal, keyStart, end);
    if (valueStart > 0) {
      valueStart = skipSpace(bytes, valueStart, end);
    } else {
      valueStart = scanKey(bytes, keyStart, end, fields, spans);
      layout.learn(ordinal, keyStart, valueStart);
    }
    const { field } = layout;
    position = skipValue(bytes, valueStart, end, lookahead);
    if (field >= 0) {
      spans.occurrences?.add(keyStart, position);
      spans.kind[field] = kindOf(bytes, valueStart, position, fields.names[field]);
      spans.start[field] = valueStart;
      spans.end[field] = position;
    }
    position = skipSpace(bytes, position, end);
    const byte = position < end ? bytes[position] : -1;
    if (byte === CLOSE_OBJECT) return position;
    if (byte !== COMMA) throw expected("',' or '}' after a value", bytes, position, end);
    position = skipSpace(bytes, position + 1, end);
  }
}

/** Scans a key and its colon, notes its field in the layout, and returns where the value starts. */
function scanKey(bytes: Uint8Array, start: number, end: number, fields: Fields, spans: FieldSpans): number {
  if (start >= end || bytes[start] !== QUOTE) throw expected('a name in quotes', bytes, start, end);
  let position = start + 1;
  while (position < end && bytes[position] !== QUOTE && bytes[position] !== BACKSLASH) position++;
  if (position < end && bytes[position] === QUOTE) {
    spans.layout.field = findPlainField(bytes, start + 1, position++, fields);
  } else {
    position = skipString(bytes, start, end, spans.lookahead);
    spans.layout.field = findEscapedField(bytes, start, position, fields);
  }
  position = skipSpace(bytes, position, end);
  if (position >= end || bytes[position] !== COLON) throw expected("':' after a name", bytes, position, end);
  return skipSpace(bytes, position + 1, end);
}

/** The first field whose name has exactly the bytes [start..end); -1 when there is none. */
function findPlainField(bytes: Uint8Array, start: number, end: number, fields: Fields): number {
  const length = end - start;
  let field = fields.firstOfLength[Math.min(length, 255)];
  while (field >= 0 && !equalBytes(fields.encoded[field], bytes, start, length)) field = fields.nextOfLength[field];
  return field;
}

function equalBytes(name: Uint8Array, bytes: Uint8Array, start: number, length: number): boolean {
  if (name.length !== length) return false;
  for (let i = 0; i < length; i++) {
    if (name[i] !== bytes[start + i]) return false;
  }
  return true;
}

/** The first field named by a key with escapes, given with its quotes. */
function findEscapedField(bytes: Uint8Array, start: number, end: number, fields: Fields): number {
  try {
    return fields.names.indexOf(JSON.parse(Buffer.from(bytes.subarray(start, end)).toString()));
  } catch {
    throw expected('a name with valid escapes', bytes, start, end);
  }
}

/** Returns the position after the value that starts at `position`. */
function skipValue(bytes: Uint8Array, position: number, end: number, lookahead: Lookahead): number {
  const first = position < end ? bytes[position] : -1;
  if (first === QUOTE) return skipString(bytes, position, end, lookahead);
  if (first === OPEN_LIST || first === OPEN_OBJECT) return skipContainer(bytes, position, end, lookahead);
  const start = position;
  while (position < end && ENDS_SCALAR[bytes[position]] === 0) position++;
  if (position === start) throw expected('a value', bytes, position, end);
  return position;
}

function skipString(bytes: Uint8Array, start: number, end: number, lookahead: Lookahead): number {
  let position = start + 1;
  for (;;) {
    // Near the last quote a loop is faster than a search; text full of escaped quotes stays in the loop.
    const near = Math.min(position + NEAR, end);
    while (position < near) {
      const byte = bytes[position++];
      if (byte === QUOTE) return position;
      if (byte === BACKSLASH) position++;
    }
    if (position >= end) throw unterminated(bytes, start, end);
    const from = position;
    position = lookahead.quote(from);
    if (position >= end) throw unterminated(bytes, start, end);
    let backslash = position;
    while (backslash > from && bytes[backslash - 1] === BACKSLASH) backslash--;
    position++;
    if (((position - 1 - backslash) & 1) === 0) return position;
  }
}

function unterminated(bytes: Uint8Array, start: number, end: number): ScanError {
  return new ScanError(`string is not terminated: ${excerpt(bytes, start, end)}`, start);
}

/** Skips a list or an object of any depth; only brackets and quotes are looked at. */
function skipContainer(bytes: Uint8Array, start: number, end: number, lookahead: Lookahead): number {
  let { brackets } = lookahead;
  brackets[0] = bytes[start];
  let depth = 1;
  let position = start + 1;
  while (position < end) {
    const near = Math.min(position + NEAR, end);
    while (position < near && IS_STRUCTURAL[bytes[position]] === 0) position++;
    if (position === near) {
      position = lookahead.structural(position);
      if (position >= end) break;
    }
    const byte = bytes[position];
    if (byte === QUOTE) {
      position = skipString(bytes, position, end, lookahead);
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (depth === brackets.length) brackets = lookahead.brackets = grown(brackets);
      brackets[depth++] = byte;
      position++;
    } else {
      const closing = brackets[--depth] + CLOSE_MINUS_OPEN;
      if (byte !== closing) throw expected(`'${String.fromCharCode(closing)}'`, bytes, position, end);
      position++;
      if (depth === 0) return position;
    }
  }
  const what = bytes[start] === OPEN_LIST ? 'list' : 'object';
  throw new ScanError(`${what} is not closed: ${excerpt(bytes, start, end)}`, start);
}

function grown(array: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(2 * array.length);
  larger.set(array);
  return larger;
}

function kindOf(bytes: Uint8Array, start: number, end: number, name: string): Kind {
  const kind = KIND_BY_FIRST_BYTE[bytes[start]] as Kind;
  if (kind >= Kind.number || (kind !== Kind.absent && spells(bytes, start, end, LITERALS[kind]))) return kind;
  throw expected(`a value of ${JSON.stringify(name)}`, bytes, start, end);
}

function spells(bytes: Uint8Array, start: number, end: number, literal: string): boolean {
  if (end - start !== literal.length) return false;
  for (let i = 0; i < literal.length; i++) {
    if (bytes[start + i] !== literal.charCodeAt(i)) return false;
  }
  return true;
}
