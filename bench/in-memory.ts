/** Ids, plan and advantages of columns that are in memory, beside a SQL engine over a table that is in memory. */
import { DuckDBInstance } from '@duckdb/node-api';
import { createEngine } from '../src/engine.ts';
import type { Batch } from '../src/samples/batch.ts';
import { advantagesQuery } from './rivals-sql.ts';

const RUNS = 3;
/** A prime, so that every row comes once whatever the row count. */
const STRIDE = 1_299_709;

const rows = Number(process.argv[2] ?? 5_000_000);
const threads = process.argv[3] ?? '2';
const instance = await DuckDBInstance.create(':memory:', { threads });
const connection = await instance.connect();
const engine = createEngine({ backend: 'cpu' });
process.stdout.write(`| ${rows} rows | rollnorm | DuckDB, ${threads} threads | times |\n| --- | --- | --- | --- |\n`);
for (const arrangement of ['contiguous', 'shuffled'] as const) {
  await connection.run(`CREATE OR REPLACE TABLE rows AS ${tableOf(arrangement)}`);
  const batch = batchOf(arrangement);
  const plain = {
    ...batch,
    groupIndex: Array.from(batch.groupIndex, Number),
    rolloutId: Array.from(batch.rolloutId, Number),
  };
  const theirs = await fastest(() =>
    connection.run(`CREATE OR REPLACE TABLE advantages AS ${advantagesQuery('rows')}`),
  );
  await report(`${arrangement}, ids as BigInt64Array`, batch, theirs);
  await report(`${arrangement}, ids as arrays of numbers`, plain, theirs);
}
await engine.close();
connection.closeSync();

async function report(name: string, batch: Batch, theirs: number): Promise<void> {
  const ours = await fastest(() => engine.normalize(batch));
  const times = (theirs / ours).toFixed(1);
  process.stdout.write(`| ${name} | ${ours.toFixed(2)} s | ${theirs.toFixed(2)} s | ${times} |\n`);
}

/** Seconds of the best of some runs: on a machine that others use, the one that was disturbed least. */
async function fastest(run: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < RUNS; i++) {
    const started = performance.now();
    await run();
    best = Math.min(best, (performance.now() - started) / 1000);
  }
  return best;
}

/** 4 rollouts in 5 rows, 8 rollouts a group; the same numbers as batchOf. */
function tableOf(arrangement: 'contiguous' | 'shuffled'): string {
  const row = arrangement === 'contiguous' ? 'i' : `(i * ${STRIDE}) % ${rows}`;
  return `SELECT (r // 10)::BIGINT AS group_index, (r * 4 // 5)::BIGINT AS rollout_id, i AS index,
    ((r * 37) % 11)::DOUBLE AS reward, (16 + (r * 7919) % 31)::INTEGER AS response_length
    FROM (SELECT i::BIGINT AS i, ${row} AS r FROM range(${rows}) t(i))`;
}

function batchOf(arrangement: 'contiguous' | 'shuffled') {
  const batch = {
    groupIndex: new BigInt64Array(rows),
    rolloutId: new BigInt64Array(rows),
    reward: new Float64Array(rows),
    responseLength: new Int32Array(rows),
  };
  for (let i = 0; i < rows; i++) {
    const row = arrangement === 'contiguous' ? i : (i * STRIDE) % rows;
    batch.groupIndex[i] = BigInt(Math.floor(row / 10));
    batch.rolloutId[i] = BigInt(Math.floor((row * 4) / 5));
    batch.reward[i] = (row * 37) % 11;
    batch.responseLength[i] = 16 + ((row * 7919) % 31);
  }
  return batch;
}
