/** Any reference into any record finds what JSON.parse and a plain walk find. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { RecordCells } from '../../../src/io/jsonl/cells.ts';
import { IdReader } from '../../../src/io/jsonl/id-reader.ts';
import { MaskReader } from '../../../src/io/jsonl/mask-reader.ts';
import { Kind } from '../../../src/io/jsonl/scan.ts';
import { decodeString, parseNumber } from '../../../src/io/jsonl/values.ts';
import { ALL, EACH_ROW, parseReference, type Reference, type Step } from '../../../src/io/layouts/reference.ts';
import { parseId } from '../../../src/io/layouts/resolve-layout.ts';
import { IdCoder, NO_ID } from '../../../src/samples/ids.ts';

/** Rounds by hand: ROLLNORM_ROUNDS=100000. */
const numRuns = Number(process.env.ROLLNORM_ROUNDS ?? 300);

/** A JSON value with what JSON.parse cannot hold: repeated names, escaped names, bare NaN. */
type Value =
  | { readonly is: 'plain'; readonly value: number | string | boolean | null }
  | { readonly is: 'list'; readonly entries: readonly Value[] }
  | { readonly is: 'object'; readonly members: readonly Member[] };
interface Member {
  readonly name: string;
  readonly isEscaped: boolean;
  readonly value: Value;
}

const NAMES = ['a', 'b', 'c', 'a.b', '', '0', 'é', 'x"y', 'long name of a member', '*'] as const;

const { value: valueArbitrary } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc
      .oneof(
        fc.integer({ min: -3, max: 3 }),
        fc.constantFrom(NaN, Infinity, -Infinity, 0.5, 1e300, -0, true, false, null),
        fc.constantFrom('', 'a', '7', 'é', '"', '\\', 'a}b', '[', 'true'),
        fc.string({ maxLength: 60 }),
      )
      .map((value): Value => ({ is: 'plain', value })),
    fc.array(tie('value'), { maxLength: 4 }).map((entries): Value => ({ is: 'list', entries })),
    fc.array(member(tie('value')), { maxLength: 5 }).map((members): Value => ({ is: 'object', members })),
  ),
}));

function member(value: fc.Arbitrary<Value>): fc.Arbitrary<Member> {
  return fc.record({ name: fc.constantFrom(...NAMES), isEscaped: fc.boolean(), value });
}

const recordArbitrary = fc
  .array(member(valueArbitrary), { maxLength: 6 })
  .map((members) => ({ is: 'object', members }) as const);
const spaces = fc.array(fc.constantFrom('', '', ' ', '  ', '\t'), { minLength: 1, maxLength: 7 });

function write(value: Value, space: () => string): string {
  if (value.is === 'plain') return typeof value.value === 'number' ? spell(value.value) : JSON.stringify(value.value);
  if (value.is === 'list') {
    if (value.entries.length === 0) return `[${space()}]`;
    return `[${value.entries.map((entry) => `${space()}${write(entry, space)}${space()}`).join(',')}]`;
  }
  if (value.members.length === 0) return `{${space()}}`;
  const members = value.members.map(
    ({ name, isEscaped, value: inner }) =>
      `${space()}${isEscaped ? escaped(name) : JSON.stringify(name)}${space()}:${space()}${write(inner, space)}${space()}`,
  );
  return `{${members.join(',')}}`;
}

function spell(x: number): string {
  return Object.is(x, -0) ? '-0' : String(x);
}

function escaped(name: string): string {
  const units = Array.from({ length: name.length }, (_, i) => name.charCodeAt(i).toString(16).padStart(4, '0'));
  return `"${units.map((unit) => `\\u${unit}`).join('')}"`;
}

/** What a reader should see; the last of equal names counts. */
type Seen = undefined | null | number | string | boolean | readonly Seen[] | Map<string, Seen>;

function see(value: Value): Seen {
  if (value.is === 'plain') return value.value;
  if (value.is === 'list') return value.entries.map(see);
  return new Map(value.members.map(({ name, value: inner }) => [name, see(inner)]));
}

function isList(value: Seen): value is readonly Seen[] {
  return Array.isArray(value);
}

function walk(value: Seen, steps: readonly Step[], row = 0): Seen {
  let at = value;
  for (const step of steps) {
    if (step === EACH_ROW) at = isList(at) ? at[row] : undefined;
    else if (typeof step === 'number') at = isList(at) ? at[step] : undefined;
    else at = at instanceof Map ? at.get(step) : undefined;
  }
  return at;
}

