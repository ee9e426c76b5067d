/** Writes a row's own bytes back with fields added before its last brace, and old members of the same names removed. */

/** Output bytes collected until they are worth writing. */
export class LineBuffer {
  length = 0;
  #storage: Buffer;

  constructor(capacity = 1 << 16) {
    this.#storage = Buffer.allocUnsafeSlow(capacity);
  }

  /** What was appended; valid until the next append or clear. */
  get bytes(): Uint8Array {
    return this.#storage.subarray(0, this.length);
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    if (end <= start) return;
    this.#reserve(end - start);
    // set() copies faster than a loop only when the span is worth the view that it needs.
    if (end - start > SHORT_COPY) {
      this.#storage.set(bytes.subarray(start, end), this.length);
      this.length += end - start;
    } else {
      const storage = this.#storage;
      const shift = this.length - start;
      for (let i = start; i < end; i++) storage[i + shift] = bytes[i];
      this.length += end - start;
    }
  }

  appendText(text: string): void {
    this.#reserve(3 * text.length);
    this.length += this.#storage.write(text, this.length);
  }

  appendByte(byte: number): void {
    this.#reserve(1);
    this.#storage[this.length++] = byte;
  }

  clear(): void {
    this.length = 0;
  }

  /** What was appended, for good: the memory is the receiver's, who may give it to another thread. */
  take(): Uint8Array {
    const taken = this.bytes;
    this.#storage = Buffer.allocUnsafeSlow(this.#storage.length);
    this.length = 0;
    return taken;
  }

  #reserve(byteLength: number): void {
    const needed = this.length + byteLength;
    if (needed <= this.#storage.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#storage.length, needed));
    larger.set(this.#storage.subarray(0, this.length));
    this.#storage = larger;
  }
}

/** Members to leave out, in line order: spans from the key's quote to the value's end, as scanObject records them. */
export interface Members {
  readonly occurrenceCount: number;
  readonly occurrenceStart: Int32Array;
  readonly occurrenceEnd: Int32Array;
}

/** Prepares `"name": value` text for rows that all get the same names. The values are spelled already. */
export function compileSuffix(names: readonly string[]): (values: readonly string[]) => string {
  const prefixes = names.map((name, i) => `${i > 0 ? ', ' : ''}${JSON.stringify(name)}: `);
  return (values) => {
    let text = '';
    for (let i = 0; i < prefixes.length; i++) text += prefixes[i] + values[i];
    return text;
  };
}

/** The shortest decimal that parses as binary64 to exactly `x`; null for what JSON has no number for. */
export function spellNumber(x: number): string {
  if (!Number.isFinite(x)) return 'null';
  // Without an exponent a parser may take a large number for an exact integer, which it is not.
  if (Number.isInteger(x) && !Number.isSafeInteger(x)) return x.toExponential();
  return Object.is(x, -0) ? '-0' : String(x);
}

/**
 * Appends the row in bytes[start..end) with `suffix` before its closing brace, and a line feed. The row must have passed
 * scanObject: then the brace is the last byte that is not white space, and no scan is needed to find it.
 */
export function augmentLine(
  bytes: Uint8Array,
  start: number,
  end: number,
  suffix: string,
  out: LineBuffer,
  removed: Members = NO_MEMBERS,
): void {
  const brace = lastNonSpace(bytes, end - 1);
  // The byte before the brace of an object with members is never an opening brace.
  let isEmpty = bytes[lastNonSpace(bytes, brace - 1)] === OPEN_OBJECT;
  if (removed.occurrenceCount === 0) {
    out.append(bytes, start, brace);
  } else {
    isEmpty = appendWithoutMembers(bytes, start, brace, out, removed);
  }
  if (suffix !== '') out.appendText(isEmpty ? suffix : `, ${suffix}`);
  out.append(bytes, brace, end);
  out.appendByte(LINE_FEED);
}

const LINE_FEED = 0x0a;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const SHORT_COPY = 64;
const NO_MEMBERS: Members = {
  occurrenceCount: 0,
  occurrenceStart: new Int32Array(0),
  occurrenceEnd: new Int32Array(0),
};

/** Copies [start..brace) less the removed members and their commas; returns whether no member is left. */
function appendWithoutMembers(
  bytes: Uint8Array,
  start: number,
  brace: number,
  out: LineBuffer,
  { occurrenceCount, occurrenceStart, occurrenceEnd }: Members,
): boolean {
  let copied = start;
  let isEmpty = false;
  for (let i = 0; i < occurrenceCount; i++) {
    const runStart = occurrenceStart[i];
    let next = firstNonSpace(bytes, occurrenceEnd[i]);
    // Neighbours go as one run, so that the comma before a run at the end is found in the text that stays.
    while (
      bytes[next] === COMMA &&
      i + 1 < occurrenceCount &&
      firstNonSpace(bytes, next + 1) === occurrenceStart[i + 1]
    ) {
      i++;
      next = firstNonSpace(bytes, occurrenceEnd[i]);
    }
    if (bytes[next] === COMMA) {
      out.append(bytes, copied, runStart);
      copied = firstNonSpace(bytes, next + 1);
    } else {
      const before = lastNonSpace(bytes, runStart - 1);
      isEmpty = bytes[before] === OPEN_OBJECT;
      out.append(bytes, copied, isEmpty ? runStart : before);
      copied = occurrenceEnd[i];
    }
  }
  out.append(bytes, copied, brace);
  return isEmpty;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

function firstNonSpace(bytes: Uint8Array, position: number): number {
  while (isSpace(bytes[position])) position++;
  return position;
}

function lastNonSpace(bytes: Uint8Array, position: number): number {
  while (isSpace(bytes[position])) position--;
  return position;
}
