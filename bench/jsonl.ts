/** How fast are rows read from JSONL and written back by one thread, beside JSON.parse on the same bytes? */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { resolveLayout } from '../src/io/layouts/resolve-layout.ts';
import { runTask } from '../src/io/tasks.ts';
import { generator } from './data.ts';
import type { Subject } from './harness.ts';
import { memoryFolder } from './place.ts';

const OUTPUT_FIELDS = { advantage: 'advantage', rawReward: 'raw_reward', extra: [], overwrite: false };
const READ_OPTIONS = { layout: resolveLayout({}), outputFields: OUTPUT_FIELDS, keepIndexes: false };

export async function* jsonl(): AsyncGenerator<Subject> {
  for (const { name, tokens, rows } of [
    { name: '55 KB lines', tokens: 4608, rows: 4000 },
    { name: '150 B lines', tokens: 0, rows: 400_000 },
  ]) {
    const file = makeFile(rows, tokens);
    const bytes = file.length;
    const path = join(memoryFolder(), `rollnorm-bench-${process.pid}.jsonl`);
    writeFileSync(path, file);
    const portion = { format: 'lines', path, name: path, start: 0, end: bytes, maxLine: undefined } as const;
    const subject = (stage: string, run: () => unknown): Subject => ({
      question: 'jsonl',
      name: `${stage}, ${name}`,
      rows,
      bytes,
      run,
    });
    try {
      yield subject('JSON.parse of every line', () => parseLines(file));
      yield subject('read columns', () => runTask({ do: 'read', portion, options: READ_OPTIONS }, () => {}));
      const values = { rawRewards: new Float64Array(rows), advantages: new Float32Array(rows), extras: [], keep: null };
      yield subject('write rows', () =>
        runTask({ do: 'augment', portion, values, fields: OUTPUT_FIELDS, place: null }, () => {}),
      );
    } finally {
      rmSync(path, { force: true });
    }
  }
}

function makeFile(rows: number, tokens: number): Buffer {
  const random = generator(3);
  const ids = Array.from({ length: tokens }, () => Math.floor(random() * 150_000));
  const mask = ids.slice(Math.floor(tokens / 9)).map(() => (random() < 0.7 ? 1 : 0));
  const extra = tokens > 0 ? `, "tokens": [${ids.join(', ')}], "loss_mask": [${mask.join(', ')}]` : '';
  const lines: string[] = [];
  for (let row = 0; row < rows; row++) {
    const ids = `"group_index": ${row >> 4}, "rollout_id": ${row >> 1}, "index": ${row}`;
    lines.push(
      `{${ids}, "reward": ${(random() * 2 - 1).toFixed(3)}, "response": "said \\"no\\" to row ${row}"${extra}, "status": "completed"}\n`,
    );
  }
  return Buffer.from(lines.join(''));
}

function parseLines(file: Buffer): number {
  let sum = 0;
  for (let start = 0; start < file.length; ) {
    const end = file.indexOf(10, start);
    sum += JSON.parse(file.toString('utf8', start, end)).reward;
    start = end + 1;
  }
  return sum;
}
