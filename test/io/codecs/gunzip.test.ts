import { expect, test } from 'vitest';
import { gunzip } from '../../../src/io/codecs/gunzip.ts';
import { fixture, inChunks } from './support.ts';

test.each(['rows.jsonl.gz', 'members.jsonl.gz'])('%s of another writer is read, wherever it is cut', async (name) => {
  for (const size of [1, 7, 100, 1 << 20]) {
    const pieces: Buffer[] = [];
    for await (const piece of gunzip(inChunks(fixture(name), size), name)) pieces.push(Buffer.from(piece));
    expect(Buffer.concat(pieces).equals(fixture('rows.jsonl'))).toBe(true);
  }
});
