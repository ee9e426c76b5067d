/** Many files, batches inside a file, and what is left behind when something goes wrong. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CLI, runCli } from '../support/run-cli.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollnorm-many-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Two groups of two rollouts; every file restarts its ids. */
const rows = (shift: number) =>
  [0, 0, 1, 1]
    .map((group, index) => `{"group_index": ${group}, "index": ${index}, "reward": ${index + shift * (index % 2)}}\n`)
    .join('');

let made = 0;
function filesIn(contents: Record<string, string>): string {
  const path = join(folder, `in-${made++}`);
  mkdirSync(path);
  for (const [name, content] of Object.entries(contents)) writeFileSync(join(path, name), content);
  return path;
}
const target = () => join(folder, `out-${made++}`);
const contents = (path: string) =>
  Object.fromEntries(readdirSync(path).map((name) => [name, readFileSync(join(path, name), 'utf8')]));

describe('a directory', () => {
  test('each file is a batch of its own, with the output of one file alone', async () => {
    const input = filesIn({ '2.jsonl': rows(1), '10.jsonl': rows(5), 'notes.txt': 'no rows' });
    const output = target();
    const run = await runCli(['normalize', input, '--out-dir', output]);
    expect(run.status).toBe(0);
    for (const name of ['2.jsonl', '10.jsonl']) {
      const alone = await runCli(['normalize', join(input, name)]);
      expect(contents(output)[name]).toBe(alone.stdout.toString());
    }
    expect(run.stderr).toMatch(/passed over .*notes\.txt/);
    expect(run.stderr).toMatch(/2\.jsonl: 4 rows[\s\S]*10\.jsonl: 4 rows[\s\S]*2 of 2 batches done, 8 rows/);
  });

  test('a bad file is reported, does not stop the others, and leaves no output; exit 3', async () => {
    const input = filesIn({ 'a.jsonl': rows(1), 'b.jsonl': '{"reward": "good"}\n', 'c.jsonl': rows(2) });
    const output = target();
    const summary = join(folder, 'summary.json');
    const run = await runCli(['normalize', input, '--out-dir', output, '--summary', summary]);
    expect(run.status).toBe(3);
    expect(run.stderr).toMatch(/b\.jsonl: line 1: reward must be a number/);
    expect(readdirSync(output).sort()).toEqual(['a.jsonl', 'c.jsonl']);
    const told = JSON.parse(readFileSync(summary, 'utf8'));
    expect(told).toMatchObject({ rows: 8, groups: 4, failures: [{ error: expect.stringContaining('b.jsonl') }] });
    expect(told.files.map((file: { rows: number }) => file.rows)).toEqual([4, 4]);
  });

  test('--resume skips outputs that are there', async () => {
    const input = filesIn({ 'a.jsonl': rows(1), 'b.jsonl': rows(2) });
    const output = target();
    await runCli(['normalize', input, '--out-dir', output]);
    const whole = contents(output);
    rmSync(join(output, 'b.jsonl'));
    writeFileSync(join(output, 'a.jsonl'), 'kept as it is');
    const run = await runCli(['normalize', input, '--out-dir', output, '--resume']);
    expect(run.stderr).toMatch(/1 files skipped/);
    expect(contents(output)).toEqual({ ...whole, 'a.jsonl': 'kept as it is' });
  });

  test('--one-batch joins equal ids across files', async () => {
    const input = filesIn({ 'a.jsonl': rows(1), 'b.jsonl': rows(2) });
    const output = target();
    const run = await runCli(['normalize', input, '--out-dir', output, '--one-batch']);
    expect(run.stderr).toMatch(/8 rows, 4 rollouts, 2 prompt groups/);
    expect(readdirSync(output).sort()).toEqual(['a.jsonl', 'b.jsonl']);
  });

  test('threads give the same bytes as one', async () => {
    const input = filesIn(Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`${i}.jsonl`, rows(i)])));
    const [one, two] = [target(), target()];
    await runCli(['normalize', input, '--out-dir', one, '--threads', '1']);
    const run = await runCli(['normalize', input, '--out-dir', two, '--threads', '3']);
    expect(run.status).toBe(0);
    expect(contents(two)).toEqual(contents(one));
  });

  test('killed at any moment, it leaves whole outputs alone, and --resume does the rest', async () => {
    const many = Array.from({ length: 40 }, (_, i) => [`${i}.jsonl`, rows(i).repeat(1)] as const);
    const input = filesIn(Object.fromEntries(many));
    const reference = target();
    await runCli(['normalize', input, '--out-dir', reference]);
    const whole = contents(reference);
    const output = target();
    for (const delay of [80, 140, 180, 220]) {
      const child = spawn(process.execPath, [CLI, 'normalize', input, '--out-dir', output, '--resume'], {
        stdio: 'ignore',
      });
      const ended = new Promise((resolve) => child.on('close', resolve));
      setTimeout(() => child.kill('SIGKILL'), delay);
      await ended;
      for (const name of existsSync(output) ? readdirSync(output) : [])
        if (!name.startsWith('.')) expect(readFileSync(join(output, name), 'utf8')).toBe(whole[name]);
    }
    const run = await runCli(['normalize', input, '--out-dir', output, '--resume']);
    expect(run.status).toBe(0);
    const left = contents(output);
    expect(Object.fromEntries(Object.entries(left).filter(([name]) => !name.startsWith('.')))).toEqual(whole);
  });
});

