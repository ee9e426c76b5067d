import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import type { PlainValue } from '../../../src/io/torch/plain-values.ts';
import { fixture, type Read, read, WANTED } from './support.ts';

interface Case {
  readonly name: string;
  readonly protocols: readonly number[];
  readonly isNested: boolean;
  readonly rolloutId: unknown;
  readonly metadata: unknown;
  readonly samples: readonly Record<string, Record<string, unknown>>[];
}

const { cases } = JSON.parse(readFileSync(fixture('cases.json'), 'utf8')) as { cases: Case[] };
const files = cases.flatMap((one) => one.protocols.map((protocol) => ({ ...one, file: `${one.name}-${protocol}.pt` })));

describe('readSamples gives what Python wrote', () => {
  test.each(files)('$file', ({ file, samples, isNested, rolloutId, metadata }) => {
    const found = read(readFileSync(fixture(file)));
    expect(found.result.sampleCount).toBe(samples.length);
    expect(found.result.isNested).toBe(isNested);
    expect(spelled(found.result.rolloutId ?? null)).toEqual(rolloutId);
    expect(spelled(found.result.metadata ?? null)).toEqual(metadata);
    expect(found.ordinals).toEqual(samples.map((_, i) => i));
    samples.forEach((expected, i) => {
      const present = Object.fromEntries(comparable(found, i).filter(([, value]) => value.kind !== 'absent'));
      expect(present, `sample ${i + 1}`).toEqual(expected);
    });
  });
});

describe('readSamples refuses with a reason', () => {
  test('the torch format that is no ZIP file', () => {
    expect(() => read(readFileSync(fixture('legacy.pt')))).toThrow(InputError);
    expect(() => read(readFileSync(fixture('legacy.pt')))).toThrow('old format');
  });

  test.each([
    ['an empty file', ''],
    ['text', '{"reward": 1}\n'],
    ['a ZIP file without its directory', 'PK\x03\x04rest'],
  ])('%s', (_, text) => {
    expect(() => read(Buffer.from(text, 'latin1'))).toThrow(InputError);
  });
});

/** Values as make.py spells them, by the number of the wanted path. */
function comparable({ samples }: Read, sample: number): [string, Record<string, unknown>][] {
  return WANTED.map((_, i) => {
    const value = samples[sample].values[i];
    return [String(i), describeValue(value)];
  });
}

function describeValue(value: Read['samples'][number]['values'][number]): Record<string, unknown> {
  if (value.kind === 'integer') return { kind: 'integer', value: String(value.value) };
  if (value.kind === 'number' && !Number.isFinite(value.value))
    return { kind: 'number', value: String(value.value).replace('Infinity', 'inf') };
  if (value.kind === 'mask') {
    const { kind, length, ones, invalid } = value;
    return invalid ? { kind, length, invalidEntry: invalid.entry } : { kind, length, ones };
  }
  if (value.kind === 'other') return value.keys ? { kind: 'other', keys: value.keys } : { kind: 'other' };
  return { ...value };
}

function spelled(value: PlainValue): unknown {
  if (typeof value === 'bigint' || Number.isInteger(value)) return String(value);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [key, spelled(item)]));
  return Array.isArray(value) ? value.map(spelled) : value;
}
