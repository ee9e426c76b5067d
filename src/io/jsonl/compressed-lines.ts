/** The plain bytes of a compressed file of lines. */
import { createReadStream } from 'node:fs';
import { gunzip } from '../codecs/gunzip.ts';
import { unzstd } from '../codecs/unzstd.ts';
import type { CompressedLinesPortion } from '../portion.ts';
import { fileError } from '../temporary-files.ts';

export function openLines({ path, name, compression }: CompressedLinesPortion): AsyncGenerator<Uint8Array> {
  const stored = storedChunks(path, name);
  return compression === 'gzip' ? gunzip(stored, name) : unzstd(stored, name);
}

const READ_SIZE = 1 << 20;

async function* storedChunks(path: string, name: string): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* createReadStream(path, { highWaterMark: READ_SIZE });
  } catch (cause) {
    throw fileError(name, 'cannot read', cause);
  }
}
