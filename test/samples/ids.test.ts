import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeText, type Id, IdCoder, NO_ID, newSharedBase } from '../../src/samples/ids.ts';
import { keyOf } from '../support/oracle.ts';

const codesOf = (...ids: Id[]) => {
  const coder = new IdCoder();
  return ids.map((id) => coder.codeOf(id));
};

/** Whether the codes tell the ids apart exactly as a Map of exact keys does. */
function agreeWithMap(ids: readonly Id[]): boolean {
  const coder = new IdCoder();
  const byKey = new Map<string, number>();
  const byCode = new Map<number, string>();
  return ids.every((id) => {
    const code = coder.codeOf(id);
    const key = keyOf(id);
    if (code === NO_ID || !Number.isInteger(code) || code < 0) return false;
    const known = byKey.get(key) ?? code;
    const owner = byCode.get(code) ?? key;
    byKey.set(key, code);
    byCode.set(code, key);
    return known === code && owner === key;
  });
}

describe('equal ids have one code', () => {
  test.each<[string, Id[]]>([
    ['a number', [7, 7]],
    ['-0 and 0', [0, -0]],
    ['-0 first', [-0, 0]],
    ['a bigint and the number', [-12n, -12]],
    ['the largest safe integer however held', [9007199254740991, 9007199254740991n]],
    ['a huge integer', [10n ** 40n, 10n ** 40n]],
    ['a string', ['7', '7']],
    ['the empty string', ['', '']],
    ['a lone surrogate', ['\ud800', '\ud800']],
    ['a string longer than 16 bytes', ['x'.repeat(17), 'x'.repeat(17)]],
    ['a string longer than a segment', ['x'.repeat(2_000_000), 'x'.repeat(2_000_000)]],
  ])('%s', (_, [one, other]) => {
    const [first, , again] = codesOf(one, 'between', other);
    expect(again).toBe(first);
  });
});

describe('different ids have different codes', () => {
  test.each<[string, Id[]]>([
    ['around 2^53', [2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 53n + 2n, -(2n ** 53n), -(2n ** 53n) - 1n]],
    ['around 2^63 and 2^64', [2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n, 2n ** 64n, -(2n ** 63n)]],
    ['the ends of the offsets', [0, 2 ** 30 - 1, 2 ** 30, -(2 ** 30), -(2 ** 30) - 1, 2 ** 31, 2 ** 32]],
    ['an integer and its digits', [7, '7', '07', '7.0', ' 7', '+7']],
    ['strings that end in zero bytes', ['a', 'a\0', 'a\0\0', '', '\0']],
    [
      'lone surrogates and the replacement character',
      ['\ud800', '\udbff', '\udc00', '\udfff', '\ufffd', '\ud800\udc00'],
    ],
    ['surrogates in the wrong order', ['\udc00\ud800', '\ud800\udc00', '\udc00\udc00']],
    ['normal forms', ['\u00e9', 'e\u0301']],
    ['long strings that differ at the end', ['x'.repeat(100_000), `${'x'.repeat(99_999)}y`, 'x'.repeat(99_999)]],
    ['a byte order mark', ['a', '\ufeffa']],
  ])('%s', (_, ids) => {
    const codes = codesOf(...ids);
    expect(new Set(codes).size).toBe(ids.length);
    expect(codes).not.toContain(NO_ID);
    expect(codesOf(...ids.toReversed()).length).toBe(new Set(codesOf(...ids.toReversed())).size);
  });
});

