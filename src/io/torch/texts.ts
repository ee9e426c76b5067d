/** Decodes the text and bytes of a pickle. */
import { isUtf8 } from 'node:buffer';
import type { ByteWindow } from './byte-window.ts';
import type { BytesValue, TextValue } from './values.ts';

/** Of the text of one value, and of the bytes of one array. */
const LONGEST_TEXT = 1 << 20;
const LONGEST_NAME = 1000;
const LONGEST_BYTES = 1 << 26;

/** @throws InputError where it is too long or no text */
export function readText(window: ByteWindow, value: TextValue): string {
  if (value.text === null) {
    if (value.byteLength > LONGEST_TEXT)
      throw window.error(`a text of ${value.byteLength} bytes is too long for a value`, value.position);
    value.text = decodeText(window.read(value.position, value.byteLength));
    if (value.text === null) throw window.error('text is not valid UTF-8', value.position);
  }
  return value.text;
}

/** Text that names something; null where it is too long for a name. */
export function readName(window: ByteWindow, value: TextValue): string | null {
  return value.byteLength <= LONGEST_NAME ? readText(window, value) : null;
}

/** The text of UTF-8 in which surrogates may stand alone, as Python writes it; null where it is none. */
export function decodeText(bytes: Uint8Array): string | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(bytes)) return buffer.toString();
  let text = '';
  let start = 0;
  for (let i = buffer.indexOf(SURROGATE_LEAD); i >= 0; i = buffer.indexOf(SURROGATE_LEAD, i + 1)) {
    if (i + 2 >= bytes.length || bytes[i + 1] < 0xa0 || (bytes[i + 2] & 0xc0) !== 0x80) continue;
    const before = buffer.subarray(start, i);
    if (!isUtf8(before)) return null;
    text += before.toString() + String.fromCharCode(0xd000 | ((bytes[i + 1] & 0x3f) << 6) | (bytes[i + 2] & 0x3f));
    start = i + 3;
  }
  const rest = buffer.subarray(start);
  return isUtf8(rest) ? text + rest.toString() : null;
}

const SURROGATE_LEAD = 0xed;

/** @throws InputError where they are too many, or spelled by a text with other characters */
export function readBytes(window: ByteWindow, value: BytesValue): Uint8Array {
  const { position, byteLength } = value.latin1 ?? value;
  if (byteLength > LONGEST_BYTES) throw window.error(`an array of ${byteLength} bytes is too long`, position);
  const stored = window.read(position, byteLength);
  if (!value.latin1) return stored;
  const text = decodeText(stored);
  const bytes = Buffer.from(text ?? '', 'latin1');
  if (bytes.toString('latin1') !== text) throw window.error('expected bytes spelled as latin1 text', position);
  return bytes;
}
