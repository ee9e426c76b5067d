import { expect, test } from 'vitest';
import { openArrow } from '../../../src/io/arrow/arrow-file.ts';
import { EXPECTED, fixtureBytes, memoryFile, numberText, readColumn } from './support.ts';

test.each(Object.entries(EXPECTED))('%s: batches and row numbers', (name, expected) => {
  const arrow = openArrow(memoryFile(fixtureBytes(name)));
  expect(arrow.batches.map((batch) => batch.rowCount)).toEqual(expected.batches);
  expect(arrow.rowCount).toBe(expected.batches.reduce((sum, rows) => sum + rows, 0));
  let firstRow = 0;
  for (const batch of arrow.batches) {
    expect(batch.firstRow).toBe(firstRow);
    firstRow += batch.rowCount;
  }
});

const columns = Object.entries(EXPECTED).flatMap(([name, file]) =>
  file.columns.map(({ path, as, rows }) => [name, path.join('.'), path, as, rows] as const),
);

test.each(columns)('%s: column %s', async (name, _, path, as, rows) => {
  const found = await readColumn(fixtureBytes(name), { path, as });
  const isFloat = /float|weight|reward|single$/.test(path[0]) || path.at(-1) === 'weight';
  // Python and JavaScript spell the same number in two ways.
  const spelled = rows.map((row) =>
    isFloat && typeof row === 'string' && row !== '' && !Number.isNaN(Number(row)) ? numberText(Number(row)) : row,
  );
  expect(found).toEqual(spelled);
});
