import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { forEachLine } from '../../../src/io/jsonl/lines.ts';
import {
  compileFields,
  excerpt,
  FieldSpans,
  Kind,
  Occurrences,
  ScanError,
  scanObject,
} from '../../../src/io/jsonl/scan.ts';
import { decodeString, parseNumber } from '../../../src/io/jsonl/values.ts';

const KIND_NAMES = Object.keys(Kind);

/** Scans the line between other bytes and gives `kind text` for each wanted name. */
function scan(line: string | Uint8Array, names: string[], surroundings = '"}'): string[] {
  const around = Buffer.from(surroundings);
  const bytes = Buffer.concat([around, Buffer.from(line), around]);
  const fields = compileFields(names);
  const spans = new FieldSpans(fields);
  scanObject(bytes, around.length, bytes.length - around.length, fields, spans);
  return names.map((_, i) => {
    const kind = KIND_NAMES[spans.kind[i]];
    return kind === 'absent' ? kind : `${kind} ${bytes.toString('utf8', spans.start[i], spans.end[i])}`;
  });
}

test.each<[string, string[]]>([
  ['{}', ['absent']],
  [' { } \r', ['absent']],
  ['{"a":1}', ['number 1']],
  ['\t{ "a" : 1 , "b" : 2 } ', ['number 1']],
  ['{"b":2,"a":null}', ['null null']],
  ['{"a":true,"b":[1,{"a":2}]}', ['true true']],
  ['{"b":{"a":2},"a":false}', ['false false']],
  ['{"a":NaN}', ['number NaN']],
  ['{"a":-Infinity,"b":Infinity}', ['number -Infinity']],
  ['{"a":"x\\"y\\\\"}', ['string "x\\"y\\\\"']],
  ['{"a":[1,[2],"]"]}', ['array [1,[2],"]"]']],
  ['{"a":{"b":"}"} }', ['object {"b":"}"}']],
  ['{"a":1,"a":"last"}', ['string "last"']],
  ['{"a":1,"\\u0061":2}', ['number 2']],
  ['{"\\u0061":1,"a\\n":2}', ['number 1']],
  ['{"aa":1,"":2,"A":3}', ['absent']],
])('finds a in %s', (line, found) => {
  expect(scan(line, ['a'])).toEqual(found);
});

test.each([
  ['é', '{"é":1}'],
  ['é', '{"\\u00e9":1}'],
  ['\ud800', '{"\\ud800":1}'],
  ['a"b', '{"a\\"b":1}'],
  ['a\\b', '{"a\\\\b":1}'],
  ['n'.repeat(300), `{"${'n'.repeat(299)}":2,"${'n'.repeat(300)}":1}`],
])('compares names after unescaping: %.10j', (name, line) => {
  expect(scan(line, [name])).toEqual(['number 1']);
});

test('a name does not match its own escaped spelling', () => {
  expect(scan('{"a\\nb":1}', ['a\\nb', 'a\nb'])).toEqual(['absent', 'number 1']);
  expect(scan('{"\ufffd":1}', ['\ud800'])).toEqual(['absent']);
});

test.each([
  ['', 'expected a JSON object, found the end of the line'],
  ['[1]', 'expected a JSON object, found [1]'],
  ['{', 'expected a name in quotes, found the end of the line'],
  ['{a:1}', 'expected a name in quotes, found a:1}'],
  ['{"a":1,}', 'expected a name in quotes, found }'],
  ['{,}', 'expected a name in quotes'],
  ['{"a"}', "expected ':' after a name, found }"],
  ['{"a" 1}', "expected ':' after a name, found 1}"],
  ['{"a":}', 'expected a value, found }'],
  ['{"a":', 'expected a value, found the end'],
  ['{"a":,"b":1}', 'expected a value, found ,"b":1}'],
  ['{"a":1', "expected ',' or '}' after a value, found the end"],
  ['{"a":1 "b":2}', `expected ',' or '}' after a value, found "b":2}`],
  ['{"a":1"b":2}', `expected ',' or '}' after a value`],
  ['{"a":1]', `expected ',' or '}' after a value`],
  ['{"a":1:2}', `expected ',' or '}' after a value`],
  ['{"a":1}}', 'expected nothing after the closing brace, found }'],
  ['{"a":1} {}', 'expected nothing after the closing brace, found {}'],
  ['{"b":"x}', 'string is not terminated: "x}'],
  ['{"b":"x\\"}', 'string is not terminated: "x\\"}'],
  ['{"b":"x\\', 'string is not terminated'],
  ['{"b', 'string is not terminated: "b'],
  ['{"b":[1}', "expected ']', found }"],
  ['{"b":{"c":1]}', "expected '}', found ]"],
  ['{"b":[[1]}', "expected ']', found }"],
  ['{"b":[1', 'list is not closed: [1'],
  ['{"b":{"c":1', 'object is not closed: {"c":1'],
  [`{"b":[${'1,'.repeat(100)}`, 'list is not closed'],
  [`{"b":[${'1,'.repeat(100)}}`, "expected ']', found }"],
  [`{"b":"${'x'.repeat(100)}`, 'string is not terminated'],
  ['{"a":nul}', 'expected a value of "a", found nul'],
  ['{"a":True}', 'expected a value of "a", found True'],
  ['{"a":truex}', 'expected a value of "a", found truex'],
  ['{"a\\q":1}', 'expected a name with valid escapes, found "a\\q"'],
])('refuses %.40j', (line, message) => {
  for (const surroundings of ['"}', ']"', ' ']) expect(() => scan(line, ['a'], surroundings)).toThrow(message);
});

