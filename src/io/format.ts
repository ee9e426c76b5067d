/** Tells formats by their first bytes; names only help where the content says nothing. */
import { InputError } from '../errors.ts';

export type SniffedFormat = 'jsonl' | 'parquet' | 'arrow' | 'torch';

/** Bytes from which every format here can be told. */
export const SNIFFED_BYTES = 512;

/** @throws InputError on what is known and not read */
export function sniffFormat(head: Uint8Array): SniffedFormat {
  if (holds(head, 'PAR1')) return 'parquet';
  if (holds(head, 'ARROW1') || holds(head, [0xff, 0xff, 0xff, 0xff])) return 'arrow';
  if (holds(head, 'PK\x03\x04') || holds(head, 'PK\x05\x06') || isPickle(head)) return 'torch';
  for (const [what, magic, at] of REFUSED) if (holds(head, magic, at)) throw new InputError(`this is ${what}`);
  if (isWideText(head)) throw new InputError(`this is ${WIDE_TEXT}`);
  return isLegacyArrowStream(head) ? 'arrow' : 'jsonl';
}

const WIDE_TEXT = 'text in UTF-16 or UTF-32; JSON lines are UTF-8';

/** Contents that have these bytes at their beginning, or where the number says, are named and refused. */
const REFUSED: readonly (readonly [what: string, magic: string | readonly number[], at?: number])[] = [
  ['an encrypted Parquet file', 'PARE'],
  ['a Feather V1 file; write it again as Arrow IPC (Feather V2)', 'FEA1'],
  ['compressed with gzip', [0x1f, 0x8b]],
  ['compressed with zstd', [0x28, 0xb5, 0x2f, 0xfd]],
  ['compressed with bzip2', 'BZh'],
  ['compressed with xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]],
  ['compressed with lz4', [0x04, 0x22, 0x4d, 0x18]],
  ['compressed with lz4', [0x02, 0x21, 0x4c, 0x18]],
  ['compressed with snappy', '\xff\x06\x00\x00sNaPpY'],
  ['compressed with zlib', [0x78, 0x01]],
  ['compressed with zlib', [0x78, 0x9c]],
  ['compressed with zlib', [0x78, 0xda]],
  ['a 7z archive', [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]],
  ['a RAR archive', 'Rar!\x1a'],
  ['a part of a zip archive', 'PK\x07\x08'],
  ['a tar archive', 'ustar', 257],
  ['an HDF5 file', '\x89HDF\r\n\x1a\n'],
  ['a numpy array', '\x93NUMPY'],
  ['an SQLite database', 'SQLite format 3\x00'],
  ['a DuckDB database', 'DUCK', 8],
  ['an Avro file', 'Obj\x01'],
  ['an ORC file', 'ORC'],
  ['a safetensors file', '\x00{"', 7],
  [WIDE_TEXT, [0xff, 0xfe]],
  [WIDE_TEXT, [0xfe, 0xff]],
  [WIDE_TEXT, [0x00, 0x00, 0xfe, 0xff]],
];

/** Of protocol 2 to 5 and not in a zip archive: torch before 1.6, or Python's own. */
function isPickle(head: Uint8Array): boolean {
  return head[0] === 0x80 && head[1] >= 2 && head[1] <= 5;
}

/** Wide characters without a mark of their order: a brace or a bracket beside zeros. */
function isWideText(head: Uint8Array): boolean {
  if (head.length < 4) return false;
  const first = head.findIndex((byte) => byte !== 0);
  if (first < 0 || first > 3 || (head[first] !== 0x7b && head[first] !== 0x5b)) return false;
  return first > 0 || head[1] === 0;
}

/** A length, then a flatbuffer whose root lies within it: Arrow streams before version 0.15. */
function isLegacyArrowStream(head: Uint8Array): boolean {
  if (head.length < 16) return false;
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const length = view.getUint32(0, true);
  const root = view.getUint32(4, true);
  return length >= 16 && length < 2 ** 24 && length % 8 === 4 && root >= 4 && root < 64 && head[3] === 0;
}

function holds(bytes: Uint8Array, magic: string | readonly number[], at = 0): boolean {
  if (bytes.length < at + magic.length) return false;
  for (let i = 0; i < magic.length; i++) {
    const wanted = typeof magic === 'string' ? magic.charCodeAt(i) : magic[i];
    if (bytes[at + i] !== wanted) return false;
  }
  return true;
}
