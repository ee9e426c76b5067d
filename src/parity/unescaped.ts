/** The characters of JSON strings, whichever are escaped, as bytes: those that are no UTF-8 stay apart. */
import { isUtf8 } from 'node:buffer';

/** Whether two strings, given without their quotes, are the same text. */
export function sameText(a: Buffer, b: Buffer): boolean {
  if (a.equals(b)) return true;
  if (!a.includes(BACKSLASH) && !b.includes(BACKSLASH)) return false;
  const [ours, theirs] = [new Unescaped(a), new Unescaped(b)];
  for (;;) {
    const code = ours.next();
    if (code !== theirs.next()) return false;
    if (code === END) return true;
  }
}

/** A text that two strings, given without their quotes, share only where they are the same: a character for each byte. */
export function exactText(string: Buffer): string {
  if (!string.includes(BACKSLASH)) return string.toString('latin1');
  const codes = new Unescaped(string);
  let text = '';
  for (let code = codes.next(); code !== END; code = codes.next()) text += String.fromCodePoint(code);
  return text;
}

/** What exactText() gives for a string of these characters. */
export function exactTextOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** The text of an exact one; where it is not UTF-8, as it would have to be escaped. */
export function shownText(exact: string): string {
  const bytes = Buffer.from(exact, 'latin1');
  const isText = isUtf8(bytes) && bytes.toString('latin1') === exact;
  return isText ? bytes.toString() : exact.replaceAll(OTHER_THAN_ASCII, escaped);
}

const OTHER_THAN_ASCII = /[^\0-\x7f]/gu;

function escaped(character: string): string {
  const code = character.codePointAt(0)!;
  return code < LONE ? `\\x${code.toString(16)}` : `\\u${(code % LONE).toString(16)}`;
}

const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const END = -1;
/** Added to what no byte stands for: half of a surrogate pair, and an escape that JSON does not know. */
const LONE = 0x10000;
const UNKNOWN = 0x20000;
const ESCAPES = new Map([...'"\\/'].map((character) => [character.charCodeAt(0), character.charCodeAt(0)]));
for (const [letter, code] of Object.entries({ b: 8, t: 9, n: 10, f: 12, r: 13 }))
  ESCAPES.set(letter.charCodeAt(0), code);

class Unescaped {
  readonly #bytes: Buffer;
  #position = 0;
  /** Bytes of an escaped character that are still to come. */
  #pending: Buffer = NOTHING;
  #taken = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The next byte, what no byte stands for, or END. */
  next(): number {
    if (this.#taken < this.#pending.length) return this.#pending[this.#taken++];
    if (this.#position >= this.#bytes.length) return END;
    const byte = this.#bytes[this.#position++];
    return byte === BACKSLASH ? this.#escape() : byte;
  }

  #escape(): number {
    const letter = this.#bytes[this.#position];
    if (letter !== LETTER_U) {
      const code = ESCAPES.get(letter);
      if (code === undefined) return UNKNOWN;
      this.#position++;
      return code;
    }
    const unit = this.#unitAt(this.#position + 1);
    if (unit < 0) return UNKNOWN;
    this.#position += UNIT_LENGTH;
    if (unit < 0x80) return unit;
    if (!isSurrogate(unit)) return this.#characters(String.fromCharCode(unit));
    const low = this.#lowSurrogate();
    if (unit >= FIRST_LOW || low < 0) return LONE + unit;
    this.#position += UNIT_LENGTH + 1;
    return this.#characters(String.fromCharCode(unit, low));
  }

  #characters(text: string): number {
    this.#pending = Buffer.from(text);
    this.#taken = 1;
    return this.#pending[0];
  }

  /** That of an escape that follows at once; else -1. */
  #lowSurrogate(): number {
    const at = this.#position;
    if (this.#bytes[at] !== BACKSLASH || this.#bytes[at + 1] !== LETTER_U) return -1;
    const unit = this.#unitAt(at + 2);
    return unit >= FIRST_LOW && isSurrogate(unit) ? unit : -1;
  }

  #unitAt(start: number): number {
    const digits = this.#bytes.toString('latin1', start, start + 4);
    return /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : -1;
  }
}

const NOTHING = Buffer.alloc(0);
/** Of the letter and its four digits. */
const UNIT_LENGTH = 5;
const FIRST_LOW = 0xdc00;

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xe000;
}
