/** `rollnorm explain` as its users meet it. */
import { spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../src/engine.ts';
import type { Explanation } from '../../src/explain/explanation.ts';
import { CLI, rowsOf, runCli } from '../support/run-cli.ts';
import { softwareDriverEnvironment, unpackSoftwareDriver } from '../support/software-driver.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollnorm-explain-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function file(text: string | Uint8Array, ending = '.jsonl'): string {
  const path = join(folder, `input-${files++}${ending}`);
  writeFileSync(path, text);
  return path;
}

const row = (fields: object) => `${JSON.stringify(fields)}\n`;
const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

/** Three rollouts of one prompt, the second in two rows that disagree, the third aborted; and another prompt. */
const SMALL =
  row({ group_index: 7, rollout_id: 'a', reward: 1, response_length: 5 }) +
  row({ group_index: 7, rollout_id: 'b', reward: 0.25, response_length: 9 }) +
  row({ group_index: 7, rollout_id: 'b', reward: 1, response_length: 3 }) +
  row({ group_index: 7, rollout_id: 'c', reward: 0, response_length: 2, status: 'aborted' }) +
  row({ group_index: 8, rollout_id: 'd', reward: 0.5, response_length: 2 }) +
  row({ group_index: 8, rollout_id: 'e', reward: 0.5, response_length: 2 });

async function explainJson(args: readonly string[], input?: string): Promise<Explanation[]> {
  const { stdout, stderr, status } = await runCli(['explain', ...args, '--json'], input === undefined ? {} : { input });
  expect(stderr).not.toContain('internal error');
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout.toString()).explanations;
}

describe('text', () => {
  test('says the rule, the group, who is left out and why, the representative, the numbers, and what rows would give', async () => {
    const path = file(SMALL);
    const run = await runCli(['explain', path, '--row', '3', '--exclude', 'aborted', '--backend', 'cpu']);
    expect(run.status).toBe(0);
    expect(run.stdout.toString()).toBe(`${path}, row 3 (line 3): advantage -0.7071054577827454

rule          grpo: (r - mean) / (s + 0.000001); siblings mainstream; exclude aborted
grouping      tier 2 (group_index): every row has a group_index
              tier 1 not: no prompt group sizes are given
group         1 of 2, group_index 7, line 1 to line 4: 3 rollouts in 4 rows; 2 counted, left out: 1 aborted
                rollout  stands for it  rows  tokens  reward            advantage
                "a"      line 1            1       5       1   0.7071054577827454
                "b"      line 2            2      12    0.25  -0.7071054577827454  <- this one
                "c"      line 4            1       2       -                    0  left out: aborted
rollout       rollout_id "b": 2 rows
                row     tokens  reward
                line 2       9    0.25  stands for the rollout
                line 3       3       1  <- asked
              line 2 stands for it: most trainable tokens of its rows: 9 against 3
              its rows have different rewards
numbers       reward      0.25  of line 2
              mean        0.625  of 2 counted rollouts
              deviation   0.5303300858899106  s, by n - 1 (ddof 1)
              difference  0.25 - 0.625 = -0.375
              divisor     0.5303300858899106 + 0.000001 = 0.5303310858899106
              quotient    (0.25 - 0.625) / (0.5303300858899106 + 0.000001) = -0.7071054478557284
              binary32    -0.7071054577827454  rounded once to binary32
if rows       every row counted by itself (--siblings rows)
                                   counted   mean  standard deviation            advantage
                rows                     3   0.75  0.4330127018922193   0.5773489475250244
                here (mainstream)        2  0.625  0.5303300858899106  -0.7071054577827454
computed      on the CPU (asked for)
`);
    expect(run.stderr).toMatch(/^rollnorm: warning: siblings of 1 rollouts have different rewards/);
  });

  test('a rollout that is left out, a flat group, a row that passes through', async () => {
    const path = file(SMALL);
    const text = async (...args: string[]) => (await runCli(['explain', path, ...args])).stdout.toString();
    const out = await text('--rollout', 'c', '--exclude', 'truncated,aborted');
    expect(out).toContain('row 4 (line 4): advantage 0\n');
    expect(out).toContain('left out  the rollout is left out of the statistics (aborted) and has advantage 0');
    expect(await text('--row', '6')).toContain('quotient   0  all 2 counted rewards of the group are 0.5');
    const passed = await text('--row', '1', '--disable-rewards-normalization', '--clip', '0,0.5');
    expect(passed).toContain('bounds    1 bounded to 0 to 0.5 (clip) = 0.5');
    expect(passed).toContain('pass-through: no groups, no siblings, no statistics; every row keeps its own reward');
    expect(passed).not.toContain('if rows');
  });

  test('every rollout with an id has a section of its own', async () => {
    const rows = row({ group_index: 1, rollout_id: 5, reward: 1 }) + row({ group_index: 2, rollout_id: 5, reward: 0 });
    const { stdout } = await runCli(['explain', '--rollout', '5'], { input: rows });
    expect(stdout.toString().match(/^stdin, row \d \(line \d\): advantage 0$/gm)).toEqual([
      'stdin, row 1 (line 1): advantage 0',
      'stdin, row 2 (line 2): advantage 0',
    ]);
  });
});

