import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { forEachLine } from '../../../src/io/jsonl/lines.ts';

/** Chunks that are overwritten as soon as the next one is asked for. */
async function* cut(bytes: Uint8Array, sizes: readonly number[]) {
  for (let at = 0, i = 0; at < bytes.length; at += sizes[i++ % sizes.length]) {
    const chunk = Uint8Array.from(bytes.subarray(at, at + sizes[i % sizes.length]));
    yield chunk;
    chunk.fill(0x23);
  }
}

async function linesOf(content: string | Uint8Array, sizes = [1 << 20], maxLine?: number) {
  const lines: [number, string][] = [];
  const options = maxLine === undefined ? {} : { maxLine };
  const count = await forEachLine(cut(Buffer.from(content), sizes), options, (bytes, start, end, lineNumber) => {
    lines.push([lineNumber, Buffer.from(bytes.subarray(start, end)).toString()]);
  });
  return { lines, count };
}

describe.each([1, 2, 3, 7, 1 << 20])('in chunks of %i', (size) => {
  test.each<[string, string, [number, string][], number]>([
    ['nothing', '', [], 0],
    ['one line', 'a\n', [[1, 'a']], 1],
    [
      'no newline at the end',
      'a\nb',
      [
        [1, 'a'],
        [2, 'b'],
      ],
      2,
    ],
    [
      'a carriage return stays',
      'a\r\nb\r\n',
      [
        [1, 'a\r'],
        [2, 'b\r'],
      ],
      2,
    ],
    [
      'blank lines are counted',
      '\n \t\r\na\n\nb\n\n',
      [
        [3, 'a'],
        [5, 'b'],
      ],
      6,
    ],
    ['a blank end', 'a\n  ', [[1, 'a']], 2],
    [
      'a byte order mark is dropped',
      '\ufeffa\n\ufeffb\n',
      [
        [1, 'a'],
        [2, '\ufeffb'],
      ],
      2,
    ],
    ['only a byte order mark', '\ufeff', [], 1],
    ['a byte order mark on a blank line', '\ufeff\r\na', [[2, 'a']], 2],
    ['only a line feed separates', 'a\u2028b\u0085c\rd\n', [[1, 'a\u2028b\u0085c\rd']], 1],
  ])('%s', async (_, content, lines, count) => {
    expect(await linesOf(content, [size])).toEqual({ lines, count });
  });

  test('a line may be as long as the limit and no longer', async () => {
    expect((await linesOf('\n12345\n12345', [size], 5)).lines).toEqual([
      [2, '12345'],
      [3, '12345'],
    ]);
    for (const content of ['\n123456\n', '\n123456']) {
      await expect(linesOf(content, [size], 5)).rejects.toThrow(
        new InputError('line 2: is longer than 5 bytes (--max-line)'),
      );
    }
  });
});

test('a line without end is refused before it is collected', async () => {
  const chunk = new Uint8Array(1 << 20).fill(0x20);
  let chunkCount = 0;
  async function* endless() {
    for (;;) {
      chunkCount++;
      yield chunk;
    }
  }
  await expect(forEachLine(endless(), { maxLine: 5 << 20 }, () => {})).rejects.toThrow('line 1: is longer than');
  expect(chunkCount).toBe(6);
});

test('an error of the visitor stops the source', async () => {
  let stopped = false;
  async function* source() {
    try {
      for (;;) yield Buffer.from('a\n');
    } finally {
      stopped = true;
    }
  }
  const fail = () => {
    throw new InputError('enough');
  };
  await expect(forEachLine(source(), {}, fail)).rejects.toThrow('enough');
  expect(stopped).toBe(true);
});

test('lines are those that splitting gives, wherever chunks end', async () => {
  const text = fc
    .array(fc.constantFrom('a', '{"x": 1}', '\n', '\n', '\r\n', ' ', '€', 'long '.repeat(50)))
    .map((p) => p.join(''));
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(text, sizes, async (content, cuts) => {
      const all = content.split('\n').map((line, i): [number, string] => [i + 1, line]);
      expect((await linesOf(content, cuts)).lines).toEqual(all.filter(([, line]) => /[^ \t\r]/.test(line)));
    }),
  );
});
