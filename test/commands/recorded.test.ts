/** How far recorded advantages are from ours: what is not finite is no agreement. */
import { expect, test } from 'vitest';
import { compareRecorded } from '../../src/commands/normalize/recorded.ts';
import { describeRecorded } from '../../src/commands/normalize/summary.ts';
import { createEngine } from '../../src/engine.ts';
import { columnsOfBatch } from '../../src/samples/batch.ts';

async function compare(...recorded: number[]) {
  const engine = createEngine({ backend: 'cpu' });
  const columns = columnsOfBatch({ groupIndex: recorded.map(() => 0), reward: recorded.map((_, row) => row % 2) });
  const { advantages } = await engine.normalizeColumns(columns, {});
  const ours = recorded.map((value, row) => (value === 0 ? advantages[row] : value));
  return compareRecorded('a', Float64Array.from(ours), advantages, columns, {}, engine);
}

test('infinities and NaN are counted apart', async () => {
  const comparison = await compare(0, 0, Infinity, -Infinity, NaN);
  expect(comparison).toMatchObject({ rows: 2, not_finite: 2, differing: 0, largest_difference: 0, rule: 'the same' });
  expect(describeRecorded(comparison)).toMatch(/agree with ours; 2 of them are not finite and were not compared/);
});

test('where nothing is finite, nothing agrees', async () => {
  const comparison = await compare(Infinity, Infinity);
  expect(comparison).toMatchObject({ rows: 0, not_finite: 2, mean_difference: 0, rule: null });
  expect(describeRecorded(comparison)).toMatch(/say nothing; 2 of them are not finite/);
});
