/** Decodes numbers of torch storages and numpy arrays. */
import { smallest } from './arguments.ts';
import type { ByteWindow } from './byte-window.ts';
import { readBytes } from './texts.ts';
import { type DtypeValue, FloatValue, type NumpyScalarValue, type PickleValue } from './values.ts';

export interface ElementType {
  readonly byteLength: number;
  /** The exact value; a FloatValue only for what is no whole number's type. */
  readonly read: (view: DataView, offset: number, littleEndian: boolean) => number | bigint | boolean;
  readonly isFloat: boolean;
}

function integers(byteLength: number, read: ElementType['read']): ElementType {
  return { byteLength, read, isFloat: false };
}

function floats(byteLength: number, read: ElementType['read']): ElementType {
  return { byteLength, read, isFloat: true };
}

/** By numpy's codes, with a code of our own for bfloat16. */
const TYPES: Readonly<Record<string, ElementType>> = {
  b1: integers(1, (view, offset) => view.getUint8(offset) !== 0),
  i1: integers(1, (view, offset) => view.getInt8(offset)),
  u1: integers(1, (view, offset) => view.getUint8(offset)),
  i2: integers(2, (view, offset, little) => view.getInt16(offset, little)),
  u2: integers(2, (view, offset, little) => view.getUint16(offset, little)),
  i4: integers(4, (view, offset, little) => view.getInt32(offset, little)),
  u4: integers(4, (view, offset, little) => view.getUint32(offset, little)),
  i8: integers(8, (view, offset, little) => smallest(view.getBigInt64(offset, little))),
  u8: integers(8, (view, offset, little) => smallest(view.getBigUint64(offset, little))),
  f2: floats(2, (view, offset, little) => decodeHalf(view.getUint16(offset, little))),
  f4: floats(4, (view, offset, little) => view.getFloat32(offset, little)),
  f8: floats(8, (view, offset, little) => view.getFloat64(offset, little)),
  bfloat16: floats(2, (view, offset, little) => decodeBfloat(view.getUint16(offset, little))),
};

const STORAGE_CODES: Readonly<Record<string, string>> = {
  ...{ BoolStorage: 'b1', ByteStorage: 'u1', CharStorage: 'i1', ShortStorage: 'i2', IntStorage: 'i4' },
  ...{ LongStorage: 'i8', HalfStorage: 'f2', BFloat16Storage: 'bfloat16', FloatStorage: 'f4', DoubleStorage: 'f8' },
};

/** undefined: such elements are not read. */
export function elementsOfStorage(storageType: string): ElementType | undefined {
  return Object.hasOwn(STORAGE_CODES, storageType) ? TYPES[STORAGE_CODES[storageType]] : undefined;
}

export function elementsOfDtype({ code }: DtypeValue): ElementType | undefined {
  return Object.hasOwn(TYPES, code) && code !== 'bfloat16' ? TYPES[code] : undefined;
}

/** The number of a numpy scalar; the scalar itself where it is of a type that is not read. */
export function scalarOf(window: ByteWindow, scalar: NumpyScalarValue): PickleValue {
  const type = elementsOfDtype(scalar.dtype);
  if (!type) return scalar;
  const { position, byteLength } = scalar.bytes;
  // A byte takes at most two bytes of text.
  const bytes = byteLength <= 2 * type.byteLength ? readBytes(window, scalar.bytes) : null;
  if (bytes?.length !== type.byteLength)
    throw window.error(`numpy scalar of ${scalar.dtype.code} has ${bytes?.length ?? byteLength} bytes`, position);
  return readElement(bytes, 0, type, !scalar.dtype.isBigEndian);
}

/** An element as a value of a pickle. */
export function readElement(bytes: Uint8Array, offset: number, type: ElementType, littleEndian: boolean): PickleValue {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const value = type.read(view, offset, littleEndian);
  return type.isFloat ? new FloatValue(Number(value)) : value;
}

function decodeHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (0x400 + fraction) * 2 ** (exponent - 25));
}

const bfloatWord = new Uint32Array(1);
const bfloatValue = new Float32Array(bfloatWord.buffer);

/** The upper half of a binary32. */
function decodeBfloat(bits: number): number {
  bfloatWord[0] = bits << 16;
  return bfloatValue[0];
}