describe('codes agree with a Map', () => {
  const near = (centre: bigint) => fc.bigInt({ min: centre - 3n, max: centre + 3n });
  const integers = fc.oneof(
    fc.integer({ min: -5, max: 5 }),
    fc.integer(),
    fc.constantFrom(0, -0, 2 ** 30, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
    ...[0n, 2n ** 30n, -(2n ** 30n), 2n ** 31n, 2n ** 53n, -(2n ** 53n), 2n ** 53n - 2n ** 30n, 2n ** 64n].map(near),
    near(2n ** 53n - 2n ** 31n).map(Number),
    near(-(2n ** 53n) + 2n ** 30n),
    fc.bigInt(),
  );
  const strings = fc.oneof(
    fc.string({ maxLength: 3 }),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom('0', '1', '-0', '\ud800', '\udfff', '\ufffd', ''),
    fc.array(fc.constantFrom('\ud800', '\udc00', 'a'), { maxLength: 4 }).map((units) => units.join('')),
  );

  test.each<[string, fc.Arbitrary<Id>]>([
    ['integers near and far in any order', integers],
    ['strings', strings],
    ['integers and strings in one key space', fc.oneof(integers, strings)],
  ])('%s', (_, id) => {
    const ids = fc.array(id, { maxLength: 60 });
    const repeated = fc
      .tuple(ids, fc.array(fc.nat(), { maxLength: 60 }))
      .map(([some, picks]) => [
        ...some,
        ...picks.flatMap((pick) => (some.length > 0 ? [some[pick % some.length]] : [])),
      ]);
    fc.assert(
      fc.property(repeated, (many) => agreeWithMap(many)),
      { numRuns: 500 },
    );
  });

  test('through every growth of the table', () => {
    const ids = Array.from({ length: 50_000 }, (_, i): Id => (i % 2 === 0 ? `sample-${i % 20_001}` : BigInt(i) ** 5n));
    expect(agreeWithMap([...ids, ...ids])).toBe(true);
  });

  test('where huge integers stand beside strings of their digits', () => {
    const integers = Array.from({ length: 3000 }, (_, i) => 2n ** 64n + BigInt(i));
    expect(agreeWithMap(integers.flatMap((id): Id[] => [id, id.toString()]))).toBe(true);
    expect(agreeWithMap([...integers, ...integers.map((id) => id.toString()), ...integers])).toBe(true);
  });

  test('through several segments of long strings', () => {
    const ids = Array.from({ length: 200 }, (_, i) => `${i % 90}`.padEnd(40_000 + (i % 90) * 400, '.'));
    expect(agreeWithMap(ids)).toBe(true);
  });
});

describe('a column of integers', () => {
  const edges = [0n, 2n ** 30n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 53n - 2n ** 30n, 2n ** 63n - 4n];
  const near = edges.flatMap((edge) => [edge, -edge]).map((edge) => fc.bigInt({ min: edge - 3n, max: edge + 3n }));
  const ids = fc.array(fc.oneof(...near), { maxLength: 50 });

  test.each([
    ['BigInt64Array', (some: bigint[]) => BigInt64Array.from(some)],
    ['BigUint64Array', (some: bigint[]) => BigUint64Array.from(some)],
    ['Int32Array', (some: bigint[]) => Int32Array.from(some, (id) => Number(BigInt.asIntN(32, id)))],
    ['Uint32Array', (some: bigint[]) => Uint32Array.from(some, (id) => Number(BigInt.asUintN(32, id)))],
  ] as const)('as %s has the codes of its ids one by one', (_, columnOf) => {
    fc.assert(
      fc.property(ids, fc.array(fc.boolean(), { minLength: 50, maxLength: 50 }), (some, absent) => {
        const column = columnOf(some);
        const values: (number | bigint)[] = Array.from<number | bigint>(column);
        const present = Uint8Array.from(some, (_, row) => (absent[row] ? 0 : 1));
        const coder = new IdCoder();
        const oneByOne = new IdCoder();
        const expected = values.map((id, row) => (absent[row] ? NO_ID : oneByOne.codeOfInteger(id)));
        expect([...coder.codesOfIntegers(column, present)]).toEqual(expected);
        expect([...coder.codesOfIntegers(column)]).toEqual(values.map((id) => coder.codeOfInteger(id)));
        const codes = coder.codesOfIntegers(column);
        expect(Array.from(codes, (code) => coder.describe(code))).toEqual(values.map(String));
        const integers = coder.integersOf(codes);
        if (integers) expect([...integers]).toEqual(values.map(BigInt));
      }),
    );
  });
});

test('coders that share a base need no translation of integers near it', () => {
  const base = newSharedBase(null);
  const [one, other, whole] = [new IdCoder(base), new IdCoder(base), new IdCoder()];
  const codes = [one.codesOfIntegers(Int32Array.of(5, 6)), other.codesOfIntegers(Int32Array.of(900, 5))];
  expect([...codes[1]]).toEqual([codes[0][0] + 895, codes[0][0]]);
  const before = codes.map((some) => [...some]);
  whole.translate(codes[0], one.snapshot());
  whole.translate(codes[1], other.snapshot());
  expect(codes.map((some) => [...some])).toEqual(before);
  const far = new IdCoder(newSharedBase(whole.base)).codesOfIntegers(BigInt64Array.of(2n ** 40n, 5n));
  expect(far[1]).toBe(codes[0][0]);
  expect(far[0]).not.toBe(far[1]);
});

describe('describe', () => {
  test.each<[Id, string]>([
    [7, '7'],
    [-0, '0'],
    [-12, '-12'],
    [2 ** 31, '2147483648'],
    [9007199254740993n, '9007199254740993'],
    [-(10n ** 30n), '-1000000000000000000000000000000'],
    ['7', '"7"'],
    ['', '""'],
    ['a "quoted"\n', '"a \\"quoted\\"\\n"'],
    ['größe 𝄞', '"größe 𝄞"'],
    ['\ufeffa', '"\ufeffa"'],
    ['x'.repeat(70_000), `"${'x'.repeat(70_000)}"`],
  ])('shows %s as it came', (id, text) => {
    const coder = new IdCoder();
    coder.codeOf(5);
    expect(coder.describe(coder.codeOf(id))).toBe(text);
  });

  test('shows an absent id as none', () => {
    expect(new IdCoder().describe(NO_ID)).toBe('none');
  });

  test('shows any integer digit for digit', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.bigInt(), fc.bigInt({ min: -1000n, max: 1000n })), { minLength: 1 }), (ids) => {
        const coder = new IdCoder();
        const codes = ids.map((id) => coder.codeOf(id));
        return ids.every((id, i) => coder.describe(codes[i]) === id.toString());
      }),
    );
  });
});