test('a line is read as if the lines before it had not been', () => {
  const lines = [
    ['{"a":1,"b":2}', 'number 1'],
    ['{"a":2,"b":2}', 'number 2'],
    ['{"b":1,"a":3}', 'number 3'],
    ['{"a" :4,"a":5}', 'number 5'],
    ['{"a":  6,"a" :  7}', 'number 7'],
    ['{"a":  8,"a" :    9}', 'number 9'],
    ['{"a":  1,"ab":    2}', 'number 1'],
    ['{"ab":  1,"a":    2}', 'number 2'],
    ['{"\\u0061": 3}', 'number 3'],
    ['{"\\u0061": 4}', 'number 4'],
    ['{"\\u0062": 4}', 'absent'],
  ];
  const fields = compileFields(['a']);
  const spans = new FieldSpans(fields);
  for (const [line, found] of lines) {
    const bytes = Buffer.from(line);
    scanObject(bytes, 0, bytes.length, fields, spans);
    const kind = KIND_NAMES[spans.kind[0]];
    expect(kind === 'absent' ? kind : `${kind} ${bytes.toString('latin1', spans.start[0], spans.end[0])}`).toBe(found);
    expect(() => scanObject(bytes, 0, 4, fields, spans)).toThrow(ScanError);
  }
});

test('an error tells where it is', () => {
  const bytes = Buffer.from('xx{"a":1 2}');
  const fields = compileFields([]);
  try {
    scanObject(bytes, 2, bytes.length, fields, new FieldSpans(fields));
    expect.unreachable();
  } catch (error) {
    expect(error).toBeInstanceOf(ScanError);
    expect((error as ScanError).byteOffset).toBe(9);
  }
});

test.each([
  ['abc', 'abc'],
  ['x'.repeat(40), 'x'.repeat(40)],
  ['x'.repeat(41), 'x'.repeat(37) + '...'],
  ['a\n\u00e9', 'a\\x0a\\xc3\\xa9'],
  ['', 'the end of the line'],
])('excerpt of %j', (text, quoted) => {
  const bytes = Buffer.from(text);
  expect(excerpt(bytes, 0, bytes.length)).toBe(quoted);
});

describe('what pass 2 needs', () => {
  test.each<[string, string[]]>([
    ['{ }\r', []],
    ['{"x":{}} ', []],
    ['{"a":1,"b" : [2], "x":0,"\\u0061": 3 }', ['"a":1', '"b" : [2]', '"\\u0061": 3']],
  ])('%s', (line, members) => {
    const bytes = Buffer.from(line);
    const fields = compileFields(['a', 'b']);
    const occurrences = new Occurrences();
    scanObject(bytes, 0, bytes.length, fields, new FieldSpans(fields, 2, occurrences));
    const found = Array.from({ length: occurrences.count }, (_, i) =>
      bytes.toString('latin1', occurrences.start[i], occurrences.end[i]),
    );
    expect(found).toEqual(members);
  });

  test('holds any number of occurrences', () => {
    const line = Buffer.from(`{${Array.from({ length: 1000 }, (_, i) => `"a":${i}`).join()}}`);
    const fields = compileFields(['a']);
    const occurrences = new Occurrences();
    scanObject(line, 0, line.length, fields, new FieldSpans(fields, 1, occurrences));
    expect(occurrences.count).toBe(1000);
    expect(line.toString('latin1', occurrences.start[999], occurrences.end[999])).toBe('"a":999');
  });
});

describe('size', () => {
  test('a depth of a million is no problem', () => {
    const depth = 1_000_000;
    expect(scan(`{"b":${'['.repeat(depth)}${']'.repeat(depth)},"a":1}`, ['a'])).toEqual(['number 1']);
    expect(scan(`{"b":${'{"c":['.repeat(depth / 2)}${']}'.repeat(depth / 2)},"a":1}`, ['a'])).toEqual(['number 1']);
    expect(() => scan(`{"b":${'['.repeat(depth)}`, ['a'])).toThrow('not closed');
  });

  test.each([
    ['backslashes', `"${'\\'.repeat(2_000_000)}"`],
    ['escaped quotes', `"${'\\"'.repeat(1_000_000)}"`],
    ['escaped quotes far apart', `"${('x'.repeat(100) + '\\"').repeat(20_000)}"`],
    ['short strings', `[${'"",'.repeat(700_000)}0]`],
    ['short lists', `[${'[],'.repeat(700_000)}0]`],
    ['long lists', `[${`[${'1,'.repeat(100)}0],`.repeat(10_000)}0]`],
    ['digits', '1'.repeat(2_000_000)],
  ])('time is linear in the line: %s', (_, value) => {
    const started = performance.now();
    expect(scan(`{"b":${value},"a":1}`, ['a'])).toEqual(['number 1']);
    expect(performance.now() - started).toBeLessThan(2000);
  });
});

