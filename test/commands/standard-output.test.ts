/** Standard output that has no room is an error, one that nobody reads is none, whatever command prints. */
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CLI } from '../support/run-cli.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollnorm-stdout-'));
  const line = (row: number) => `{"group_index": ${row >> 2}, "rollout_id": ${row >> 1}, "reward": ${(row * 7) % 5}}\n`;
  const rows = (count: number) => Array.from({ length: count }, (_, row) => line(row)).join('');
  writeFileSync(join(folder, 'few.jsonl'), rows(8));
  writeFileSync(join(folder, 'many.jsonl'), rows(120_000));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const COMMANDS = [
  ['--help'],
  ['--version'],
  ['presets'],
  ['presets', '--json'],
  ['doctor', '--json'],
  ['normalize', '--help'],
  ['normalize', 'few.jsonl'],
  ['normalize', 'many.jsonl', '--threads', '3'],
  ['normalize', 'many.jsonl', '--only', '--to', 'parquet'],
  ['inspect', 'few.jsonl', '--json'],
  ['explain', 'few.jsonl', '--row', '3'],
  ['diff', 'few.jsonl', '--against', 'rows'],
  ['parity', '--rows', 'few.jsonl', 'few.jsonl'],
];
const named = COMMANDS.map((args) => [args.join(' '), args] as const);

interface Ended {
  readonly status: number | null;
  readonly stderr: string;
  /** What is left where temporary files go. */
  readonly left: string[];
}

function run(args: readonly string[], stdout: number | 'pipe', readsFirst = false): Promise<Ended> {
  const scratch = mkdtempSync(join(folder, 'scratch-'));
  const env = { ...process.env, TMPDIR: scratch };
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', stdout, 'pipe'], cwd: folder, env });
  if (readsFirst) child.stdout?.once('data', () => child.stdout?.destroy());
  else child.stdout?.destroy();
  let stderr = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve) =>
    child.on('close', (status) => resolve({ status, stderr, left: readdirSync(scratch) })),
  );
}

test.each(named)('%s: no room', async (_, args) => {
  const full = openSync('/dev/full', 'w');
  const { status, stderr, left } = await run(args, full);
  closeSync(full);
  expect([status, stderr]).toEqual([74, expect.stringMatching(/rollnorm: .*cannot write: no space left on device/)]);
  expect(left).toEqual([]);
});

test.each(named)('%s: no reader', async (_, args) => {
  const { status, stderr, left } = await run(args, 'pipe');
  expect(stderr).not.toMatch(/at .*\.js:|EPIPE|internal/);
  expect([status, left]).toEqual([0, []]);
});

describe('a reader that goes away after the first bytes', () => {
  test.each([
    [['normalize', 'many.jsonl', '--threads', '1']],
    [['normalize', 'many.jsonl', '--threads', '3']],
    [['normalize', 'many.jsonl', '--only', '--to', 'jsonl']],
    [['normalize', 'many.jsonl', '--only', '--to', 'arrow']],
  ])('%j ends quietly', async (args) => {
    const { status, stderr, left } = await run(args, 'pipe', true);
    expect(stderr).not.toMatch(/at .*\.js:|EPIPE|internal/);
    expect([status, left]).toEqual([0, []]);
  });
});

test('a reader of messages that goes away is nothing to the rows', async () => {
  const child = spawn(process.execPath, [CLI, 'normalize', 'few.jsonl'], { stdio: 'pipe', cwd: folder });
  child.stderr.destroy();
  const rows: Buffer[] = [];
  child.stdout.on('data', (data: Buffer) => rows.push(data));
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0);
  expect(Buffer.concat(rows).toString().trimEnd().split('\n')).toHaveLength(8);
});
