/** What users would reach for instead: a SQL engine over Parquet, and JSON.parse over lines. */
import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { advantagesQuery } from './rivals-sql.ts';

const [job, ...args] = process.argv.slice(2);
if (job === 'parse') await parseLines(args[0], args[1]);
else await sql(job, args);

/** Two passes as ours: rewards by JSON.parse, then every line with two fields added. */
async function parseLines(input: string, output: string): Promise<void> {
  const lines = () => createInterface({ input: createReadStream(input, { highWaterMark: 1 << 20 }) });
  const groups = new Map<number, Map<number, { reward: number; tokens: number }>>();
  for await (const line of lines()) {
    const { group_index, rollout_id, reward, loss_mask } = JSON.parse(line);
    const tokens = loss_mask.reduce((sum: number, one: number) => sum + one, 0);
    const rollouts = groups.get(group_index) ?? new Map();
    groups.set(group_index, rollouts);
    if (!(rollouts.get(rollout_id)?.tokens >= tokens)) rollouts.set(rollout_id, { reward, tokens });
  }
  const moments = new Map<number, { mean: number; deviation: number }>();
  for (const [group, rollouts] of groups) {
    const rewards = [...rollouts.values()].map(({ reward }) => reward);
    const mean = rewards.reduce((a, b) => a + b, 0) / rewards.length;
    const squares = rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0);
    moments.set(group, { mean, deviation: Math.sqrt(squares / (rewards.length - 1)) });
  }
  const out = createWriteStream(output, { highWaterMark: 1 << 20 });
  for await (const line of lines()) {
    const { group_index, rollout_id, reward } = JSON.parse(line);
    const { mean, deviation } = moments.get(group_index)!;
    const value = groups.get(group_index)!.get(rollout_id)!.reward;
    const advantage = Math.fround((value - mean) / (deviation + 1e-6));
    const added = `, "raw_reward": ${reward}, "advantage": ${advantage}}\n`;
    if (!out.write(line.slice(0, -1) + added)) await new Promise<void>((resolve) => out.once('drain', () => resolve()));
  }
  await new Promise<void>((resolve) => out.end(() => resolve()));
}

async function sql(job: string, [input, outputOrTokens, ...rest]: readonly string[]): Promise<void> {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  if (job === 'make') await connection.run(makeRows(input, outputOrTokens, Number(rest[0])));
  else await connection.run(normalize(input, outputOrTokens, rest[0], rest[1]));
}

/** 4 rollouts in 5 rows, 8 rollouts a group; a mask of 31 tokens on average or their number. */
function makeRows(output: string, tokens: string, rows: number): string {
  const length = '(16 + hash(i) % 31)::INTEGER';
  const mask = `list_transform(range(${length}), x -> (hash(x + i) % 10 < 7)::TINYINT) AS loss_mask`;
  return `COPY (SELECT (i // 10)::BIGINT AS group_index, (i * 4 // 5)::BIGINT AS rollout_id, i::BIGINT AS index,
    CASE WHEN hash(i) % 2 = 0 THEN (hash(i * 3) % 2)::DOUBLE ELSE (hash(i * 3) % 1000) / 1000.0 END AS reward,
    ${tokens === 'mask' ? mask : `${length} AS response_length`} FROM range(${rows}) t(i))
    TO '${output}' (FORMAT parquet, COMPRESSION zstd)`;
}

function normalize(input: string, output: string, tokens: string, columns: string): string {
  const count = tokens === 'mask' ? 'list_sum(loss_mask)' : 'response_length';
  const wanted =
    columns === 'only'
      ? `'${input}' AS file, row, group_index, rollout_id, index, reward AS raw_reward, advantage`
      : '* EXCLUDE (row, tokens, w, m, s, n), reward AS raw_reward';
  return `COPY (SELECT ${wanted} FROM (${advantagesQuery(`read_parquet('${input}')`, count)}))
    TO '${output}' (FORMAT parquet, COMPRESSION ${columns === 'only' ? 'snappy' : 'zstd'})`;
}
