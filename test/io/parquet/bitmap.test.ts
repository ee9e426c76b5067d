import { describe, expect, test } from 'vitest';
import { Bitmap } from '../../../src/io/parquet/bitmap.ts';
import { encodeHybrid } from '../../../src/io/parquet/encode-hybrid.ts';
import { HybridRuns, unpackBytes, unpackWords } from '../../../src/io/parquet/hybrid-runs.ts';
import { RowStarts } from '../../../src/io/parquet/row-starts.ts';
import { Random } from '../../support/random.ts';

/** Runs of every length around the sizes at which the code changes its way. */
function bits(random: Random, count: number): Uint8Array {
  const target = new Uint8Array(count);
  for (let at = 0; at < count; ) {
    const length = random.pick([1, 1, 2, 3, 7, 8, 9, 30, 31, 32, 33, 63, 64, 65, 127, 128, 300]);
    const kind = random.integer(0, 2);
    for (let i = 0; i < length && at < count; i++) target[at++] = kind === 2 ? random.integer(0, 1) : kind;
  }
  return target;
}

describe('a bitmap agrees with the bits that it was made of', () => {
  test.each([1, 2, 3, 4, 5, 6])('seed %i', (seed) => {
    const random = new Random(seed);
    const bitmap = new Bitmap();
    for (let round = 0; round < 60; round++) {
      const expected = bits(random, random.integer(1, 1500));
      const packed = new Uint8Array((expected.length + 7) >>> 3);
      expected.forEach((bit, i) => {
        packed[i >>> 3] |= bit << (i & 7);
      });
      const encoded = encodeHybrid(expected, 0, expected.length, 1);
      const ways: Record<string, () => void> = {
        'run by run': () => {
          bitmap.reset(expected.length);
          for (let at = 0; at < expected.length; ) {
            let end = at + 1;
            while (end < expected.length && expected[end] === expected[at]) end++;
            bitmap.appendRun(expected[at], end - at);
            at = end;
          }
        },
        'bit by bit': () => {
          bitmap.reset(expected.length);
          for (const bit of expected) bitmap.append(bit);
        },
        packed: () => bitmap.setPacked(packed, 0, expected.length),
        hybrid: () => bitmap.setHybrid(encoded, 0, encoded.length, expected.length, 'test'),
        'inverted twice': () => {
          bitmap.invert();
          bitmap.invert();
        },
      };
      for (const [way, fill] of Object.entries(ways)) {
        fill();
        bitmap.countOnes();
        expect(bitmap.length, way).toBe(expected.length);
        for (let at = 0, ones = 0; at <= expected.length; ones += expected[at++] ?? 0) {
          if (bitmap.rank(at) !== ones) expect(bitmap.rank(at), `${way}: rank of ${at}`).toBe(ones);
        }
      }
    }
  });
});

test('row starts are the zeros of the repetition levels', () => {
  const random = new Random(9);
  const starts = new RowStarts(2000);
  for (let round = 0; round < 300; round++) {
    const levels = bits(random, random.integer(1, 1500));
    const bytes = encodeHybrid(levels, 0, levels.length, 1);
    starts.read({ bytes, start: 0, end: bytes.length, isLegacyPacked: false }, levels.length, 'test');
    const expected = [...levels.keys()].filter((i) => levels[i] === 0);
    expect([...starts.positions.subarray(0, starts.count)]).toEqual(expected);
    const entry = random.integer(0, levels.length - 1);
    expect(starts.countUpTo(entry)).toBe(expected.filter((start) => start <= entry).length);
  }
});

test('integers of every width come back from the hybrid', () => {
  const random = new Random(5);
  for (let width = 1; width <= 20; width++) {
    const count = random.integer(1, 700);
    const values = Int32Array.from(bits(random, count), (bit) => bit * random.integer(0, 2 ** width - 1));
    const bytes = encodeHybrid(values, 0, count, width);
    const runs = new HybridRuns(bytes, 0, bytes.length, width, count, 'test');
    const decoded: number[] = [];
    while (runs.next()) {
      const words = new Int32Array(runs.count).fill(runs.value);
      if (runs.isPacked) {
        const largest = unpackWords(bytes, runs.byteOffset, bytes.length, width, words, runs.count);
        expect(largest).toBe(Math.max(...words));
        const narrow = new Uint8Array(runs.count);
        if (width <= 8) unpackBytes(bytes, runs.byteOffset, bytes.length, width, narrow, 0, runs.count);
        if (width <= 8) expect([...narrow]).toEqual([...words]);
      }
      decoded.push(...words);
    }
    expect(decoded).toEqual([...values]);
  }
});