describe('numbers', () => {
  test.each([
    ...['grpo', 'gspo', 'cispo', 'reinforce_plus_plus_baseline', 'dr_grpo', 'rloo', 'maxrl', 'opo', 'grpo_passk'],
    ...['ppo', 'reinforce_plus_plus', 'raw'],
  ])('%s: the last line is the advantage that normalize writes', async (estimator) => {
    const path = file(SMALL);
    const rows = rowsOf(await runCli(['normalize', path, '--advantage-estimator', estimator]));
    const [{ advantage, steps }] = await explainJson([path, '--row', '2', '--advantage-estimator', estimator]);
    expect(advantage).toBe(rows[1].advantage);
    expect(steps.at(-1)).toMatchObject({ step: 'binary32', value: advantage });
  });

  test('gdpo and remax: several rewards, and a recorded baseline', async () => {
    const several = [0, 1, 2, 3].map((i) =>
      row({ group_index: i >> 1, b: i / 4, reward: { a: i % 3, c: (i * 5) % 4 } }),
    );
    const path = file(several.join(''));
    const gdpo = ['--advantage-estimator', 'gdpo', '--reward-key', 'a,c', '--reward-weights', '1,0.5'];
    const remax = ['--advantage-estimator', 'remax', '--reward-key', 'a', '--map', 'baseline=b'];
    for (const flags of [gdpo, remax]) {
      const rows = rowsOf(await runCli(['normalize', path, ...flags]));
      const [found] = await explainJson([path, '--row', '3', ...flags]);
      expect(found.advantage).toBe(rows[2].advantage);
      expect(found.steps.at(-1)!.value).toBe(found.advantage);
      expect(found.statistics.map(({ reward }) => reward)).toEqual(
        flags === gdpo ? ['reward["a"]', 'reward["c"]'] : [null],
      );
    }
  });

  test("JSON has the engine's numbers", async () => {
    const [found] = await explainJson([file(SMALL), '--row', '2']);
    const engine = createEngine({ backend: 'cpu' });
    const reward = [1, 0.25, 0, 0.5, 0.5];
    const { advantages } = await engine.normalize({ groupIndex: [7, 7, 7, 8, 8], reward });
    await engine.close();
    expect(found.advantage).toBe(advantages[1]);
    expect(found).toMatchObject({
      ...{ row: 2, place: 'line 2' },
      grouping: { tier: 2, rule: 'group_index' },
      group: { group: 1, groups: 2, id: '7', rollouts: 3, rows: 4, counted: 3, left_out: {}, members_omitted: 0 },
      rollout: { id: '"b"', id_field: 'rollout_id', rows: 2, representative: { row: 2 }, disagreeing: true },
      statistics: [{ reward: null, counted: 3, guard: null }],
      instead: { siblings: 'rows', counted: 4, error: null },
    });
    expect(found.statistics[0].mean).toBe(found.statistics[0].baseline);
  });

  test('a dialect is named with its source, changes and notes', async () => {
    const [{ like, rule }] = await explainJson([file(SMALL), '--row', '1', '--like', 'nemo-rl']);
    expect(like).toMatchObject({ name: 'nemo-rl', repository: 'NVIDIA-NeMo/RL' });
    expect(like!.changes.map(({ setting }) => setting)).toEqual(['baseline', 'scale', 'siblings']);
    expect(rule).toMatchObject({ scale: 'peers', siblings: 'rows' });
  });

  test('ids stay digit for digit, and are found however they are written', async () => {
    const id = '9007199254740993';
    const rows = `{"group_index":${id},"rollout_id":${id},"reward":1}\n{"group_index":${id},"index":1e3,"reward":0}\n`;
    const [found] = await explainJson(['--rollout', id], rows);
    expect(found).toMatchObject({ row: 1, group: { id }, rollout: { id } });
    for (const text of ['1000', '1000.0', '1e3'])
      expect((await explainJson(['--rollout', text], rows))[0]).toMatchObject({
        rollout: { id: '1000', id_field: 'index' },
      });
  });
});

test('the GPU explains as the CPU does', async () => {
  const env = softwareDriverEnvironment(unpackSoftwareDriver());
  const path = file(SMALL);
  for (const flags of [
    ['--scale', 'mad', '--exclude', 'aborted'],
    ['--scale', 'batch', '--weight', 'tokens'],
    ['--like', 'nemo-rl'],
  ]) {
    const [cpu, gpu] = await Promise.all(
      ['cpu', 'webgpu'].map(async (backend) => {
        const run = await runCli(['explain', path, '--row', '2', '--json', '--backend', backend, ...flags], { env });
        expect(run.status, run.stderr).toBe(0);
        return JSON.parse(run.stdout.toString()).explanations[0];
      }),
    );
    expect([cpu.backend, gpu.backend]).toEqual(['cpu', 'webgpu']);
    expect({ ...gpu, backend: null, backend_reason: null }).toEqual({ ...cpu, backend: null, backend_reason: null });
  }
});

