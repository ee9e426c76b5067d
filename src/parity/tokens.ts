/** The tokens of a JSON value in its bytes, one at a time and at any depth. */

export class Tokens {
  readonly bytes: Buffer;
  /** The current token is bytes[start..end). */
  start = 0;
  end = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get first(): number {
    return this.bytes[this.start];
  }

  /** A number, a literal, or what is neither. */
  get isScalar(): boolean {
    return ENDS_SCALAR[this.first] === 0;
  }

  text(): string {
    return this.bytes.toString('latin1', this.start, this.end);
  }

  /** False at the end. */
  next(): boolean {
    const { bytes } = this;
    let position = this.end;
    while (position < bytes.length && IS_SPACE[bytes[position]] === 1) position++;
    this.start = position;
    if (position >= bytes.length) return false;
    if (bytes[position] === QUOTE) this.end = endOfString(bytes, position);
    else if (ENDS_SCALAR[bytes[position]] === 1) this.end = position + 1;
    else {
      while (position < bytes.length && ENDS_SCALAR[bytes[position]] === 0) position++;
      this.end = position;
    }
    return true;
  }

  /** Goes on from the current token to the brace that closes the innermost object around it, which began at `start`. */
  closeObject(start: number): void {
    if (start === 0) {
      this.end = this.bytes.lastIndexOf(CLOSE_OBJECT) + 1; // the object is the whole value
      return;
    }
    let left = 1;
    do {
      if (this.first === OPEN_OBJECT) left++;
      else if (this.first === CLOSE_OBJECT) left--;
    } while (left > 0 && this.next());
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const IS_SPACE = byteTable(' \t\r\n');
const ENDS_SCALAR = byteTable(' \t\r\n,:"[]{}');

function byteTable(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const character of characters) table[character.charCodeAt(0)] = 1;
  return table;
}

function endOfString(bytes: Buffer, start: number): number {
  for (let quote = bytes.indexOf(QUOTE, start + 1); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let backslash = quote;
    while (bytes[backslash - 1] === BACKSLASH) backslash--;
    if ((quote - backslash) % 2 === 0) return quote + 1;
  }
  return bytes.length;
}
