/** The compressed fixtures, and damage to them. */
import { readFileSync } from 'node:fs';
import type { BlockCodec } from '../../../src/io/codecs/block.ts';
import type { Random } from '../../support/random.ts';

const FOLDER = new URL('../../fixtures/compressed/', import.meta.url);

export const fixture = (name: string): Buffer => readFileSync(new URL(name, FOLDER));

interface Stored {
  readonly contents: readonly {
    readonly name: string;
    readonly unit: string;
    readonly times: number;
    readonly blocks: readonly { readonly how: string; readonly codec: BlockCodec; readonly bytes: string }[];
  }[];
  readonly xxh32: readonly { readonly length: number; readonly xxh32: number }[];
}

const stored: Stored = JSON.parse(fixture('blocks.json').toString());

export interface Block {
  /** Content, writer and codec. */
  readonly name: string;
  readonly codec: BlockCodec;
  readonly plain: Buffer;
  readonly packed: Buffer;
}

/** Blocks by the libraries that others write with. */
export const BLOCKS: readonly Block[] = stored.contents.flatMap(({ name, unit, times, blocks }) => {
  const plain = Buffer.concat(new Array(times).fill(Buffer.from(unit, 'base64')));
  return blocks.map(({ how, codec, bytes }) => ({
    name: `${name}, ${codec}, ${how}`,
    codec,
    plain,
    packed: Buffer.from(bytes, 'base64'),
  }));
});

export const CONTENTS: readonly (readonly [name: string, plain: Buffer])[] = stored.contents.map(
  ({ name, unit, times }) => [name, Buffer.concat(new Array(times).fill(Buffer.from(unit, 'base64')))],
);

export const HASHES = stored.xxh32;

export async function* inChunks(bytes: Uint8Array, size = bytes.length): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** One to three changes: bits, bytes that mean much, a piece taken out or repeated, the end cut off, bytes after it. */
export function damage(random: Random, original: Uint8Array): Uint8Array {
  let bytes = Uint8Array.from(original);
  for (let changes = random.integer(1, 3); changes > 0 && bytes.length > 0; changes--) {
    const at = random.integer(0, bytes.length - 1);
    const before = bytes.subarray(0, at);
    const kind = random.integer(0, 9);
    if (kind < 4) bytes[at] ^= 1 << random.integer(0, 7);
    else if (kind < 6) bytes[at] = random.pick([0, 1, 0x7f, 0x80, 0xff]);
    else if (kind < 7) bytes = Uint8Array.from([...before, ...bytes.subarray(at + random.integer(1, 16))]);
    else if (kind < 8) bytes = Uint8Array.from([...before, ...bytes.subarray(random.integer(0, at))]);
    else if (kind < 9) bytes = bytes.slice(0, at);
    else bytes = Uint8Array.from([...bytes, random.integer(0, 255)]);
  }
  return bytes;
}
