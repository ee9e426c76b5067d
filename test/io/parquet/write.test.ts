import { beforeAll, describe, expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import type { WriteCodec } from '../../../src/io/parquet/encode-chunk.ts';
import { openParquet } from '../../../src/io/parquet/metadata.ts';
import type { ColumnValues, NewColumn } from '../../../src/io/parquet/new-columns.ts';
import { readVectors } from '../../../src/io/parquet/read-vectors.ts';
import { canCopy, type OutputColumn } from '../../../src/io/parquet/write-columns-only.ts';
import type { FlatColumn } from '../../../src/io/parquet/write-flat.ts';
import type { ColumnSource } from '../../../src/io/parquet/write-with-columns.ts';
import { writeColumnsOnly, writeFlatParquet, writeWithColumns } from '../../support/parquet-writers.ts';
import { Random } from '../../support/random.ts';
import { FIXTURES, fixture, inMemory, prepareAllCodecs, readColumn } from './support.ts';

beforeAll(prepareAllCodecs);

/** What a writer writes, joined. */
function written(write: (sink: (bytes: Uint8Array) => void) => void): Uint8Array {
  const pieces: Uint8Array[] = [];
  write((bytes) => pieces.push(bytes.slice()));
  return new Uint8Array(Buffer.concat(pieces));
}

function values(bytes: Uint8Array, name: string): unknown[] {
  return readColumn(bytes, { path: [name], as: 'value' });
}

/** Every third reward is missing; advantages count the rows. */
function sourceFor(bytes: Uint8Array, rawRewardName: string, advantageName: string): ColumnSource {
  const { rowGroups } = openParquet(inMemory(bytes));
  return {
    columns: [
      { name: rawRewardName, kind: 'double', nullable: true },
      { name: advantageName, kind: 'float', nullable: false },
    ],
    valuesOf(index: number) {
      const { rowCount, firstRow } = rowGroups[index];
      const rewards = Float64Array.from({ length: rowCount }, (_, i) => ((firstRow + i) % 3 === 0 ? NaN : 0.5));
      const advantages = Float32Array.from({ length: rowCount }, (_, i) => firstRow + i);
      return [
        { kind: 'double', values: rewards, present: 'not NaN' },
        { kind: 'float', values: advantages, present: null },
      ];
    },
  };
}

function withColumns(bytes: Uint8Array, replace: boolean, rawReward = 'raw_reward', advantage = 'advantage') {
  const file = inMemory(bytes);
  const options = { replace, codec: 'zstd' } as const;
  return written((sink) => {
    writeWithColumns(file, openParquet(file), sourceFor(bytes, rawReward, advantage), options, sink);
  });
}

function expectNewColumns(bytes: Uint8Array, rawReward = 'raw_reward', advantage = 'advantage'): void {
  const { rowCount } = openParquet(inMemory(bytes));
  const rows = Array.from({ length: rowCount }, (_, row) => row);
  expect(values(bytes, rawReward)).toEqual(rows.map((row) => (row % 3 === 0 ? null : '0x1.0000000000000p-1')));
  const advantages = values(bytes, advantage).map((hex) => fromHex(String(hex)));
  expect(advantages).toEqual(rows);
}

function fromHex(text: string): number {
  const [digits, power] = text.replace('0x', '').replace('.', '').split('p');
  return Number.parseInt(digits, 16) * 2 ** (Number(power) - 4 * (digits.length - 1));
}

describe('with two columns added, every column of the input stays', () => {
  test.each(FIXTURES)('%s', (name, columns) => {
    const before = fixture(name);
    const { footerOffset, columns: infos, rowGroups } = openParquet(inMemory(before));
    const after = withColumns(before, false);
    const parquet = openParquet(inMemory(after));
    expect(Buffer.compare(after.subarray(0, footerOffset), before.subarray(0, footerOffset))).toBe(0);
    expect(parquet.columns).toEqual([
      ...infos,
      { path: ['raw_reward'], type: 'double', isList: false },
      { path: ['advantage'], type: 'float', isList: false },
    ]);
    expect(parquet.rowGroups.map((group) => group.rowCount)).toEqual(rowGroups.map((group) => group.rowCount));
    for (const { path, as, values: expected } of columns) {
      if (expected !== null) expect(readColumn(after, { path, as }), path.join('.')).toEqual(expected);
    }
    expectNewColumns(after);
  });
});

describe('a column of that name', () => {
  const before = fixture('arrow-schema.parquet');

  test('is bad input', () => {
    expect(() => withColumns(before, false)).toThrow(InputError);
    expect(() => withColumns(before, false)).toThrow(/there is already a column raw_reward/);
  });

  test('goes where it is to be replaced', () => {
    const after = withColumns(before, true, 'category', 'raw_reward');
    const parquet = openParquet(inMemory(after));
    expect(parquet.columns.map(({ path, type }) => `${path.join('.')} ${type}`)).toEqual([
      'large string',
      'when timestamp(us)',
      'span int64',
      'mask list<int8>',
      'reward double',
      'category double',
      'raw_reward float',
    ]);
    expectNewColumns(after, 'category', 'raw_reward');
    expect(values(after, 'large')).toEqual(['a', 'b', null, 'd']);
  });

  test('may be a struct or a list', () => {
    const nested = withColumns(fixture('nesting.parquet'), true, 'metrics', 'one');
    const paths = openParquet(inMemory(nested)).columns.map((column) => column.path.join('.'));
    expect(paths).toEqual(['info.ids.group', 'always', 'nothing', 'metrics', 'one']);
    expectNewColumns(nested, 'metrics', 'one');
  });
});

test('key-value metadata stays, and Arrow is told of the new columns', () => {
  const before = openParquet(inMemory(fixture('arrow-schema.parquet')));
  const after = openParquet(inMemory(withColumns(fixture('arrow-schema.parquet'), true)));
  expect([...after.keyValueMetadata.keys()]).toEqual([...before.keyValueMetadata.keys()]);
  expect(after.keyValueMetadata.get('note')).toBe('kept');
  expect(after.createdBy).toBe(before.createdBy);
  const schema = Buffer.from(after.keyValueMetadata.get('ARROW:schema')!, 'base64').toString('latin1');
  for (const name of ['category', 'Europe/Berlin', 'raw_reward', 'advantage']) expect(schema).toContain(name);
});

describe('a file of some columns', () => {
  const columnsOf = (names: string[]): OutputColumn[] => [
    { source: 'new', column: { name: 'file', kind: 'text', nullable: false } },
    { source: 'new', column: { name: 'row', kind: 'int64', nullable: false } },
    ...names.map((name) => ({ source: 'copied' as const, path: [name], name: `copy of ${name}` })),
    { source: 'new', column: { name: 'advantage', kind: 'float', nullable: false } },
  ];

  test.each(FIXTURES)('copies what %s holds', (name, columns) => {
    const bytes = fixture(name);
    const file = inMemory(bytes);
    const parquet = openParquet(file);
    const copied = columns.filter(({ path, as }) => as === 'value' && path.length === 1 && canCopy(parquet, path));
    const after = written((sink) => {
      const newValues = (index: number): ColumnValues[] => [
        { kind: 'constant text', text: 'run/rollouts.parquet' },
        { kind: 'sequence', first: parquet.rowGroups[index].firstRow + 1 },
        { kind: 'float', values: new Float32Array(parquet.rowGroups[index].rowCount).fill(1.5), present: null },
      ];
      writeColumnsOnly(file, parquet, columnsOf(copied.map(({ path }) => path[0])), newValues, 'snappy', sink);
    });
    const rows = Array.from({ length: parquet.rowCount }, (_, row) => row);
    expect(values(after, 'row')).toEqual(rows.map((row) => String(row + 1)));
    expect(new Set(values(after, 'file'))).toEqual(new Set(rows.length > 0 ? ['run/rollouts.parquet'] : []));
    expect(new Set(values(after, 'advantage')).size).toBe(Math.min(1, rows.length));
    for (const { path, values: expected } of copied) expect(values(after, `copy of ${path[0]}`)).toEqual(expected);
    expect(openParquet(inMemory(after)).columns.map((column) => column.path.join('.'))).toEqual(
      columnsOf(copied.map(({ path }) => path[0])).map((c) => (c.source === 'new' ? c.column.name : c.name)),
    );
  });

  test('refuses to copy what is not flat', () => {
    const file = inMemory(fixture('nesting.parquet'));
    const copy = (path: string[]) =>
      writeColumnsOnly(
        file,
        openParquet(file),
        [{ source: 'copied', path, name: 'x' }],
        () => [],
        'none',
        () => {},
      );
    expect(() => copy(['one'])).toThrow(/column one has type list<double> and cannot be copied alone/);
    expect(() => copy(['metrics', 'accuracy'])).toThrow(InputError);
  });
});

describe('flat files', () => {
  const codecs: WriteCodec[] = ['none', 'snappy', 'gzip', 'zstd'];
  test.each(codecs)('hold what they were given, under %s', (codec) => {
    const random = new Random(3);
    for (const rowCount of [0, 1, 7, 8, 9, 1000]) {
      for (const nulls of [0, 0.2, 1]) {
        const { columns, expected } = someColumns(random, rowCount, nulls);
        const bytes = written((sink) => writeFlatParquet(columns, rowCount, codec, sink));
        for (const { name } of columns)
          expect(values(bytes, name), `${name}, ${rowCount} rows`).toEqual(expected[name]);
      }
    }
  });

  test('past one row group and one page', () => {
    const rowCount = 1_150_000;
    const numbers = Float64Array.from({ length: rowCount }, (_, i) => Math.sqrt(i));
    const columns: FlatColumn[] = [
      { name: 'row', kind: 'int64', nullable: false, values: { kind: 'sequence', first: 5 } },
      { name: 'number', kind: 'double', nullable: true, values: { kind: 'double', values: numbers, present: null } },
    ];
    const file = inMemory(written((sink) => writeFlatParquet(columns, rowCount, 'snappy', sink)));
    const parquet = openParquet(file);
    expect(parquet.rowGroups.map((group) => group.rowCount)).toEqual([1_000_000, 150_000]);
    const [rows, second] = readVectors(file, parquet, 1, [
      { path: ['row'], as: 'value' },
      { path: ['number'], as: 'value' },
    ]);
    expect(rows).toMatchObject({ kind: 'integers', present: null });
    expect(rows.kind === 'integers' && [rows.values[0], rows.values[149_999]]).toEqual([1_000_005n, 1_150_004n]);
    expect(second.kind === 'numbers' && second.values).toEqual(numbers.subarray(1_000_000));
  });
});

/** Columns of every kind, and what each row of them holds. */
function someColumns(random: Random, rowCount: number, nulls: number) {
  const columns: FlatColumn[] = [];
  const expected: Record<string, unknown[]> = {};
  const rows = <T>(make: (row: number) => T): T[] => Array.from({ length: rowCount }, (_, row) => make(row));
  const present = nulls === 0 ? null : Uint8Array.from(rows(() => (random.chance(nulls) ? 0 : 1)));
  const masked = (list: unknown[]) => list.map((value, row) => (present?.[row] === 0 ? null : value));
  const add = (name: string, kind: NewColumn['kind'], of: ColumnValues, plain: unknown[]) => {
    columns.push({ name, kind, nullable: true, values: of });
    expected[name] = masked(plain);
  };
  for (const distinct of [3, 100_000]) {
    const small = rows(() => random.integer(0, distinct));
    const suffix = distinct === 3 ? ' repeated' : '';
    const int64 = BigInt64Array.from(small, (n) => BigInt(n) - 2n ** 62n);
    add(`int64${suffix}`, 'int64', { kind: 'int64', values: int64, present }, [...int64].map(String));
    const uint64 = BigUint64Array.from(small, (n) => 2n ** 64n - 1n - BigInt(n));
    add(`uint64${suffix}`, 'uint64', { kind: 'uint64', values: uint64, present }, [...uint64].map(String));
    const int32 = Int32Array.from(small, (n) => -n);
    add(`int32${suffix}`, 'int32', { kind: 'int32', values: int32, present }, [...int32].map(String));
    const texts = small.map((n) => (n === 0 ? '' : `tëxt ${n}`));
    add(`text${suffix}`, 'text', { ...textsOf(texts), present }, texts);
  }
  const bools = Uint8Array.from(rows(() => random.integer(0, 1)));
  add(
    'bool',
    'bool',
    { kind: 'bool', values: bools, present },
    Array.from(bools, (bit) => bit === 1),
  );
  const floats = Float32Array.from(rows(() => (random.chance(nulls) ? NaN : random.integer(0, 4))));
  columns.push({
    name: 'float',
    kind: 'float',
    nullable: true,
    values: { kind: 'float', values: floats, present: 'not NaN' },
  });
  expected.float = Array.from(floats, (x) => (Number.isNaN(x) ? null : HEX_OF_SMALL[x]));
  return { columns, expected };
}

const HEX_OF_SMALL = [
  '0x0.0p+0',
  '0x1.0000000000000p+0',
  '0x1.0000000000000p+1',
  '0x1.8000000000000p+1',
  '0x1.0000000000000p+2',
];

function textsOf(texts: string[]) {
  const distinct = [...new Set(texts), 'unused'];
  const encoded = distinct.map((text) => new TextEncoder().encode(text));
  const offsets = new Uint32Array(distinct.length + 1);
  encoded.forEach((bytes, i) => {
    offsets[i + 1] = offsets[i] + bytes.length;
  });
  const codes = Uint32Array.from(texts, (text) => distinct.indexOf(text));
  return { kind: 'text' as const, codes, bytes: new Uint8Array(Buffer.concat(encoded)), offsets };
}