/** Values of all kinds, some long enough for native searches. */
const json: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: fc.constantFrom('a', '"', '\\', '[', ']', '{', '}', ',', ':', 'é', '\n', ' ') }),
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.array(fc.integer(), { size: 'large' }),
    fc.string({ size: 'large' }),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.string({ maxLength: 3 }), tie('value'), { maxKeys: 5 }),
  ),
})).value;

const WANTED = ['a', 'reward', 'é"\\', ''];
const member = fc.tuple(fc.oneof(fc.constantFrom(...WANTED, 'b', 'rewarD'), fc.string({ maxLength: 4 })), json);
const space = fc.constantFrom('', '', ' ', '  ', '\t', '\r');

/** Objects as text: repeated names, random white space, keys partly escaped. */
const objectText = fc
  .tuple(fc.array(member, { maxLength: 12 }), fc.infiniteStream(space), fc.nat(3))
  .map(([members, spaces, plainKeys]) => {
    const s = () => spaces.next().value;
    const key = (name: string) =>
      plainKeys > 0
        ? JSON.stringify(name)
        : `"${Array.from(name, (c) => (c.length > 1 ? c : `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)).join('')}"`;
    const text = members.map(
      ([name, value]) => `${s()}${key(name)}${s()}:${s()}${JSON.stringify(value, null, s().replace('\r', ''))}${s()}`,
    );
    return `${s()}{${s()}${text.join(',')}${s()}}${s()}`.replaceAll('\n', ' ');
  });

/** What the scanner and the value parsers make of a line must be what JSON.parse makes of it. */
function expectAgreement(bytes: Uint8Array, spans: FieldSpans, object: Record<string, unknown>) {
  WANTED.forEach((name, i) => {
    const found = interpret(bytes, spans.kind[i], spans.start[i], spans.end[i]);
    expect(found).toEqual(Object.hasOwn(object, name) ? { value: object[name] } : 'absent');
  });
}

function interpret(bytes: Uint8Array, kind: number, start: number, end: number) {
  if (kind === Kind.absent) return 'absent';
  if (kind === Kind.number) return { value: parseNumber(bytes, start, end) };
  if (kind === Kind.string) return { value: decodeString(bytes, start, end) };
  const value = JSON.parse(Buffer.from(bytes.subarray(start, end)).toString());
  const kindOfValue = Array.isArray(value)
    ? 'array'
    : value !== null && typeof value === 'object'
      ? 'object'
      : `${value}`;
  return KIND_NAMES[kind] === kindOfValue ? { value } : `${KIND_NAMES[kind]} but is ${kindOfValue}`;
}

describe('against JSON.parse', () => {
  const fields = compileFields(WANTED);
  const spans = new FieldSpans(fields);

  async function* cut(bytes: Uint8Array, size: number) {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }

  test('finds the same values in any object, wherever chunks end', async () => {
    const size = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 300 }), fc.constant(1 << 20));
    await fc.assert(
      fc.asyncProperty(fc.array(objectText, { maxLength: 4 }), size, async (texts, chunkSize) => {
        const seen: number[] = [];
        await forEachLine(cut(Buffer.from(texts.join('\n')), chunkSize), {}, (bytes, start, end, lineNumber) => {
          scanObject(bytes, start, end, fields, spans);
          expectAgreement(bytes, spans, JSON.parse(texts[lineNumber - 1]));
          seen.push(lineNumber);
        });
        expect(seen).toEqual(texts.map((_, i) => i + 1));
      }),
      { numRuns: 500 },
    );
  });

  test('refuses a mutated line or sees in it what JSON.parse sees', () => {
    const piece = fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', ' ', '1', 'null', 'x', '\\u0061', '"a":1,');
    const mutation = fc.tuple(fc.nat(), fc.nat(3), piece);
    fc.assert(
      fc.property(objectText, fc.array(mutation, { minLength: 1, maxLength: 3 }), (text, mutations) => {
        let mutated = text;
        for (const [at, removed, inserted] of mutations) {
          const position = at % (mutated.length + 1);
          mutated = mutated.slice(0, position) + inserted + mutated.slice(position + removed);
        }
        let object: unknown;
        try {
          object = JSON.parse(mutated);
        } catch {
          // Not JSON. The scanner may still accept it where it does not look.
        }
        const bytes = Buffer.from(mutated);
        const isObject = typeof object === 'object' && object !== null && !Array.isArray(object);
        try {
          scanObject(bytes, 0, bytes.length, fields, spans);
        } catch (error) {
          expect(error).toBeInstanceOf(ScanError);
          expect(isObject).toBe(false);
          return;
        }
        if (isObject) expectAgreement(bytes, spans, object as Record<string, unknown>);
      }),
      { numRuns: 2000 },
    );
  });
});
