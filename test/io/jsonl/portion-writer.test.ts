/** Portions side by side in one file, in their order whichever is done first. */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FileError } from '../../../src/errors.ts';
import { LineBuffer } from '../../../src/io/jsonl/line-buffer.ts';
import { awaitPosition, GivenUp, sharePositions, tellPosition } from '../../../src/io/jsonl/output-positions.ts';
import { PortionWriter } from '../../../src/io/jsonl/portion-writer.ts';

let folder: string;
let path: string;
let descriptor: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollnorm-'));
  path = join(folder, 'out');
  descriptor = openSync(path, 'wx+');
});

afterEach(() => {
  closeSync(descriptor);
  rmSync(folder, { recursive: true });
});

function holding(text: string): LineBuffer {
  const lines = new LineBuffer();
  lines.appendText(text);
  return lines;
}

describe.each(['none', 'gzip'] as const)('with compression %s', (compression) => {
  const writerOf = (portion: number, positions = sharePositions(3)) =>
    new PortionWriter({ descriptor, name: 'out', compression, positions, portion });
  const content = () => {
    const stored = readFileSync(path);
    return (compression === 'gzip' ? gunzipSync(stored) : stored).toString();
  };

  test('a portion begins where the one before ends, with pieces in between or none at all', () => {
    const positions = sharePositions(3);
    const first = writerOf(0, positions);
    const lines = holding('one ');
    first.write(lines);
    expect(lines.length).toBe(0);
    first.finish(holding('two '));
    writerOf(1, positions).finish(holding(''));
    writerOf(2, positions).finish(holding('three'));
    expect(content()).toBe('one two three');
  });

  test('who waits for a portion that failed is let go', () => {
    const positions = sharePositions(3);
    writerOf(0, positions).giveUp();
    for (const portion of [1, 2]) expect(() => writerOf(portion, positions).finish(holding('x'))).toThrow(GivenUp);
  });
});

test('positions past 2^32 are told exactly', () => {
  const positions = sharePositions(2);
  expect(awaitPosition(positions, 0)).toBe(0);
  tellPosition(positions, 1, 2 ** 45 + 1);
  expect(awaitPosition(positions, 1)).toBe(2 ** 45 + 1);
});

test('a file that cannot be written is named', () => {
  const readOnly = openSync(path, 'r');
  const place = {
    descriptor: readOnly,
    name: 'out.jsonl',
    compression: 'none',
    positions: sharePositions(1),
    portion: 0,
  };
  const writer = new PortionWriter(place as ConstructorParameters<typeof PortionWriter>[0]);
  expect(() => writer.finish(holding('x'))).toThrow(FileError);
  expect(() => writer.finish(holding('x'))).toThrow('out.jsonl: cannot write');
  closeSync(readOnly);
});
