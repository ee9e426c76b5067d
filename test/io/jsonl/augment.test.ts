import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { augmentLine } from '../../../src/io/jsonl/augment.ts';
import { LineBuffer } from '../../../src/io/jsonl/line-buffer.ts';
import { compileFields, FieldSpans, Occurrences, scanObject } from '../../../src/io/jsonl/scan.ts';
import { Suffix, spellNumber } from '../../../src/io/jsonl/suffix.ts';

const SUFFIX = '"raw_reward": 1, "advantage": -0.5';

function augment(line: string, remove: string[] = []): string {
  const suffix = new Suffix(['raw_reward', 'advantage']);
  suffix.spell(1, -0.5);
  const bytes = Buffer.from(`{"}${line}}"`);
  const [start, end] = [3, bytes.length - 2];
  const fields = compileFields(remove);
  const removed = new Occurrences();
  scanObject(bytes, start, end, fields, new FieldSpans(fields, remove.length, removed));
  const out = new LineBuffer(1);
  augmentLine(bytes, start, end, suffix.text, out, removed);
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
  const suffix = new Suffix(['a"\\\n', 'é']);
  suffix.spell(1, 2);
  expect(Buffer.from(suffix.text.bytes).toString()).toBe('"a\\"\\\\\\n": 1, "é": 2');
});

test('values are spelled as alone, whatever was spelled before', () => {
  const suffix = new Suffix(['a', 'b']);
  const value = fc.oneof(fc.constantFrom(0, -0, 1, 0.5, NaN, Infinity, 1e21), fc.double(), fc.float());
  fc.assert(
    fc.property(fc.array(fc.tuple(value, value), { maxLength: 50 }), (pairs) => {
      for (const [first, second] of pairs) {
        suffix.spell(first, second);
        const text = `"a": ${spellNumber(first)}, "b": ${spellNumber(second)}`;
        expect(Buffer.from(suffix.text.bytes).toString()).toBe(text);
      }
    }),
  );
});

test('a line buffer holds what was appended, of any length and alignment', () => {
  const source = Buffer.from(Array.from({ length: 4000 }, (_, i) => i * 31));
  const part = fc.oneof(
    fc.tuple(fc.nat(1000), fc.oneof(fc.nat(40), fc.nat(3000))),
    fc.constantFrom('', 'plain', 'é€', 'x'.repeat(300)),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
      const lines = new LineBuffer(1);
      const all = new LineBuffer(1);
      const expected: Buffer[] = [];
      for (const one of parts) {
        if (typeof one === 'string') {
          lines.appendText(one);
          expected.push(Buffer.from(one));
        } else {
          const [start, length] = one;
          lines.append(source, start, start + length);
          expected.push(source.subarray(start, start + length));
        }
        all.clear();
        all.appendAll(lines);
      }
      expect(Buffer.from(lines.bytes).equals(Buffer.concat(expected))).toBe(true);
      if (parts.length > 0) expect(Buffer.from(all.bytes).equals(Buffer.concat(expected))).toBe(true);
    }),
  );
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