describe('batches inside a file', () => {
  const steps = [0, 1, 0, 1].map((step, i) => `{"step": ${step}, "group_index": 0, "index": ${i}, "reward": ${i}}\n`);

  test('--batch-by gives each value its own groups, rows in the order of the input', async () => {
    const input = filesIn({ 'a.jsonl': steps.join('') });
    const run = await runCli(['normalize', join(input, 'a.jsonl'), '--batch-by', 'step']);
    expect(run.stderr).toMatch(/4 rows, 4 rollouts, 2 prompt groups/);
    const advantages = run.stdout
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).advantage);
    expect(advantages.map(Math.sign)).toEqual([-1, -1, 1, 1]);
  });

  test('--batch-by needs its column in every row', async () => {
    const input = filesIn({ 'a.jsonl': `${steps.join('')}{"reward": 1}\n` });
    const run = await runCli(['normalize', join(input, 'a.jsonl'), '--batch-by', 'step']);
    expect([run.status, run.stderr]).toEqual([3, expect.stringMatching(/line 5: has no step/)]);
    const none = await runCli(['normalize', join(input, 'a.jsonl'), '--batch-by', 'epoch']);
    expect([none.status, none.stderr]).toEqual([3, expect.stringMatching(/line 1: has no epoch/)]);
  });

  test('--map takes fields from other columns, joined ids from several', async () => {
    const lines = steps.map((line) => line.replace('reward', 'score'));
    const input = filesIn({ 'a.jsonl': lines.join('') });
    const map = ['--map', 'reward=score', '--map', 'group_index=step+group_index'];
    const run = await runCli(['normalize', join(input, 'a.jsonl'), ...map, '--only']);
    expect(run.stderr).toMatch(/2 prompt groups/);
    expect(run.stdout.toString().split('\n')[1]).toMatch(/"group_index": \[1, 0\], "index": 1, "raw_reward": 1/);
  });

  test('--group-size needs rows that divide', async () => {
    const input = filesIn({ 'a.jsonl': steps.join('') });
    const even = await runCli(['normalize', join(input, 'a.jsonl'), '--group-size', '2']);
    expect(even.stderr).toMatch(/2 prompt groups/);
    const odd = await runCli(['normalize', join(input, 'a.jsonl'), '--group-size', '3']);
    expect([odd.status, odd.stderr]).toEqual([3, expect.stringMatching(/4 rows do not divide into groups of 3/)]);
  });

  test('zstd is read and written', async () => {
    const input = filesIn({ 'a.jsonl': rows(1) });
    const packed = join(folder, 'packed.jsonl.zst');
    expect((await runCli(['normalize', join(input, 'a.jsonl'), '-o', packed])).status).toBe(0);
    expect(readFileSync(packed).subarray(0, 4)).toEqual(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]));
    const again = await runCli(['normalize', packed, '--overwrite']);
    expect(again.stdout.toString()).toBe((await runCli(['normalize', join(input, 'a.jsonl')])).stdout.toString());
  });

  test('presets are listed', async () => {
    const list = await runCli(['presets']);
    expect(list.stdout.toString()).toMatch(/verl-v1[\s\S]*uid<_2[\s\S]*atropos/);
    const one = JSON.parse((await runCli(['presets', 'trl', '--json'])).stdout.toString());
    expect(one[0].fields.group_index).toBe('step+prompt');
    expect((await runCli(['presets', 'nobody'])).status).toBe(2);
  });
});

test('a file of several portions gives the same bytes on one thread and on several', async () => {
  const path = join(folder, 'large.jsonl');
  const text = 'x'.repeat(50_000);
  const lines = Array.from(
    { length: 900 },
    (_, i) => `{"group_index": ${i >> 3}, "index": ${i}, "reward": ${i % 7}, "text": "${text}"}\n`,
  );
  writeFileSync(path, lines.join(''));
  const [one, three] = [join(folder, 'one.jsonl'), join(folder, 'three.jsonl')];
  await runCli(['normalize', path, '-o', one, '--threads', '1']);
  const run = await runCli(['normalize', path, '-o', three, '--threads', '3']);
  expect(run.status).toBe(0);
  const output = readFileSync(one);
  expect(readFileSync(three).equals(output)).toBe(true);
  const rows = output.toString().trimEnd().split('\n');
  expect(rows.length).toBe(900);
  for (const [i, row] of rows.entries()) {
    expect(row.startsWith(lines[i].slice(0, -2))).toBe(true);
    expect(JSON.parse(row).raw_reward).toBe(i % 7);
  }
});
