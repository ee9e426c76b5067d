/** Reads the arguments of opcodes from the window: lengths checked, integers exact. */
import type { ByteWindow } from './byte-window.ts';

const LONGEST_LINE = 4096;
/** 4,096 bits and a sign. */
const MOST_INTEGER_BYTES = 513;

export function readUint8(window: ByteWindow): number {
  window.require(1);
  return window.bytes[window.cursor++];
}

export function readUint16(window: ByteWindow): number {
  window.require(2);
  const value = window.view.getUint16(window.cursor, true);
  window.cursor += 2;
  return value;
}

export function readUint32(window: ByteWindow): number {
  window.require(4);
  const value = window.view.getUint32(window.cursor, true);
  window.cursor += 4;
  return value;
}

export function readInt32(window: ByteWindow): number {
  window.require(4);
  const value = window.view.getInt32(window.cursor, true);
  window.cursor += 4;
  return value;
}

export function readFloat64(window: ByteWindow): number {
  window.require(8);
  const value = window.view.getFloat64(window.cursor, false);
  window.cursor += 8;
  return value;
}

/** A length of 1, 4 or 8 bytes, known not to lead out of the pickle; the cursor is on the first byte counted by it. */
export function readLength(window: ByteWindow, lengthBytes: 1 | 4 | 8): number {
  if (lengthBytes < 8) return checked(window, lengthBytes === 1 ? readUint8(window) : readUint32(window));
  const low = readUint32(window);
  return checked(window, readUint32(window) * 2 ** 32 + low);
}

function checked(window: ByteWindow, length: number): number {
  const left = window.byteLength - window.position;
  if (length > left) throw window.error(`is cut off: a value of ${length} bytes should follow, there are ${left}`);
  return length;
}

/** An integer in little-endian two's complement; a bigint past 2^53 - 1. */
export function readLong(window: ByteWindow, lengthBytes: 1 | 4): number | bigint {
  const length = readLength(window, lengthBytes);
  if (length > MOST_INTEGER_BYTES) throw window.error(`holds an integer of ${length} bytes, more than 4,096 bits`);
  window.require(length);
  const start = window.cursor;
  window.cursor += length;
  return decodeLong(window.bytes, start, length);
}

/** The integer in bytes[start .. start + length). */
export function decodeLong(bytes: Uint8Array, start: number, length: number): number | bigint {
  if (length === 0) return 0;
  let digits = '0x';
  for (let i = start + length - 1; i >= start; i--) digits += bytes[i].toString(16).padStart(2, '0');
  const unsigned = BigInt(digits);
  const isNegative = bytes[start + length - 1] >= 0x80;
  return smallest(isNegative ? unsigned - (1n << BigInt(8 * length)) : unsigned);
}

/** A number where that is exact. */
export function smallest(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Text up to a line feed, as the arguments of GLOBAL, GET and PUT are stored. */
export function readLine(window: ByteWindow): string {
  for (let length = 0; length <= LONGEST_LINE; length++) {
    window.require(length + 1);
    if (window.bytes[window.cursor + length] !== 0x0a) continue;
    const text = Buffer.from(window.bytes.subarray(window.cursor, window.cursor + length)).toString();
    window.cursor += length + 1;
    return text;
  }
  throw window.error(`expected a line of at most ${LONGEST_LINE} bytes`);
}

/** A memo index written in decimal. */
export function readDecimalLine(window: ByteWindow): number {
  const text = readLine(window);
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw window.error(`expected a memo index, found ${JSON.stringify(text.slice(0, 40))}`);
  return value;
}
