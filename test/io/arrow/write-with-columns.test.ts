import { beforeAll, describe, expect, test } from 'vitest';
import { openArrow } from '../../../src/io/arrow/arrow-file.ts';
import { openBatch, readVectors } from '../../../src/io/arrow/read-vectors.ts';
import { FooterSlot, MessageSlot, SchemaSlot } from '../../../src/io/arrow/slots.ts';
import { writeWithColumns } from '../../../src/io/arrow/write-with-columns.ts';
import { prepareBlockCodecs } from '../../../src/io/codecs/block.ts';
import {
  addedTo,
  advantage,
  EXPECTED,
  fixtureBytes,
  memoryFile,
  numberText,
  rawReward,
  readColumn,
} from './support.ts';

const NAMES = Object.keys(EXPECTED);
const HAS_THEM = NAMES.filter((name) => name.startsWith('metadata'));
const ADDED = ['raw_reward', 'advantage'];

beforeAll(() => prepareBlockCodecs(['zstd', 'lz4_frame']));

function rewritten(name: string, replace: boolean): Uint8Array {
  const file = memoryFile(fixtureBytes(name));
  const arrow = openArrow(file);
  const pieces: Uint8Array[] = [];
  writeWithColumns(file, arrow, addedTo(arrow), { replace }, (bytes) => pieces.push(bytes));
  return new Uint8Array(Buffer.concat(pieces));
}

describe.each(NAMES)('%s', (name) => {
  const bytes = rewritten(name, true);
  const { rowCount, batches, columns, format } = openArrow(memoryFile(bytes));
  const rows = Array.from({ length: rowCount }, (_, row) => row);

  test('keeps its format, batches and columns, and gets two', () => {
    const before = openArrow(memoryFile(fixtureBytes(name)));
    expect(format).toBe(before.format);
    expect(batches.map((batch) => batch.rowCount)).toEqual(EXPECTED[name].batches);
    expect(columns).toEqual([
      ...before.columns.filter(({ path }) => !ADDED.includes(path[0])),
      { path: ['raw_reward'], type: 'float64', isList: false },
      { path: ['advantage'], type: 'float32', isList: false },
    ]);
  });

  test('the added values can be read, NaN as null', async () => {
    const spelled = (value: number) => (Number.isNaN(value) ? null : numberText(value));
    expect(await readColumn(bytes, { path: ['raw_reward'], as: 'value' })).toEqual(
      rows.map((row) => spelled(rawReward(row))),
    );
    expect(await readColumn(bytes, { path: ['advantage'], as: 'value' })).toEqual(
      rows.map((row) => spelled(advantage(row))),
    );
  });

  test('every other column reads as before', async () => {
    for (const { path, as } of EXPECTED[name].columns) {
      if (ADDED.includes(path[0])) continue;
      expect(await readColumn(bytes, { path, as })).toEqual(await readColumn(fixtureBytes(name), { path, as }));
    }
  });

  test('messages begin at multiples of 8 bytes, bodies at multiples of 64', () => {
    const { dictionaries } = openArrow(memoryFile(bytes));
    for (const { start, bodyStart, end } of [...batches, ...dictionaries]) {
      expect([start % 8, end % 8]).toEqual([0, 0]);
      if (end > bodyStart) expect(bodyStart % 64).toBe(0);
    }
  });
});

test.each(HAS_THEM)('%s: columns of the names are bad input unless they are replaced', (name) => {
  expect(() => rewritten(name, false)).toThrow('there is already a column raw_reward');
});

test.each(HAS_THEM)('%s: a dictionary that only a replaced column used is gone', (name) => {
  expect(openArrow(memoryFile(fixtureBytes(name))).dictionariesById.size).toBe(2);
  expect(openArrow(memoryFile(rewritten(name, true))).dictionariesById.size).toBe(1);
});

test.each(['metadata.arrow', 'metadata.arrows'])('%s: the bytes of a replaced column are gone', (name) => {
  // Both the column "advantage" and one that stays hold this text, in both batches.
  const count = (bytes: Uint8Array) =>
    Buffer.from(bytes).toString('latin1').split('another text of many bytes').length - 1;
  expect([count(fixtureBytes(name)), count(rewritten(name, true))]).toEqual([4, 2]);
});

test.each(NAMES.filter((name) => !HAS_THEM.includes(name)))('%s: bodies stay byte for byte', (name) => {
  const original = fixtureBytes(name);
  const bytes = rewritten(name, false);
  const [before, after] = [original, bytes].map((each) => openArrow(memoryFile(each)));
  for (const [i, { bodyStart, end }] of before.batches.entries()) {
    const start = after.batches[i].bodyStart;
    expect(bytes.subarray(start, start + end - bodyStart)).toEqual(original.subarray(bodyStart, end));
  }
});

test('metadata of the file, the schema, a field and every batch is kept', () => {
  const file = memoryFile(rewritten('metadata.arrow', true));
  const arrow = openArrow(file);
  if (!('footer' in arrow.schema)) throw new Error('no footer');
  const { footer } = arrow.schema;
  const pairs = (table: typeof footer, slot: number) =>
    table.tablePositions(slot).map((position) => {
      const pair = table.at(position);
      return [pair.text(0), pair.text(1)];
    });
  expect(pairs(footer, FooterSlot.customMetadata)).toEqual([['of the file', 'yes']]);
  const schema = footer.table(FooterSlot.schema);
  if (schema === null) throw new Error('no schema');
  expect(pairs(schema, SchemaSlot.customMetadata)).toEqual([['made by', 'hand']]);
  const [id] = schema.tablePositions(SchemaSlot.fields);
  expect(pairs(schema.at(id), 6)).toEqual([['unit', 'row']]);
  const ofBatches = arrow.batches.map((_, i) =>
    pairs(openBatch(file, arrow, i).message.root, MessageSlot.customMetadata),
  );
  expect(ofBatches).toEqual([[['batch', '0']], [['batch', '1']]]);
});

test('reading a column of a written file touches no other', () => {
  const file = memoryFile(rewritten('types.arrow', false));
  const arrow = openArrow(file);
  const { length } = openBatch(file, arrow, 0).message.flat.bytes;
  file.bytesRead = 0;
  readVectors(file, arrow, 0, [{ path: ['advantage'], as: 'value' }]);
  expect(file.bytesRead).toBeLessThan(length + 8 + 4 * 3 + 1);
});
