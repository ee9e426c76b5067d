/** The encodings of values, by the numbers that the format gives them. */

export const Encoding = {
  plain: 0,
  plainDictionary: 2,
  runLength: 3,
  bitPacked: 4,
  deltaBinaryPacked: 5,
  deltaLengthByteArray: 6,
  deltaByteArray: 7,
  dictionary: 8,
  byteStreamSplit: 9,
} as const;

const NAMES = [
  'PLAIN',
  'GROUP_VAR_INT',
  'PLAIN_DICTIONARY',
  'RLE',
  'BIT_PACKED',
  'DELTA_BINARY_PACKED',
  'DELTA_LENGTH_BYTE_ARRAY',
  'DELTA_BYTE_ARRAY',
  'RLE_DICTIONARY',
  'BYTE_STREAM_SPLIT',
];

/** As the format's documentation spells it. */
export function encodingName(encoding: number): string {
  return NAMES[encoding] ?? String(encoding);
}

export function isDictionaryEncoding(encoding: number): boolean {
  return encoding === Encoding.plainDictionary || encoding === Encoding.dictionary;
}
