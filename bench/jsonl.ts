/** How fast are rows read from JSONL and written back, beside JSON.parse on the same bytes? */
import { readColumns } from '../src/io/jsonl/read-columns.ts';
import { writeRows } from '../src/io/jsonl/write-rows.ts';
import type { Output } from '../src/io/output.ts';
import { generator } from './data.ts';
import type { Subject } from './harness.ts';

const OUTPUT_FIELDS = { advantage: 'advantage', rawReward: 'raw_reward', overwrite: false };
const CHUNK = 1 << 20;
const DISCARD: Output = { closed: false, write() {}, async commit() {}, async abort() {} };

export async function* jsonl(): AsyncGenerator<Subject> {
  for (const { name, tokens, rows } of [
    { name: '55 KB lines', tokens: 4608, rows: 4000 },
    { name: '150 B lines', tokens: 0, rows: 400_000 },
  ]) {
    const file = makeFile(rows, tokens);
    const bytes = file.length;
    const subject = (stage: string, run: () => unknown): Subject => ({
      question: 'jsonl',
      name: `${stage}, ${name}`,
      rows,
      bytes,
      run,
    });
    yield subject('JSON.parse of every line', () => parseLines(file));
    yield subject('read columns', () => readColumns(chunksOf(file), { outputFields: OUTPUT_FIELDS }));
    const values = { rawRewards: new Float64Array(rows), advantages: new Float32Array(rows) };
    yield subject('write rows', () => writeRows('bench', chunksOf(file), undefined, values, OUTPUT_FIELDS, DISCARD));
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

async function* chunksOf(file: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < file.length; at += CHUNK) yield file.subarray(at, at + CHUNK);
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
