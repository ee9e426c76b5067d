import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ScanError } from '../../../src/io/jsonl/scan.ts';
import {
  countOnes,
  decodeString,
  needsDecoding,
  parseInteger,
  parseNumber,
  wholeNumber,
} from '../../../src/io/jsonl/values.ts';

type Parse<T> = (bytes: Uint8Array, start: number, end: number) => T;

/** Parses the text from the middle of other bytes, so that reading past the span shows. */
function parse<T>(parser: Parse<T>, text: string, surroundings = '0'): T {
  const bytes = Buffer.from(surroundings + text + surroundings);
  return parser(bytes, surroundings.length, bytes.length - surroundings.length);
}

const NOT_NUMBERS = [
  ...['', '-', '+1', '01', '-01', '00', '1.', '.5', '-.5', '1.e3', '1e', '1e+', '1e-', '0x1', '1_0', ' 1', '1 '],
  ...['nan', 'NAN', '-NaN', 'inf', '+Infinity', 'infinity', 'Infinity1', '1N', 'y', 'N', '1e5.0', '--1', '1e--1', '١'],
];

describe('parseNumber', () => {
  test.each([
    ['0', 0],
    ['-0', -0],
    ['-0.0', -0],
    ['1', 1],
    ['-12.5', -12.5],
    ['0.1', 0.1],
    ['0.30000000000000004', 0.1 + 0.2],
    ['1e999', Infinity],
    ['-1E+999', -Infinity],
    ['1e-999', 0],
    ['5e-324', 5e-324],
    ['9007199254740993', 9007199254740992],
    ['9999999999999999', 1e16],
    ['123456789012345', 123456789012345],
    ['0.123456789012345', 0.123456789012345],
    ['NaN', NaN],
    ['Infinity', Infinity],
    ['-Infinity', -Infinity],
  ])('%s', (text, value) => {
    expect(parse(parseNumber, text)).toBe(value);
  });

  test.each(NOT_NUMBERS)('refuses %j', (text) => {
    expect(() => parse(parseNumber, text)).toThrow(ScanError);
    expect(() => parse(wholeNumber, text)).toThrow(ScanError);
    expect(() => parse(parseInteger, text)).toThrow(ScanError);
  });

  test('is rounded as JSON.parse rounds', () => {
    const decimal = fc.tuple(fc.bigInt(-(10n ** 17n), 10n ** 17n), fc.nat(16), fc.integer({ min: -30, max: 30 }));
    fc.assert(
      fc.property(fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), decimal), (value) => {
        let text = String(value);
        if (Array.isArray(value)) {
          const digits = String(value[0] < 0n ? -value[0] : value[0]).padStart(value[1] + 1, '0');
          const point = digits.length - value[1];
          text = (value[0] < 0n ? '-' : '') + digits.slice(0, point) + (value[1] ? '.' + digits.slice(point) : '');
          if (value[2] > 20) text += `e${value[2] - 25}`;
        }
        expect(parse(parseNumber, text)).toBe(JSON.parse(text));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('parseInteger', () => {
  test.each([
    ['3', 3],
    ['3.0', 3],
    ['3e0', 3],
    ['0.3e1', 3],
    ['-0', 0],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('%s', (text, value) => {
    expect(parse(parseInteger, text)).toBe(value);
  });

  test.each(['-1', '1.5', '9007199254740992', '1e30', 'NaN', 'Infinity'])('refuses %s', (text) => {
    expect(() => parse(parseInteger, text)).toThrow(text);
  });
});

describe('wholeNumber', () => {
  test.each<[string, number | bigint]>([
    ['0', 0],
    ['-0', 0],
    ['-0.000e7', 0],
    ['0e999999999999999999', 0],
    ['7', 7],
    ['-7', -7],
    ['1.0', 1],
    ['1e3', 1000],
    ['1.5e1', 15],
    ['100e-2', 1],
    ['-120.50e1', -1205],
    ['0.00012e5', 12],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['-9007199254740991', Number.MIN_SAFE_INTEGER],
    ['9007199254740992', 9007199254740992n],
    ['9007199254740993', 9007199254740993n],
    ['12345678901234567890', 12345678901234567890n],
    ['-12345678901234567890.0', -12345678901234567890n],
    ['1e999', 10n ** 999n],
    ['1' + '0'.repeat(999), 10n ** 999n],
    ['1' + '0'.repeat(999) + 'e-990', 10 ** 9],
    [`0.${'0'.repeat(99_999)}1e100000`, 1],
    [`1e${'0'.repeat(100_000)}2`, 100],
  ])('%.40s', (text, value) => {
    expect(parse(wholeNumber, text)).toBe(value);
  });

  test.each(['0.5', '1e-1', '15e-1', '1.0001', `1e-${'9'.repeat(100)}`, 'NaN', '-Infinity'])(
    'refuses %.40s',
    (text) => {
      expect(() => parse(wholeNumber, text)).toThrow('expected a whole number');
    },
  );

  test.each(['1e1000', '1e999999999999', '1' + '0'.repeat(1000), '7'.repeat(1001), '7'.repeat(1_000_000)])(
    'refuses the size of %.20s',
    (text) => {
      expect(() => parse(wholeNumber, text)).toThrow('more than 1,000 digits');
    },
  );

  test('equals BigInt for every way to shift the point', () => {
    fc.assert(
      fc.property(fc.bigInt(-(10n ** 40n), 10n ** 40n), fc.nat(50), fc.nat(50), (value, shift, zeros) => {
        const digits = String(value < 0n ? -value : value) + '0'.repeat(value === 0n ? 0 : zeros);
        const padded = digits.padStart(shift + 1, '0');
        const point = padded.length - shift;
        const fraction = shift > 0 ? '.' + padded.slice(point) : '';
        const text = `${value < 0n ? '-' : ''}${padded.slice(0, point)}${fraction}e${shift - zeros}`;
        const found = parse(wholeNumber, text);
        expect(BigInt(found)).toBe(value);
        expect(typeof found).toBe(Number.isSafeInteger(Number(value)) ? 'number' : 'bigint');
      }),
    );
  });
});

describe('decodeString', () => {
  test('gives what JSON.parse gives, lone surrogates included', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.boolean(), (text, ascii) => {
        let json = JSON.stringify(text);
        if (ascii) json = json.replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
        expect(parse(decodeString, json)).toBe(JSON.parse(json));
      }),
    );
    expect(parse(decodeString, '"\\ud800"')).toBe('\ud800');
    expect(parse(decodeString, '"\ufffd"')).toBe('\ufffd');
  });

  test.each([
    ['a bad escape', Buffer.from('"\\q"')],
    ['a control character', Buffer.from('"\n"')],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['a surrogate as bytes', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ])('refuses %s', (_, bytes) => {
    expect(() => decodeString(bytes, 0, bytes.length)).toThrow(ScanError);
  });
});

test.each([
  ['"abc"', false],
  ['"a\\nb"', true],
])('needsDecoding %s', (text, escaped) => {
  expect(parse(needsDecoding, text, '\\')).toBe(escaped);
});

describe('countOnes', () => {
  test.each([
    ['[]', 0, 0],
    ['[ ]', 0, 0],
    ['[0]', 0, 1],
    ['[1]', 1, 1],
    ['[ 1 ]', 1, 1],
    ['[1,0,1]', 2, 3],
    ['[1, 0, 1]', 2, 3],
    ['[1,0, 1 ,1]', 3, 4],
    ['[1, 0,1]', 2, 3],
    ['[true,false,true]', 2, 3],
    ['[true, 0, 1.0, 1e0, -0, 0.0, 10e-1]', 4, 7],
    ['[\t1\r,\n0]', 1, 2],
  ])('%j', (text, ones, length) => {
    expect(parse(countOnes, text, ' 1,')).toEqual({ ones, length });
  });

  test.each([
    ['[0,2]', 'entry 2', '2'],
    ['[2, 1]', 'entry 1', '2'],
    ['[1,1,1,null]', 'entry 4', 'null'],
    ['[1, [1], 0]', 'entry 2', '[1'],
    ['["1"]', 'entry 1', '"1"'],
    ['[1,]', 'entry 2', ']'],
    ['[,1]', 'entry 1', ',1'],
    ['[1,,1]', 'entry 2', ',1'],
    ['[1 1]', 'entry 1', '1 1'],
    ['[1;1]', 'entry 1', '1;1'],
    ['[1, 1;1]', 'entry 2', '1;1'],
    ['[-1]', 'entry 1', '-1'],
    ['[0.5]', 'entry 1', '0.5'],
    ['[1e-400]', 'entry 1', '1e-400'],
    ['[1.00000000000000000000001]', 'entry 1', '1.00000000000000000000001'],
    ['[NaN]', 'entry 1', 'NaN'],
    ['[01]', 'entry 1', '01'],
    ['[0,10]', 'entry 2', '10'],
    ['[10,0]', 'entry 1', '10'],
    ['[True]', 'entry 1', 'True'],
  ])('refuses %j', (text, place, found) => {
    expect(() => parse(countOnes, text)).toThrow(`${place}: expected 0, 1, true or false, found ${found}`);
  });

  test('never counts what JSON.parse sees differently', () => {
    const character = fc.constantFrom('0', '1', ',', ' ', '2', '-', '.', 'e', '[', ']');
    const list = fc.array(fc.constantFrom('0', '1', '1.0', 'true', '7'), { maxLength: 12 });
    const separator = fc.constantFrom(',', ', ', ' ,');
    const mutated = fc.tuple(list, separator, fc.nat(30), character).map(([entries, between, at, c]) => {
      const text = entries.join(between);
      return `[${at < text.length ? text.slice(0, at) + c + text.slice(at + 1) : text}]`;
    });
    fc.assert(
      fc.property(mutated, (text) => {
        let entries: unknown;
        try {
          entries = JSON.parse(text);
        } catch {
          // Not JSON: then it must be refused.
        }
        const good = Array.isArray(entries) && entries.every((e) => e === 0 || e === 1 || e === true);
        if (!good) return void expect(() => parse(countOnes, text)).toThrow(ScanError);
        const ones = (entries as unknown[]).filter((e) => e === 1 || e === true).length;
        expect(parse(countOnes, text)).toEqual({ ones, length: (entries as unknown[]).length });
      }),
      { numRuns: 5000 },
    );
  });
});
