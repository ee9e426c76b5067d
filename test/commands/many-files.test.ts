/** Many files, batches inside a file, and what is left behind when something goes wrong. */
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resolveLayout } from '../../src/io/layouts/resolve-layout.ts';
import { samplesFile } from '../io/torch/pickled.ts';
import { readFiles, rowsOfBatch } from '../support/read-file.ts';
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
    expect(run.stderr).toMatch(/2\.jsonl: 4 rows[\s\S]*10\.jsonl: 4 rows[\s\S]*2 batches done, 8 rows/);
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

describe('what goes wrong in one of several files', () => {
  test("is that file's failure, whatever it is; no temporary file is left, and the summary is written", async () => {
    const stated = samplesFile(
      [0, 1, 2, 3].map((index) => ({ index, reward: index })),
      { prompt_group_sizes: [2, 2] },
    );
    const input = filesIn({ 'x.jsonl': rows(1).repeat(1000), 'z.jsonl': rows(2) });
    writeFileSync(join(input, 's.pt'), stated);
    const output = target();
    mkdirSync(join(output, 'z.jsonl'), { recursive: true });
    const summary = join(folder, `failures-${made++}.json`);
    const args = ['--out-dir', output, '--batch-by', 'index', '--threads', '3', '--summary', summary, '--resume'];
    const run = await runCli(['normalize', input, ...args]);
    expect(run.status).toBe(74);
    expect(readdirSync(output).sort()).toEqual(['x.jsonl', 'z.jsonl']);
    expect(JSON.parse(readFileSync(summary, 'utf8'))).toMatchObject({
      failures: [
        {
          file: join(input, 's.pt'),
          error: expect.stringMatching(/s\.pt: metadata\.prompt_group_sizes .* --batch-by/),
        },
        { file: join(input, 'z.jsonl'), error: expect.stringMatching(/z\.jsonl: cannot write: is a directory/) },
      ],
      files: [{ file: join(input, 'x.jsonl') }],
      skipped: [],
    });
  });

  test('a pool that is closed fails what it was at and what was waiting', async () => {
    const { TaskPool } = await import('../../dist/src/io/task-pool.js');
    const path = join(filesIn({ 'x.jsonl': rows(1).repeat(20_000) }), 'x.jsonl');
    const portion = {
      format: 'lines',
      path,
      name: path,
      start: 0,
      end: statSync(path).size,
      maxLine: undefined,
    } as const;
    const options = { layout: resolveLayout({}), outputFields: null, keepIndexes: false };
    const pool = new TaskPool(2);
    const work = Array.from({ length: 5 }, () => pool.run({ do: 'read', portion, options }, { emit: () => {} }));
    const ended = Promise.allSettled(work);
    await pool.close();
    expect((await ended).map(({ status }) => status)).toEqual(work.map(() => 'rejected'));
  });
});

test('ids that files of one batch share are counted and told', async () => {
  const line = (group: number, rollout: string) =>
    `{"group_index": ${group}, "rollout_id": "${rollout}", "reward": 1}\n`;
  const input = filesIn({
    'a.jsonl': line(1, 'x') + line(1, 'x') + line(2, 'a'),
    'b.jsonl': line(1, 'x') + line(3, 'b'),
    'c.jsonl': line(1, 'y') + line(3, 'c'),
  });
  const summary = join(folder, `merged-${made++}.json`);
  const run = await runCli(['normalize', input, '--one-batch', '--out-dir', target(), '--summary', summary]);
  expect(run.stderr).toMatch(/2 group ids and 1 rollout ids occur in more than one file/);
  expect(JSON.parse(readFileSync(summary, 'utf8'))).toMatchObject({ merged_ids: { group_index: 2, rollout_id: 1 } });
});

test('what is true of every file of a batch is said once', async () => {
  const input = filesIn({});
  for (const name of ['a.pt', 'b.pt']) writeFileSync(join(input, name), samplesFile([{ index: 1, reward: 1 }]));
  const run = await runCli(['normalize', input, '--one-batch', '--out-dir', target()]);
  expect(run.stderr.match(/\.pt files have no writer/g)).toHaveLength(1);
});

test('the summary may stand in the directory that is made for the outputs', async () => {
  const output = target();
  const run = await runCli([
    'normalize',
    filesIn({ 'a.jsonl': rows(1) }),
    '--out-dir',
    output,
    '--summary',
    join(output, 'run.json'),
  ]);
  expect(run.status).toBe(0);
  expect(readdirSync(output).sort()).toEqual(['a.jsonl', 'run.json']);
});

