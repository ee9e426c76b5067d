import { expect, test } from 'vitest';
import { InputError } from '../../src/errors.ts';
import { sniffFormat } from '../../src/io/format.ts';

const bytes = (text: string) => Buffer.from(text, 'latin1');

test.each([
  ['PAR1....', 'parquet'],
  ['ARROW1\0\0', 'arrow'],
  ['\xff\xff\xff\xff\x10\0\0\0', 'arrow'],
  ['\x94\0\0\0\x10\0\0\0\0\0\x0a\0\x0c\0\x06\0\x05\0', 'arrow'],
  ['PK\x03\x04....', 'torch'],
  ['PK\x05\x06....', 'torch'],
  ['\x80\x02\x8a\x0a', 'torch'],
  ['{"reward": 1}', 'jsonl'],
  ['\xef\xbb\xbf{"reward": 1}', 'jsonl'],
  ['', 'jsonl'],
  ['no rows at all', 'jsonl'],
  ['\n\n  {"reward": 1}', 'jsonl'],
  ['[1]', 'jsonl'],
  ['{', 'jsonl'],
  ['\x80\x04\x95', 'torch'],
])('content that begins with %j is %s', (head, format) => {
  expect(sniffFormat(bytes(head))).toBe(format);
});

test.each([
  ['PARE....', 'encrypted Parquet'],
  ['FEA1....', 'Feather V1'],
  ['BZh9....', 'bzip2'],
  ['\xfd7zXZ\0..', 'xz'],
  ['\x89HDF\r\n\x1a\n', 'HDF5'],
  ['\x93NUMPY\x01\0', 'numpy'],
  ['SQLite format 3\0', 'SQLite'],
  ['\xff\xfe{\0', 'UTF-16'],
  ['\xfe\xff\0{', 'UTF-16'],
  ['\xff\xfe\0\0{\0\0\0', 'UTF-32'],
  ['\0\0\xfe\xff\0\0\0{', 'UTF-32'],
  ['{\0"\0', 'UTF-16'],
  ['\0{\0"', 'UTF-16'],
  ['\0\0\0[', 'UTF-32'],
  ['\x1f\x8b\x08\0', 'compressed with gzip'],
  ['(\xb5/\xfd\x04', 'compressed with zstd'],
  ['\x04"M\x18..', 'compressed with lz4'],
  ['\xff\x06\0\0sNaPpY', 'compressed with snappy'],
  ['x\x9c..', 'compressed with zlib'],
  ["7z\xbc\xaf'\x1c", '7z archive'],
  ['PK\x07\x08....', 'a part of a zip archive'],
  [`${'\0'.repeat(257)}ustar\0`, 'a tar archive'],
  ['12345678DUCK', 'a DuckDB database'],
  ['Obj\x01....', 'Avro'],
  ['ORC....', 'ORC'],
  ['\x60\0\0\0\0\0\0\0{"__metadata__"', 'safetensors'],
])('content that begins with %j is refused as %s', (head, what) => {
  expect(() => sniffFormat(bytes(head))).toThrow(InputError);
  expect(() => sniffFormat(bytes(head))).toThrow(what);
});
