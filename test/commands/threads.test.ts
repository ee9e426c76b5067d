/** Several threads write what one writes, byte for byte, compressed or not. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../support/run-cli.ts';

const ROWS = 3000;
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollnorm-'));
  const lines = Array.from({ length: ROWS }, (_, row) => {
    const ids = `"group_index": ${row >> 4}, "rollout_id": ${row >> 1}, "reward": ${(row * 37) % 11}`;
    // Lines of any length, so that portions of a file end anywhere in them.
    return `{${ids}, "response": "${'word '.repeat((row * 7919) % 1500)}"}\n`;
  });
  writeFileSync(join(folder, 'in.jsonl'), lines.join(''));
});

afterAll(() => rmSync(folder, { recursive: true }));

async function normalize(input: string, output: string, threads: number): Promise<Buffer> {
  const to = join(folder, output);
  const args = ['--backend', 'cpu', '--threads', String(threads), '--overwrite', '-o', to];
  const run = await runCli(['normalize', join(folder, input), ...args]);
  expect(run.stderr).not.toMatch(/error/);
  expect(run.status).toBe(0);
  return readFileSync(to);
}

test('whatever the threads and the compression', async () => {
  const expected = await normalize('in.jsonl', 'one.jsonl', 1);
  expect(expected.toString().split('\n').length).toBe(ROWS + 1);
  expect((await normalize('in.jsonl', 'three.jsonl', 3)).equals(expected)).toBe(true);
  expect(gunzipSync(await normalize('in.jsonl', 'three.jsonl.gz', 3)).equals(expected)).toBe(true);
  await normalize('three.jsonl.gz', 'three.jsonl.zst', 3);
  expect((await normalize('three.jsonl.zst', 'back.jsonl', 3)).equals(expected)).toBe(true);
});

test('standard output gets the same, and nothing in between', async () => {
  const expected = await normalize('in.jsonl', 'two.jsonl', 2);
  const run = await runCli(['normalize', join(folder, 'in.jsonl'), '--backend', 'cpu', '--threads', '3']);
  expect(run.stdout.equals(expected)).toBe(true);
});