test.each([
  ['a file in a file', ['a.jsonl/x'], /a\.jsonl\/x: cannot open: not a directory/],
  ['a name that is too long', ['x'.repeat(300)], /x: cannot open: name too long/],
  ['links in a circle', ['loop'], /loop: cannot open: too many symbolic links/],
  [
    'outputs into a file',
    ['a.jsonl', '--out-dir', 'a.jsonl'],
    /a\.jsonl: cannot make the directory: file already exists/,
  ],
])('%s is a failure to read or write', async (_, args, message) => {
  const cwd = filesIn({ 'a.jsonl': rows(1) });
  symlinkSync('loop', join(cwd, 'loop'));
  const run = await runCli(['normalize', ...args], { cwd });
  expect(run.stderr).toMatch(message);
  expect(run.status).toBe(74);
});

test('a failure to write names the output', async () => {
  const cwd = filesIn({
    'a.jsonl': Array.from({ length: 20_000 }, (_, i) => `{"reward": ${Math.sqrt(i)}}\n`).join(''),
  });
  const command = `ulimit -f 4; for to in parquet arrow; do ${process.execPath} ${CLI} normalize a.jsonl --only -o out.$to; echo $?; done`;
  const { stdout, stderr } = spawnSync('bash', ['-c', command], { cwd });
  expect(stdout.toString()).toBe('74\n74\n');
  expect(stderr.toString()).toMatch(
    /out\.parquet: cannot write: file too large[\s\S]*out\.arrow: cannot write: file too large/,
  );
  expect(readdirSync(cwd)).toEqual(['a.jsonl']);
});

test.each([
  [['--only', '--advantage-field', 'row'], /--advantage-field row: .* a field of that name already/],
  [['--to', 'arrow', '--raw-reward-field', 'group_index'], /--raw-reward-field group_index: .* of that name already/],
  [['--group-size', '2', '--prompt-group-sizes', '2,2'], /--group-size and --prompt-group-sizes exclude each other/],
  [['--join-from', 'nope'], /--join-from needs --join/],
  [['--map', 'reward=a', '--reward-columns', 'b=1'], /exclude each other: both say what the reward is/],
  [['--map', 'loss_mask=a', '--map', 'label_mask=b'], /exclude each other: a row has one mask/],
])('%s is a usage error', async (args, message) => {
  const run = await runCli(['normalize', '-o', join(folder, 'none'), ...args], { input: rows(1) });
  expect(run.stderr).toMatch(message);
  expect(run.status).toBe(2);
});

test('half a surrogate pair in an id is kept in JSONL and refused for columns of text', async () => {
  const input = '{"rollout_id": "\\ud800", "reward": 1}\n{"rollout_id": "\\ud801", "reward": 0}\n';
  const kept = await runCli(['normalize', '--only'], { input });
  expect(kept.stdout.toString()).toMatch(/"rollout_id": "\\ud800"[^\n]*\n.*"rollout_id": "\\ud801"/);
  const refused = await runCli(['normalize', '--only', '-o', join(folder, 'ids.parquet')], { input });
  expect(refused.stderr).toMatch(/rollout_id "\\ud800" has half a surrogate pair/);
  expect(refused.status).toBe(3);
});

test('ids of a sidecar in Parquet are those that were joined, and the numbers of groups of a fixed size', async () => {
  const cwd = filesIn({ 'r.jsonl': rows(1), 'g.jsonl': '' });
  writeFileSync(
    join(cwd, 'g.jsonl'),
    [9, 9, 8, 8].map((group, row) => `{"row": ${row + 1}, "group_index": ${group}}\n`).join(''),
  );
  const sidecar = async (...args: string[]) => {
    await runCli(['normalize', 'r.jsonl', '--only', '-o', 'r.parquet'], { cwd });
    const again = ['--advantage-field', 'a', '--raw-reward-field', 'r', '--map', 'reward=raw_reward'];
    const run = await runCli(['normalize', 'r.parquet', '--only', '-o', 'o.parquet', ...again, ...args], { cwd });
    expect(run.stderr).toMatch(/tier 2/);
    const read = await readFiles([join(cwd, 'o.parquet')], { map: ['reward=r'] });
    return rowsOfBatch(read).map(({ group }) => group);
  };
  expect(await sidecar('--group-size', '1')).toEqual(['0', '1', '2', '3']);
  const join9 = ['--join', 'g.jsonl', '--join-from', 'miles', '--on', 'row'];
  expect(await sidecar('--map', 'group_index=index', ...join9)).toEqual(['0', '1', '2', '3']);
});