const plainName = fc.constantFrom('a', 'b', 'c', 'a\\.b', 'é', 'x"y', 'long name of a member');
const plainReference = fc
  .tuple(plainName, fc.array(fc.oneof(plainName, fc.constantFrom('0', '1', '3')), { maxLength: 3 }))
  .map(([first, rest]) => [first, ...rest].join('.'));
const rowsReference = fc
  .tuple(
    fc.constantFrom('a[]', 'b[]', 'a.b[]', 'a.0[]'),
    fc.array(fc.oneof(plainName, fc.constant('0')), { maxLength: 2 }),
  )
  .map(([first, rest]) => [first, ...rest].join('.'));

/** What stands in a cell, nothing parsed that the walk does not compare. */
function found(cells: RecordCells, bytes: Buffer, reference: Reference): unknown {
  const cell = cells.cellOf(reference);
  const [start, end] = [cells.start[cell], cells.end[cell]];
  switch (cells.kind[cell]) {
    case Kind.absent:
      return undefined;
    case Kind.null:
      return null;
    case Kind.true:
      return true;
    case Kind.false:
      return false;
    case Kind.number:
      return parseNumber(bytes, start, end);
    case Kind.string:
      return decodeString(bytes, start, end);
    default:
      return [bytes[start], bytes[end - 1]].map((byte) => String.fromCharCode(byte)).join('');
  }
}

function outlined(value: Seen): unknown {
  if (isList(value)) return '[]';
  return value instanceof Map ? '{}' : value;
}

/** The record between other bytes, as in a chunk. */
function place(record: Value, blanks: readonly string[]): { bytes: Buffer; start: number; end: number } {
  let next = 0;
  const text = write(record, () => blanks[next++ % blanks.length]);
  const bytes = Buffer.from(`"}]${text}{["`);
  return { bytes, start: 3, end: bytes.length - 3 };
}

const records = fc.array(fc.tuple(recordArbitrary, spaces), { minLength: 1, maxLength: 3 });

describe('the reader of bytes agrees with JSON.parse and a walk', () => {
  test('through objects and lists, record after record', () => {
    fc.assert(
      fc.property(records, fc.array(plainReference, { minLength: 1, maxLength: 5 }), (all, texts) => {
        const references = texts.map(parseReference);
        const cells = new RecordCells(references, ['advantage', 'a']);
        for (const [record, blanks] of all) {
          const { bytes, start, end } = place(record, blanks);
          cells.scan(bytes, start, end);
          const seen = see(record);
          for (const reference of references)
            expect(found(cells, bytes, reference)).toEqual(outlined(walk(seen, reference.steps)));
          expect(cells.kind[cells.cellOfName('advantage')]).toBe(Kind.absent);
          expect(cells.kind[cells.cellOfName('a')] !== Kind.absent).toBe(walk(seen, ['a']) !== undefined);
        }
      }),
      { numRuns },
    );
  });

  test('and where entries of a list are rows', () => {
    fc.assert(
      fc.property(
        records,
        fc.array(rowsReference, { minLength: 1, maxLength: 3 }),
        fc.array(plainReference, { maxLength: 2 }),
        (all, rowTexts, texts) => {
          const references = [...rowTexts, ...texts].map(parseReference);
          const cells = new RecordCells(references);
          for (const [record, blanks] of all) {
            const { bytes, start, end } = place(record, blanks);
            const seen = see(record);
            const rowCount = rowsOf(seen, references);
            if (typeof rowCount === 'string') {
              expect(() => cells.scan(bytes, start, end)).toThrow(InputError);
              continue;
            }
            cells.scan(bytes, start, end);
            expect(cells.rowCount).toBe(rowCount);
            for (let row = 0; row < rowCount; row++) {
              cells.selectRow(bytes, row);
              for (const reference of references)
                expect(found(cells, bytes, reference)).toEqual(outlined(walk(seen, reference.steps, row)));
            }
          }
        },
      ),
      { numRuns },
    );
  });

  test('masks of entries taken together', () => {
    const reference = fc
      .tuple(
        plainName,
        fc.array(plainName, { maxLength: 1 }),
        fc.array(fc.oneof(plainName, fc.constant('0')), { maxLength: 2 }),
      )
      .map(([first, before, after]) => [first, ...before, '*', ...after].join('.'));
    fc.assert(
      fc.property(records, reference, (all, text) => {
        const column = parseReference(text);
        const cells = new RecordCells([column]);
        const reader = new MaskReader({ column, counts: 'ones' }, cells.cellOf(column));
        for (const [record, blanks] of all) {
          const { bytes, start, end } = place(record, blanks);
          cells.scan(bytes, start, end);
          const expected = onesOf(see(record), column.steps);
          if (expected === 'refused') expect(() => reader.read(cells, bytes)).toThrow();
          else expect(reader.read(cells, bytes)?.trained ?? null).toBe(expected);
        }
      }),
      { numRuns },
    );
  });

  test('ids of one column or several, with their place in the file', () => {
    const part = fc.oneof(plainReference, fc.constant('#record'), fc.constant('#entry'));
    const source = fc
      .array(fc.array(part, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 })
      .map((alternatives) => alternatives.map((parts) => parts.join('+')).join('|'));
    fc.assert(
      fc.property(recordArbitrary, spaces, source, (record, blanks, text) => {
        const id = parseId(text);
        const sources = id.otherwise ? [id, id.otherwise] : [id];
        const columns = sources.flatMap(({ parts }) => parts.map(({ column }) => column));
        const cells = new RecordCells(columns.filter(({ text: name }) => !name.startsWith('#')));
        const coder = new IdCoder();
        const reader = new IdReader('group_index', id, coder, cells);
        const { bytes, start, end } = place(record, blanks);
        cells.scan(bytes, start, end);
        const expected = idOf(see(record), sources);
        const read = () => reader.read(bytes, { record: 41, entry: 5 }, 0);
        if (expected === 'refused') {
          expect(read).toThrow();
          return;
        }
        const code = read();
        expect(code === NO_ID ? null : coder.describe(code)).toBe(expected);
        reader.check(bytes, 1);
      }),
      { numRuns },
    );
  });
});

