/** Files of many rows in every format, large enough that something can be done while they are read or written. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { samplesFile } from '../io/torch/pickled.ts';
import { runCli } from './run-cli.ts';

const ROWS = 120_000;
const SAMPLES = 40_000;

export type ManyRowsFormat = 'jsonl' | 'gzip' | 'parquet' | 'arrow' | 'torch';

/** The names of the files. */
export const MANY_ROWS: Readonly<Record<ManyRowsFormat, string>> = {
  jsonl: 'rows.jsonl',
  gzip: 'rows.jsonl.gz',
  parquet: 'rows.parquet',
  arrow: 'rows.arrow',
  torch: 'rows.pt',
};

/** Names a sidecar's columns so that it can be an input itself. */
export const AS_INPUT = ['--only', '--raw-reward-field', 'reward', '--advantage-field', 'before'];

export async function writeManyRows(folder: string): Promise<void> {
  const lines: string[] = [];
  for (let row = 0; row < ROWS; row++) {
    const reward = ((row * 7919) % 1009) / 1009;
    lines.push(`{"group_index": ${row >> 4}, "rollout_id": ${row >> 1}, "reward": ${reward}, "text": "${row ** 4}"}\n`);
  }
  const text = lines.join('');
  const jsonl = join(folder, MANY_ROWS.jsonl);
  writeFileSync(jsonl, text);
  writeFileSync(join(folder, MANY_ROWS.gzip), gzipSync(text, { level: 1 }));
  const samples = Array.from({ length: SAMPLES }, (_, index) => ({
    index,
    group_index: index >> 3,
    reward: index % 7,
  }));
  writeFileSync(join(folder, MANY_ROWS.torch), samplesFile(samples));
  for (const name of [MANY_ROWS.parquet, MANY_ROWS.arrow]) {
    const { status, stderr } = await runCli([
      'normalize',
      jsonl,
      ...AS_INPUT,
      '--backend',
      'cpu',
      '-o',
      join(folder, name),
    ]);
    if (status !== 0) throw new Error(stderr);
  }
}
