/** Tells formats by their first bytes; names only help where the content says nothing. */
import { InputError } from '../errors.ts';

export type SniffedFormat = 'jsonl' | 'parquet' | 'arrow' | 'torch';

/** Contents that begin with these bytes are named and refused. */
const REFUSED: readonly (readonly [magic: string | readonly number[], what: string])[] = [
  ['PARE', 'an encrypted Parquet file'],
  ['FEA1', 'a Feather V1 file; write it again as Arrow IPC (Feather V2)'],
  ['BZh', 'compressed with bzip2'],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a], 'compressed with xz'],
  [[0x37, 0x7a, 0xbc, 0xaf], 'a 7z archive'],
  [[0x04, 0x22, 0x4d, 0x18], 'compressed with lz4'],
  [[0x89, 0x48, 0x44, 0x46], 'an HDF5 file'],
  [[0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59], 'a numpy file'],
  ['SQLite format 3', 'an SQLite database'],
  ['DUCK', 'a DuckDB database'],
  ['Obj\u0001', 'an Avro file'],
  ['ORC', 'an ORC file'],
  [[0xff, 0xfe], 'text in UTF-16; JSON lines are UTF-8'],
  [[0xfe, 0xff], 'text in UTF-16; JSON lines are UTF-8'],
];

const ARROW_CONTINUATION = [0xff, 0xff, 0xff, 0xff];
const ZIP = ['PK\u0003\u0004', 'PK\u0005\u0006'];
/** Pickles of protocol 2 to 5 that are no zip archive: torch before 1.6, or Python's own. */
const PICKLE = 0x80;

/** @throws InputError on what is known and not read */
export function sniffFormat(head: Uint8Array): SniffedFormat {
  if (startsWith(head, 'PAR1')) return 'parquet';
  if (startsWith(head, 'ARROW1') || startsWith(head, ARROW_CONTINUATION)) return 'arrow';
  if (ZIP.some((magic) => startsWith(head, magic)) || (head[0] === PICKLE && head[1] >= 2 && head[1] <= 5))
    return 'torch';
  for (const [magic, what] of REFUSED) if (startsWith(head, magic)) throw new InputError(`this is ${what}`);
  return isLegacyArrowStream(head) ? 'arrow' : 'jsonl';
}

/** A length, then a flatbuffer whose root lies within it: Arrow streams before version 0.15. */
function isLegacyArrowStream(head: Uint8Array): boolean {
  if (head.length < 16) return false;
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const length = view.getUint32(0, true);
  const root = view.getUint32(4, true);
  return length >= 16 && length < 2 ** 24 && length % 8 === 4 && root >= 4 && root < 64 && head[3] === 0;
}

function startsWith(bytes: Uint8Array, magic: string | readonly number[]): boolean {
  const wanted = typeof magic === 'string' ? [...Buffer.from(magic, 'latin1')] : magic;
  return bytes.length >= wanted.length && wanted.every((byte, i) => bytes[i] === byte);
}
