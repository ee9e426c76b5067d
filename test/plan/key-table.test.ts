import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codeTableFor, scatterBits } from '../../src/plan/code-table.ts';
import { KeyTable } from '../../src/plan/key-table.ts';
import { NO_ID } from '../../src/samples/ids.ts';
import { Random } from '../support/random.ts';

/** Puts the keys of one group after the other into one table and into a fresh Map per group. */
function expectAgreement(groups: readonly (readonly number[])[]): void {
  const table = new KeyTable();
  for (const [group, keys] of groups.entries()) {
    table.begin(keys.length);
    const model = new Map<number, number>();
    for (const [value, key] of keys.entries()) {
      if (!model.has(key)) model.set(key, value);
      expect(table.findOrAdd(key, value), `group ${group}, key ${key}`).toBe(model.get(key));
    }
  }
}

const twice = (keys: readonly number[]) => [...keys, ...keys];
const range = (count: number, step = 1) => Array.from({ length: count }, (_, i) => (i * step) % NO_ID);

test('gives a key the value that it was first met with, and forgets it in the next group', () => {
  const table = new KeyTable();
  expect([table.findOrAdd(5, 0), table.findOrAdd(5, 1), table.findOrAdd(6, 2)]).toEqual([0, 0, 2]);
  table.begin(3);
  expect([table.findOrAdd(6, 3), table.findOrAdd(5, 4), table.findOrAdd(6, 5)]).toEqual([3, 4, 3]);
});

test.each([7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 20_000])(
  'widens for %i keys and still finds every one',
  (count) => {
    expectAgreement([twice(range(count)), twice(range(count, 65_536)), twice(range(count, 7))]);
  },
);

test('a small group after a giant meets nothing of it', () => {
  expectAgreement([twice(range(10_000)), [1, 2, 3, 1], twice(range(9)), [9999, 9999], twice(range(300)), [0]]);
});

test('a second giant widens into the room of the first', () => {
  expectAgreement([twice(range(5000)), [1], twice(range(5000, 3)), twice(range(12_000, 11)), [4, 4]]);
});

test('keys that fall into one slot are told apart', () => {
  const colliding: number[] = [];
  for (let key = 0; colliding.length < 200; key++) if ((scatterBits(key) & 1023) === 5) colliding.push(key);
  expectAgreement([twice(colliding), twice(colliding.toReversed())]);
});

test('agrees with a Map for any groups of any keys', () => {
  const near = fc.nat(40);
  const far = fc.integer({ min: 0, max: NO_ID - 1 });
  const group = fc.oneof(fc.array(near, { maxLength: 100 }), fc.array(far, { maxLength: 100 }));
  fc.assert(
    fc.property(fc.array(group, { maxLength: 12 }), (groups) => expectAgreement(groups.map(twice))),
    { numRuns: 200 },
  );
});

test.each<[string, (random: Random) => number]>([
  ['near codes', (random) => 3_000_000_000 + random.integer(0, 2000)],
  ['far codes', (random) => Math.floor(random.next() * NO_ID)],
])('a code table holds what was set, -1 otherwise: %s', (_, codeOf) => {
  const random = new Random(2);
  const codes = Uint32Array.from({ length: 5000 }, () => codeOf(random));
  const table = codeTableFor(codes, NO_ID);
  const model = new Map<number, number>();
  for (const [value, code] of codes.entries()) {
    expect(table.get(code)).toBe(model.get(code) ?? -1);
    if (random.chance(0.7)) {
      table.set(code, value);
      model.set(code, value);
    }
  }
  for (const code of codes) expect(table.get(code)).toBe(model.get(code) ?? -1);
});
