import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { augmentLine, compileSuffix, LineBuffer, spellNumber } from '../../../src/io/jsonl/augment.ts';
import { compileFields, FieldSpans, scanObject } from '../../../src/io/jsonl/scan.ts';

const SUFFIX = compileSuffix(['raw_reward', 'advantage'])(['1', '-0.5']);

function augment(line: string, remove: string[] = [], suffix = SUFFIX): string {
  const bytes = Buffer.from(`{"}${line}}"`);
  const [start, end] = [3, bytes.length - 2];
  const fields = compileFields(remove);
  const spans = new FieldSpans(fields);
  scanObject(bytes, start, end, fields, spans);
  const out = new LineBuffer(1);
  augmentLine(bytes, start, end, suffix, out, spans);
  return Buffer.from(out.bytes).toString();
}

test.each([
  ['{}', '{"raw_reward": 1, "advantage": -0.5}\n'],
  [' { } \r', ' { "raw_reward": 1, "advantage": -0.5} \r\n'],
  ['{"a":1}', '{"a":1, "raw_reward": 1, "advantage": -0.5}\n'],
  ['{"a":1 }\t', '{"a":1 , "raw_reward": 1, "advantage": -0.5}\t\n'],
  ['{"a":{}}', '{"a":{}, "raw_reward": 1, "advantage": -0.5}\n'],
  ['{"a":"{"}', '{"a":"{", "raw_reward": 1, "advantage": -0.5}\n'],
])('adds fields to %j', (line, augmented) => {
  expect(augment(line)).toBe(augmented);
});

test.each([
  ['first', '{"x":1, "a":2}', '{"a":2, S}'],
  ['middle', '{"a":1, "x":2 , "b":3}', '{"a":1, "b":3, S}'],
  ['last', '{"a":1 , "x":2 }', '{"a":1  , S}'],
  ['all', '{"x":1}', '{S}'],
  ['all of several', '{ "x":1, "y":[2] }', '{  S}'],
  ['first two', '{"x":1,"y":2,"a":3}', '{"a":3, S}'],
  ['last two', '{"a":1, "x":2, "y":3}', '{"a":1, S}'],
  ['first and last', '{"x":1,"a":2,"y":3}', '{"a":2, S}'],
  ['repeated', '{"x":1,"x":2,"a":3,"\\u0078":4,"b":5,"x":6}', '{"a":3,"b":5, S}'],
])('removes members: %s', (_, line, augmented) => {
  expect(augment(line, ['x', 'y'])).toBe(augmented.replace('S', SUFFIX) + '\n');
});

test('removes without adding', () => {
  expect(augment('{"x":1}', ['x'], '')).toBe('{}\n');
  expect(augment('{"a":1,"x":1}', ['x'], '')).toBe('{"a":1}\n');
});

test.each([
  [0, '0'],
  [-0, '-0'],
  [NaN, 'null'],
  [Infinity, 'null'],
  [-Infinity, 'null'],
  [1, '1'],
  [Math.fround(0.1), '0.10000000149011612'],
  [1e21, '1e+21'],
  [5e-324, '5e-324'],
])('spellNumber(%d)', (x, text) => {
  expect(spellNumber(x)).toBe(text);
});

test('every finite number comes back from its spelling', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (x) => {
      expect(JSON.parse(spellNumber(x))).toBe(x);
    }),
  );
});

test('names are escaped', () => {
  expect(compileSuffix(['a"\\\n', 'é'])(['1', '2'])).toBe('"a\\"\\\\\\n": 1, "é": 2');
});

describe('any object', () => {
  const name = fc.oneof(fc.constantFrom('x', 'y', 'a'), fc.string({ maxLength: 3 }));
  const space = fc.constantFrom('', ' ', '\t ', '\r');
  const line = fc
    .tuple(fc.array(fc.tuple(name, fc.jsonValue({ maxDepth: 2 })), { maxLength: 8 }), fc.infiniteStream(space))
    .map(([members, spaces]) => {
      const s = () => spaces.next().value;
      const texts = members.map(
        ([key, value]) => `${s()}${JSON.stringify(key)}${s()}:${s()}${JSON.stringify(value)}${s()}`,
      );
      return `${s()}{${s()}${texts.join(',')}${s()}}${s()}`;
    });

  test('keeps its bytes around what is inserted', () => {
    fc.assert(
      fc.property(line, (text) => {
        const augmented = augment(text);
        const brace = text.lastIndexOf('}');
        expect(augmented.startsWith(text.slice(0, brace))).toBe(true);
        expect(augmented.endsWith(text.slice(brace) + '\n')).toBe(true);
        const object = { ...JSON.parse(text), raw_reward: 1, advantage: -0.5 };
        expect(JSON.parse(augmented)).toEqual(object);
      }),
    );
  });

  test('loses exactly the removed members', () => {
    fc.assert(
      fc.property(line, (text) => {
        const { x, y, ...rest } = JSON.parse(text);
        expect(JSON.parse(augment(text, ['x', 'y']))).toEqual({ ...rest, raw_reward: 1, advantage: -0.5 });
      }),
      { numRuns: 2000 },
    );
  });
});

test('what is taken from a line buffer stays as it was when the buffer is used again', () => {
  const lines = new LineBuffer(4);
  lines.appendText('first line, longer than the buffer');
  const taken = lines.take();
  lines.appendText('second line, over the same memory?');
  expect(Buffer.from(taken).toString()).toBe('first line, longer than the buffer');
  expect(Buffer.from(lines.bytes).toString()).toBe('second line, over the same memory?');
});
