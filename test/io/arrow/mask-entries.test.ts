import { expect, test } from 'vitest';
import { entryCounter } from '../../../src/io/arrow/mask-entries.ts';
import type { ArrowField } from '../../../src/io/arrow/schema.ts';
import { TypeId } from '../../../src/io/arrow/slots.ts';
import { Random } from '../../support/random.ts';
import { batch, int, list, schema, stream } from './handmade.ts';
import { readColumn } from './support.ts';

const none = new Uint8Array(0);
const HALF_ONE = 0x3c00;

type Pack = (entries: readonly number[]) => ArrayBufferView;

/** The types that can spell 0 and 1, and how their entries lie in memory. */
const TYPES: readonly (readonly [string, TypeId, number, boolean, Pack])[] = [
  ['bool', TypeId.bool, 0, false, packed],
  ['int8', TypeId.int, 8, true, (entries) => Int8Array.from(entries)],
  ['uint8', TypeId.int, 8, false, (entries) => Uint8Array.from(entries)],
  ['int16', TypeId.int, 16, true, (entries) => Int16Array.from(entries)],
  ['uint16', TypeId.int, 16, false, (entries) => Uint16Array.from(entries)],
  ['int32', TypeId.int, 32, true, (entries) => Int32Array.from(entries)],
  ['uint32', TypeId.int, 32, false, (entries) => Uint32Array.from(entries)],
  ['int64', TypeId.int, 64, true, (entries) => BigInt64Array.from(entries, BigInt)],
  ['uint64', TypeId.int, 64, false, (entries) => BigUint64Array.from(entries, BigInt)],
  ['float16', TypeId.float, 16, false, (entries) => Uint16Array.from(entries, (entry) => entry * HALF_ONE)],
  ['float32', TypeId.float, 32, false, (entries) => Float32Array.from(entries)],
  ['float64', TypeId.float, 64, false, (entries) => Float64Array.from(entries)],
];

function packed(entries: readonly number[]): Uint8Array {
  const bits = new Uint8Array(Math.ceil(entries.length / 8));
  for (const [i, entry] of entries.entries()) bits[i >>> 3] |= entry << (i & 7);
  return bits;
}

function counterOf(typeId: TypeId, bits: number, isSigned: boolean) {
  const parameters = { bits, isSigned, size: 0, isDense: false, detail: '' };
  const field: ArrowField = {
    name: 'item',
    typeId,
    parameters,
    children: [],
    dictionary: null,
    nodeIndex: 0,
    bufferIndex: 0,
    viewIndex: 0,
  };
  const counter = entryCounter(field);
  if (counter === null) throw new Error('no counter');
  return counter;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView) => new Uint8Array(buffer, byteOffset, byteLength);

test.each(TYPES)('%s: any range counts as entry by entry', (_, typeId, bits, isSigned, pack) => {
  const random = new Random(bits + (isSigned ? 1 : 0));
  // Odd, so that the last word is not whole; long enough for the sums of a word's bytes to be carried over.
  const entries = Array.from({ length: 3003 }, () => (random.chance(0.9) ? 1 : 0));
  const counter = counterOf(typeId, bits, isSigned);
  counter.load(bytesOf(pack(entries)));
  const check = (from: number, to: number) => {
    const expected = entries.slice(from, to).filter((entry) => entry === 1).length;
    if (counter.count(from, to) !== expected)
      throw new Error(`[${from}..${to}): ${counter.count(from, to)}, not ${expected}`);
  };
  for (let from = 0; from < 40; from++) for (let to = from; to < 80; to++) check(from, to);
  for (let i = 0; i < 300; i++) {
    const from = random.integer(0, entries.length);
    check(from, random.integer(from, entries.length));
  }
  check(0, entries.length);
});

test.each(TYPES.filter(([name]) => name !== 'bool'))(
  '%s: a 2 is found wherever it is, and only inside',
  (_, typeId, bits, isSigned, pack) => {
    const counter = counterOf(typeId, bits, isSigned);
    for (let at = 0; at < 24; at++) {
      const entries = Array.from({ length: 24 }, (_, i) =>
        i === at ? (bits === 16 && typeId === TypeId.float ? 0.5 : 2) : 1,
      );
      counter.load(bytesOf(pack(entries)));
      for (let from = 0; from <= 24; from++) {
        for (let to = from; to <= 24; to++) {
          const isInside = from <= at && at < to;
          expect(counter.count(from, to)).toBe(isInside ? -1 : to - from);
        }
      }
      expect(counter.isValid(at)).toBe(false);
    }
  },
);

test('lists that reach over the pieces that are read', async () => {
  const length = 5_000_000;
  const entries = Int8Array.from({ length }, (_, i) => (i % 3 === 0 ? 1 : 0));
  const ends = [0, 1, 1_048_575, 1_048_577, 4_999_999, length];
  const rowCount = ends.length - 1;
  const buffers = [none, Int32Array.from(ends), none, entries];
  const bytes = stream(
    schema([list('m', TypeId.list, int('item', 8))]),
    batch({ rowCount, nodes: [rowCount, 0, length, 0], buffers }),
  );
  const thirds = (end: number) => Math.ceil(end / 3);
  expect(await readColumn(bytes, { path: ['m'], as: 'mask' })).toEqual(
    Array.from({ length: rowCount }, (_, i) => [thirds(ends[i + 1]) - thirds(ends[i]), ends[i + 1] - ends[i]]),
  );
});