describe('files', () => {
  test('a row of several files is FILE:K, by path or base name; without FILE the first', async () => {
    const [one, two] = [file(row({ reward: 1 })), file(row({ reward: 2 }) + row({ reward: 4 }))];
    expect((await explainJson([one, two, '--row', '1']))[0].file).toBe(one);
    expect((await explainJson([one, two, '--row', `${two}:2`]))[0]).toMatchObject({ file: two, row: 2 });
    expect((await explainJson([one, two, '--row', `${basename(two)}:2`]))[0]).toMatchObject({ file: two, row: 2 });
    const [joined] = await explainJson([one, two, '--one-batch', '--row', `${two}:1`]);
    expect(joined).toMatchObject({ file: two, row: 1, group: { rollouts: 3, last: { file: two, row: 2 } } });
    const unknown = await runCli(['explain', one, two, '--row', 'no.jsonl:1']);
    expect([unknown.status, unknown.stdout.length]).toEqual([2, 0]);
    expect(unknown.stderr).toContain('no.jsonl is none of the files');
  });

  test('a file in batches: rows keep their number in the file', async () => {
    const rows = [1, 2, 1, 2].map((step, i) => row({ step, reward: i })).join('');
    const [found] = await explainJson(['--batch-by', 'step', '--row', '4'], rows);
    expect(found).toMatchObject({
      row: 4,
      place: 'line 4',
      group: { rollouts: 2, first: { row: 2 }, last: { row: 4 } },
    });
  });

  test('Parquet, Arrow, .pt and compressed lines of the same rows are explained alike', async () => {
    const alike = async (ending: string) => {
      const [found] = await explainJson([fixture(`layouts/twins${ending}`), '--row', '3']);
      const { file: name, place, ...rest } = found;
      expect(name).toContain(`twins${ending}`);
      return JSON.parse(
        JSON.stringify(rest, (key, value) => (key === 'file' ? undefined : value)).replaceAll(
          /\b(line|row) (?=\d)/g,
          'at ',
        ),
      );
    };
    const lines = await alike('.jsonl');
    for (const ending of ['.pt', '.arrow', '-snappy.parquet', '.jsonl.gz'])
      expect(await alike(ending), ending).toEqual(lines);
  });

  test('a file name with control characters does not reach the terminal as it is', async () => {
    const path = join(folder, 'a\u001b[31m.jsonl');
    copyFileSync(file(SMALL), path);
    const { stdout } = await runCli(['explain', path, '--row', '1']);
    expect(stdout.toString()).toContain('a\\u001b[31m.jsonl, row 1');
  });
});

describe('refusals', () => {
  test.each([
    [['--row', '7'], 2, /has no row 7: it has 6 rows/],
    [['--row', '0'], 2, /counted from 1/],
    [['--row', 'x'], 2, /counted from 1/],
    [['--row', '-1'], 2, /counted from 1/],
    [[], 2, /--row K or --rollout ID/],
    [['--row', '1', '--rollout', 'a'], 2, /one of them/],
    [['--rollout', 'z'], 2, /no rollout of .* has the id z/],
    [['--row', '1', '--scale', 'wide'], 2, /unknown scale/],
    [['--row', '1', '--nope'], 2, /unknown option/],
    [['--row', '1', '--siblings', 'shared'], 3, /siblings must share one reward/],
    [['--row', '1', '--map', 'reward=score'], 3, /no row has .*score/],
  ] as const)('%j', async (args, status, message) => {
    const run = await runCli(['explain', file(SMALL), ...args]);
    expect(run.stderr).toMatch(message);
    expect([run.status, run.stdout.length]).toEqual([status, 0]);
  });

  test('a file that is not there, one without rows, one with a missing reward', async () => {
    const absent = await runCli(['explain', join(folder, 'absent.jsonl'), '--row', '1']);
    expect([absent.status, absent.stdout.length]).toEqual([74, 0]);
    const empty = await runCli(['explain', file(''), '--row', '1']);
    expect([empty.status, empty.stderr]).toEqual([2, expect.stringContaining('has no row 1: it has 0 rows')]);
    const missing = await runCli(['explain', file(row({ reward: null })), '--row', '1']);
    expect([missing.status, missing.stderr]).toEqual([
      3,
      expect.stringMatching(/input-\d+\.jsonl: line 1: reward must be/),
    ]);
  });

  test('a reader that goes away ends it quietly', async () => {
    const child = spawn(process.execPath, [CLI, 'explain', file(SMALL), '--row', '1'], { stdio: 'pipe' });
    let stderr = '';
    child.stderr.on('data', (data) => {
      stderr += data;
    });
    child.stdout.destroy();
    const status = await new Promise((resolve) => child.on('close', resolve));
    expect([status, stderr.includes('EPIPE')]).toEqual([0, false]);
  });
});

test('the example of the docs is what the command prints', async () => {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const [, command, expected] = /```\n\$ rollnorm (explain .*)\n([\s\S]*?)```/.exec(
    readFileSync(join(root, 'docs/explain.md'), 'utf8'),
  )!;
  const { stdout } = await runCli(command.split(' '), { cwd: root });
  expect(stdout.toString()).toBe(expected);
});
