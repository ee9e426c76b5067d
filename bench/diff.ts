/** How much more than one `normalize` does a `diff` of two settings cost? The bound is 1.5. */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generator } from './data.ts';
import { memoryFolder } from './place.ts';
import { type Measured, runScript } from './process.ts';

const CLI = fileURLToPath(new URL('../src/main.js', import.meta.url));
const RIVALS = fileURLToPath(new URL('./rivals.js', import.meta.url));
const BOUND = 1.5;
const ROUNDS = 3;

/** Settings that share a plan, and some that need one of their own. */
const AGAINST = [
  ['--against', '--advantage-estimator dr_grpo'],
  ['--against', 'rows'],
  ['--against', '--like slime'],
];

const rows = Number(process.argv[2] ?? 1_000_000);
const folder = mkdtempSync(join(memoryFolder(), 'rollnorm-diff-'));
try {
  process.stdout.write(
    '| rows | against | normalize | diff | ratio | CPU time | of diff | ratio | peak | of diff |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n',
  );
  const parquet = join(folder, 'rows.parquet');
  spawnSync(process.execPath, [RIVALS, 'make', parquet, 'length', String(rows)], { stdio: 'inherit' });
  compareAll('Parquet', parquet, []);
  compareAll('Parquet, --only', parquet, ['--only']);
  rmSync(parquet);
  const lines = join(folder, 'rows.jsonl');
  makeLines(lines, rows);
  compareAll('JSONL, 150 B lines', lines, []);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function least(runs: readonly Measured[], kind: keyof Measured): number {
  return Math.min(...runs.map((run) => run[kind]));
}

function compareAll(name: string, input: string, writing: readonly string[]): void {
  const output = join(folder, input.endsWith('.parquet') ? 'out.parquet' : 'out.jsonl');
  for (const against of AGAINST) {
    const ones: Measured[] = [];
    const twos: Measured[] = [];
    // In turn, so that both meet the same machine.
    for (let round = 0; round < ROUNDS; round++) {
      ones.push(runScript(CLI, ['normalize', '--backend', 'cpu', input, ...writing, '-o', output]));
      twos.push(runScript(CLI, ['diff', '--backend', 'cpu', input, ...against]));
    }
    const cells = (['seconds', 'cpuSeconds'] as const).flatMap((kind) => {
      const [one, two] = [least(ones, kind), least(twos, kind)];
      const ratio = two / one;
      return [
        `${one.toFixed(2)} s`,
        `${two.toFixed(2)} s`,
        `${ratio.toFixed(2)}${ratio > BOUND ? ' PAST THE BOUND' : ''}`,
      ];
    });
    cells.push(`${least(ones, 'megabytes').toFixed(0)} MB`, `${least(twos, 'megabytes').toFixed(0)} MB`);
    process.stdout.write(`| ${name} | ${against[1]} | ${cells.join(' | ')} |\n`);
  }
  rmSync(output, { force: true });
}

function makeLines(path: string, count: number): void {
  const random = generator(3);
  const descriptor = openSync(path, 'w');
  for (let row = 0; row < count; row++) {
    const ids = `"group_index": ${Math.floor(row / 20)}, "rollout_id": ${Math.floor((row * 2) / 5)}, "index": ${row}`;
    const rest = `"response_length": ${Math.floor(random() * 4096)}, "response": "row ${row}", "status": "completed"`;
    writeSync(descriptor, `{${ids}, "reward": ${(random() * 2 - 1).toFixed(3)}, ${rest}}\n`);
  }
  closeSync(descriptor);
}