describe('encodeText', () => {
  test('is UTF-8 for well-formed text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(encodeText(text)).toEqual(new Uint8Array(Buffer.from(text)));
      }),
    );
  });

  test('never gives two strings equal bytes', () => {
    const text = fc
      .array(fc.constantFrom('\ud800', '\udbff', '\udc00', '\udfff', '\ufffd', 'a'), { maxLength: 5 })
      .map((units) => units.join(''));
    fc.assert(
      fc.property(text, text, (one, other) => {
        expect(Buffer.from(encodeText(one)).equals(encodeText(other))).toBe(one === other);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('ids leave as they came', () => {
  test.each([
    ['a lone surrogate', '\ud800', '"\\ud800"'],
    ['another, between characters', 'é\udfffx', '"é\\udfffx"'],
    ['a pair of them', '\ud83d\ude00', '"\ud83d\ude00"'],
    ['two that are no pair', '\ude00\ud83d', '"\\ude00\\ud83d"'],
    ['the replacement character', '\ufffd', '"\ufffd"'],
    ['the last character before the surrogates', '\ud7ff', '"\ud7ff"'],
  ])('%s', (_, id, json) => {
    const coder = new IdCoder();
    const code = coder.codeOf(id);
    expect(coder.text(code)).toBe(id);
    expect(coder.describe(code)).toBe(json);
    expect(coder.describe(coder.codeOfParts([id, 1]))).toBe(`[${json}, 1]`);
  });
});
