/** Reads torch files that lie in memory, and builds some that no library would write. */
import { readFileSync } from 'node:fs';
import { FileError } from '../../../src/errors.ts';
import type { RandomAccessFile } from '../../../src/io/random-access.ts';
import { type PickledSample, readSamples, type SampleFile } from '../../../src/io/torch/read-samples.ts';
import type { VectorRequest } from '../../../src/io/vectors.ts';

export function fixture(name: string): string {
  return new URL(`../../fixtures/torch/${name}`, import.meta.url).pathname;
}

/** What make.py has listed. */
export const WANTED: readonly VectorRequest[] = JSON.parse(readFileSync(fixture('cases.json'), 'utf8')).wanted;

export interface Read {
  readonly result: SampleFile;
  readonly samples: readonly PickledSample[];
  readonly ordinals: readonly number[];
}

export function read(bytes: Uint8Array, wanted: readonly VectorRequest[] = WANTED): Read {
  const samples: PickledSample[] = [];
  const ordinals: number[] = [];
  const result = readSamples(inMemory(bytes), wanted, (sample, ordinal) => {
    samples.push(sample);
    ordinals.push(ordinal);
  });
  return { result, samples, ordinals };
}

export function inMemory(bytes: Uint8Array): RandomAccessFile {
  return {
    name: 'memory.pt',
    byteLength: bytes.length,
    readInto(target, position) {
      // A reader that asks for what is not there has trusted a length.
      if (!(position >= 0) || position + target.length > bytes.length)
        throw new FileError(`read of ${target.length} bytes at ${position} of ${bytes.length}`);
      target.set(bytes.subarray(position, position + target.length));
    },
    close: () => {},
  };
}

export interface StoredEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly method?: number;
  readonly flags?: number;
  /** The name in the entry's own header. */
  readonly localName?: string;
  /** The size in the directory. */
  readonly byteLength?: number;
  readonly headerStart?: number;
}

/** A ZIP file of stored entries. @param wide with sizes and positions of 64 bits wherever they can be */
export function zipOf(entries: readonly StoredEntry[], wide = false): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let position = 0;
  for (const entry of entries) {
    const header = localHeader(entry);
    directory.push(directoryEntry(entry, position, wide));
    parts.push(header, Buffer.from(entry.bytes));
    position += header.length + entry.bytes.length;
  }
  const directoryLength = directory.reduce((sum, { length }) => sum + length, 0);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(wide ? 0xffff : entries.length, 10);
  end.writeUInt32LE(wide ? 0xffffffff : directoryLength, 12);
  end.writeUInt32LE(wide ? 0xffffffff : position, 16);
  const end64 = wide ? [endRecord64(entries.length, directoryLength, position)] : [];
  return Buffer.concat([...parts, ...directory, ...end64, end]);
}

function localHeader({ name, localName = name, bytes, method = 0, flags = 0 }: StoredEntry): Buffer {
  const header = Buffer.alloc(30);
  header.write('PK\x03\x04', 'latin1');
  header.writeUInt16LE(flags, 6);
  header.writeUInt16LE(method, 8);
  header.writeUInt32LE(bytes.length, 18);
  header.writeUInt32LE(bytes.length, 22);
  header.writeUInt16LE(Buffer.byteLength(localName), 26);
  return Buffer.concat([header, Buffer.from(localName)]);
}

function directoryEntry(entry: StoredEntry, position: number, wide: boolean): Buffer {
  const { name, bytes, method = 0, flags = 0, byteLength = bytes.length, headerStart = position } = entry;
  const header = Buffer.alloc(46);
  header.write('PK\x01\x02', 'latin1');
  header.writeUInt16LE(flags, 8);
  header.writeUInt16LE(method, 10);
  header.writeUInt16LE(Buffer.byteLength(name), 28);
  header.writeUInt16LE(wide ? 28 : 0, 30);
  header.writeUInt32LE(wide ? 0xffffffff : byteLength, 20);
  header.writeUInt32LE(wide ? 0xffffffff : byteLength, 24);
  header.writeUInt32LE(wide ? 0xffffffff : headerStart, 42);
  const extra = Buffer.alloc(wide ? 28 : 0);
  if (wide) {
    extra.writeUInt16LE(1, 0);
    extra.writeUInt16LE(24, 2);
    [byteLength, byteLength, headerStart].forEach((value, i) => {
      extra.writeBigUInt64LE(BigInt(value), 4 + 8 * i);
    });
  }
  return Buffer.concat([header, Buffer.from(name), extra]);
}

function endRecord64(entryCount: number, directoryLength: number, directoryStart: number): Buffer {
  const record = Buffer.alloc(56 + 20);
  record.write('PK\x06\x06', 'latin1');
  record.writeBigUInt64LE(44n, 4);
  [entryCount, entryCount, directoryLength, directoryStart].forEach((value, i) => {
    record.writeBigUInt64LE(BigInt(value), 24 + 8 * i);
  });
  record.write('PK\x06\x07', 56, 'latin1');
  record.writeBigUInt64LE(BigInt(directoryStart + directoryLength), 64);
  return record;
}

/** A torch file with this pickle. @param parts text stands for its latin1 bytes */
export function torchFile(...parts: (string | Uint8Array)[]): Buffer {
  return zipOf([{ name: 'archive/data.pkl', bytes: pickleOf(...parts) }]);
}

export function pickleOf(...parts: (string | Uint8Array)[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(part as string, 'latin1')));
}

/** BINUNICODE. */
export function text(value: string): string {
  const encoded = Buffer.from(value);
  return `X${uint32(encoded.length)}${encoded.toString('latin1')}`;
}

export function uint32(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes.toString('latin1');
}