/** Rows of a record, or why it is refused. */
function rowsOf(record: Seen, references: readonly Reference[]): number | string {
  const lengths = new Set<number>();
  for (const { steps } of references) {
    const each = steps.indexOf(EACH_ROW);
    if (each < 0) continue;
    const list = walk(record, steps.slice(0, each));
    if (list === undefined || list === null) continue;
    if (!isList(list)) return 'no list';
    lengths.add(list.length);
  }
  if (lengths.size !== 1) return lengths.size === 0 ? 'none' : 'of different lengths';
  return [...lengths][0];
}

/** Ones of all masks behind `.*`; null without the list. */
function onesOf(record: Seen, steps: readonly Step[]): number | null | 'refused' {
  const all = steps.indexOf(ALL);
  const list = walk(record, steps.slice(0, all));
  if (list === undefined || list === null) return null;
  const entries = list instanceof Map ? 'refused' : isList(list) ? list : 'refused';
  if (entries === 'refused') return 'refused';
  let ones = 0;
  for (const entry of entries) {
    const mask = walk(entry, steps.slice(all + 1));
    if (mask === undefined || mask === null) continue;
    if (!isList(mask)) return 'refused';
    for (const one of mask) {
      if (one !== 0 && one !== 1 && one !== true && one !== false) return 'refused';
      ones += Number(one);
    }
  }
  return ones;
}

type Sources = readonly { readonly parts: readonly { readonly column: Reference }[] }[];

/** The id as JSON, null where it is absent. */
function idOf(record: Seen, sources: Sources): string | null | 'refused' {
  const kinds = new Map<string, string>();
  for (const { parts } of sources) {
    const ids: (number | string)[] = [];
    for (const { column } of parts) {
      const value = column.text === '#record' ? 41 : column.text === '#entry' ? 5 : walk(record, column.steps);
      if (value === undefined || value === null) break;
      if (typeof value !== 'string' && !Number.isInteger(value)) return 'refused';
      kinds.set(column.text, typeof value);
      ids.push(typeof value === 'string' ? value : Number(value));
    }
    if (ids.length < parts.length) continue;
    const texts = ids.map((one) => (typeof one === 'string' ? JSON.stringify(one) : exactly(one)));
    return texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  }
  return null;
}

/** The integer that is spelled 1e+300 is not the binary64 number next to it, and ids are exact. */
function exactly(one: number): string {
  return one === 1e300 ? `1${'0'.repeat(300)}` : BigInt(one).toString();
}
