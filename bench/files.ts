/** The whole command on files, beside a rival that does the same job: DuckDB for Parquet, JSON.parse for JSONL. */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memoryFolder } from './place.ts';
import { measureScript } from './process.ts';
import { writeTorchFile } from './torch-file.ts';

const CLI = fileURLToPath(new URL('../src/main.js', import.meta.url));
const RIVALS = fileURLToPath(new URL('./rivals.js', import.meta.url));

function compare(name: string, ours: readonly string[], rival: readonly string[]): void {
  const a = measureScript(CLI, ['normalize', '--backend', 'cpu', ...ours]);
  const b = measureScript(RIVALS, rival);
  const cells = [
    `${a.seconds.toFixed(2)} s`,
    `${b.seconds.toFixed(2)} s`,
    (a.seconds / b.seconds).toFixed(2),
    `${a.megabytes.toFixed(0)} MB`,
    `${b.megabytes.toFixed(0)} MB`,
  ];
  process.stdout.write(`| ${name} | ${cells.join(' | ')} |\n`);
}

/** Of what no package here reads as well. */
function rate(name: string, byteLength: number, ours: readonly string[]): void {
  const { seconds, megabytes } = measureScript(CLI, ['normalize', '--backend', 'cpu', ...ours]);
  const perSecond = `${(byteLength / seconds / 1e6).toFixed(0)} MB/s`;
  process.stdout.write(`| ${name} | ${seconds.toFixed(2)} s, ${perSecond} | | | ${megabytes.toFixed(0)} MB | |\n`);
}

const rows = Number(process.argv[2] ?? 5_000_000);
const folder = mkdtempSync(join(memoryFolder(), 'rollnorm-files-'));
try {
  const file = (name: string) => join(folder, name);
  process.stdout.write(
    '| job | rollnorm | rival | ratio | peak | rival peak |\n| --- | --- | --- | --- | --- | --- |\n',
  );
  for (const tokens of ['mask', 'length']) {
    const input = file(`${tokens}.parquet`);
    spawnSync(process.execPath, [RIVALS, 'make', input, tokens, String(rows)], { stdio: 'inherit' });
    const [ours, theirs] = [file('ours.parquet'), file('theirs.parquet')];
    compare(`Parquet, ${tokens}, --only`, ['--only', input, '-o', ours], ['duckdb', input, theirs, tokens, 'only']);
    compare(`Parquet, ${tokens}, all columns`, [input, '-o', ours], ['duckdb', input, theirs, tokens, 'all']);
    for (const path of [input, ours, theirs]) rmSync(path, { force: true });
  }
  const lines = file('long.jsonl');
  makeLines(lines, Math.ceil(rows / 250));
  compare('JSONL, 55 KB lines', [lines, '-o', file('ours.jsonl')], ['parse', lines, file('theirs.jsonl')]);
  for (const path of [lines, file('ours.jsonl'), file('theirs.jsonl')]) rmSync(path, { force: true });
  const dump = file('dump.pt');
  const byteLength = writeTorchFile(dump, Math.ceil(rows / 500));
  rate('torch .pt, 31 KB samples', byteLength, [dump, '-o', file('ours.jsonl')]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function makeLines(path: string, count: number): void {
  const tokens = Array.from({ length: 4608 }, (_, i) => (i * 7919) % 150_000).join(', ');
  const mask = Array.from({ length: 4096 }, (_, i) => (i % 10 < 7 ? 1 : 0)).join(', ');
  const descriptor = openSync(path, 'w');
  for (let row = 0; row < count; row++) {
    const ids = `"group_index": ${row >> 4}, "rollout_id": ${row >> 1}, "index": ${row}, "reward": ${(row * 37) % 11}`;
    writeSync(descriptor, `{${ids}, "tokens": [${tokens}], "loss_mask": [${mask}], "status": "completed"}\n`);
  }
  closeSync(descriptor);
}
