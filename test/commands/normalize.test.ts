/** The command line as its users meet it: exit status, standard output, messages, files left behind. */
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
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
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { CLI, rowsOf, runCli } from '../support/run-cli.ts';
import { softwareDriverEnvironment, unpackSoftwareDriver } from '../support/software-driver.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollnorm-normalize-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function file(text: string | Uint8Array, ending = '.jsonl'): string {
  const path = join(folder, `input-${files++}${ending}`);
  writeFileSync(path, text);
  return path;
}

const row = (fields: object) => `${JSON.stringify(fields)}\n`;
const PAIR = row({ group_index: 1, rollout_id: 'a', reward: 1 }) + row({ group_index: 1, rollout_id: 'b', reward: 0 });
const HALF_ROOT_2 = 0.7071057558059692;

/** Rows of about `rowCount / 16` groups with uneven fan-out. */
function manyRows(rowCount: number): string {
  const lines: string[] = [];
  for (let i = 0; i < rowCount; i++) {
    const rollout = Math.floor((i * 5) / 11);
    const reward = ((rollout * 7919) % 101) / 100;
    lines.push(row({ group_index: i >> 4, rollout_id: rollout, reward, response_length: (i * 31) % 97 }));
  }
  return lines.join('');
}

describe('rows', () => {
  test('are the bytes of the input with two fields added before the last brace', async () => {
    const lines = [
      '{ "group_index" : 1,"reward":0.10 , "x":[ {"y" :NaN}]  } \t',
      '{"reward":1e0,"group_index":1.0,"t":"\\u00e9é"}',
    ];
    const { stdout, status } = await runCli(['normalize'], { input: `\ufeff\n${lines.join('\r\n \r\n')}` });
    expect(status).toBe(0);
    const [first, second] = stdout.toString().split('\n');
    expect(first).toMatch(
      /^\{ "group_index" : 1,"reward":0\.10 , "x":\[ \{"y" :NaN\}\] {2}, "raw_reward": 0\.1, "advantage": -0\.70\d+\} \t\r$/,
    );
    expect(second).toMatch(
      /^\{"reward":1e0,"group_index":1\.0,"t":"\\u00e9é", "raw_reward": 1, "advantage": 0\.70\d+\}$/,
    );
    expect(stdout.toString().endsWith('}\n')).toBe(true);
  });

  test('advantage is spelled so that it parses to exactly the binary32 value', async () => {
    const rows = rowsOf(await runCli(['normalize', file(PAIR)]));
    expect(rows.map(({ advantage }) => advantage)).toEqual([HALF_ROOT_2, -HALF_ROOT_2]);
    expect(Math.fround(HALF_ROOT_2)).toBe(HALF_ROOT_2);
  });

  test('a missing reward is written as null', async () => {
    const path = file(PAIR + row({ group_index: 1, rollout_id: 'c', reward: null }));
    const rows = rowsOf(await runCli(['normalize', path, '--exclude', 'missing-reward']));
    expect(rows[2]).toMatchObject({ raw_reward: null, advantage: 0 });
  });

  test('field names can be chosen, and fields there already replaced', async () => {
    const path = file(
      row({ advantage: 5, group_index: 1, reward: 1, raw_reward: 7 }) +
        row({ group_index: 1, reward: 0, advantage: null }),
    );
    const replaced = await runCli(['normalize', path, '--overwrite']);
    expect(replaced.stdout.toString().split('\n')[0]).toMatch(
      /^\{"group_index":1,"reward":1, "raw_reward": 1, "advantage": 0\.70\d+\}$/,
    );
    const renamed = rowsOf(await runCli(['normalize', path, '--advantage-field', 'a', '--raw-reward-field', 'r']));
    expect(renamed[0]).toMatchObject({ advantage: 5, raw_reward: 7, a: HALF_ROOT_2, r: 1 });
  });

  test('shuffled rows of a group find each other', async () => {
    const lines = manyRows(2000).trimEnd().split('\n');
    const order = lines.map((_, i) => (i * 787) % lines.length);
    const straight = rowsOf(await runCli(['normalize'], { input: lines.join('\n') }));
    const shuffled = rowsOf(await runCli(['normalize'], { input: order.map((i) => lines[i]).join('\n') }));
    // Another order may give other bits, within twice the bound of docs/determinism.md: 2 ULP and a little.
    for (const [i, from] of order.entries()) {
      const expected = straight[from].advantage as number;
      expect(Math.abs((shuffled[i].advantage as number) - expected)).toBeLessThanOrEqual(
        2 ** -22 * Math.max(1, Math.abs(expected)),
      );
    }
  });

  test('a number past 2^53 is spelled with an exponent, which no parser takes for an exact integer', async () => {
    const { stdout } = await runCli(['normalize', '--advantage-estimator', 'raw'], {
      input: '{"reward":-1.2925061003439331e19}',
    });
    expect(stdout.toString()).toContain('"raw_reward": -1.2925061003439331e+19, "advantage": -1.2925061550204518e+19}');
  });

  test('a repeated --exclude adds to the first', async () => {
    const input = row({ reward: 1, status: 'failed' }) + row({ reward: 1, remove_sample: true }) + row({ reward: 0 });
    const rows = rowsOf(await runCli(['normalize', '--exclude', 'removed', '--exclude', 'failed'], { input }));
    expect(rows.map(({ advantage }) => advantage)).toEqual([0, 0, 0]);
  });

  test('none in, none out', async () => {
    for (const input of ['', '\n \r\n', '\ufeff']) {
      const { status, stdout } = await runCli(['normalize'], { input });
      expect([status, stdout.length]).toEqual([0, 0]);
    }
  });
});

describe('files', () => {
  test('plain, gzip and standard input give the same bytes', async () => {
    const text = manyRows(5000);
    const plain = await runCli(['normalize', file(text)]);
    const zipped = await runCli(['normalize', file(gzipSync(text), '.whatever')]);
    const piped = await runCli(['normalize', '-'], { input: gzipSync(text) });
    expect(zipped.stdout.equals(plain.stdout)).toBe(true);
    expect(piped.stdout.equals(plain.stdout)).toBe(true);
    const output = join(folder, 'zipped.jsonl.gz');
    expect((await runCli(['normalize', '-o', output], { input: text })).status).toBe(0);
    expect(gunzipSync(readFileSync(output)).equals(plain.stdout)).toBe(true);
  });

  test.each([
    ['a missing file', ['nowhere.jsonl'], 74, /nowhere\.jsonl.*no such file/],
    ['a folder without --out-dir', ['.'], 2, /need --out-dir/],
    ['an output folder that is not there', ['IN', '-o', 'no/where.jsonl'], 74, /no\/where\.jsonl.*no such file/],
    ['an output that is a folder', ['IN', '-o', '.'], 74, /is a directory/],
    ['a summary that cannot be written', ['IN', '--summary', 'no/where.json'], 74, /no\/where\.json/],
  ])('%s is refused', async (_, args, status, message) => {
    const run = await runCli(['normalize', ...args.map((arg) => (arg === 'IN' ? file(PAIR) : arg))], { cwd: folder });
    expect(run.stderr).toMatch(message);
    expect(run.status).toBe(status);
  });

  test.each([
    ['PAR1....', /Parquet/],
    [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0]), /zstd/i],
    ['PK\u0003\u0004', /zip|\.pt/i],
  ])('another format is bad input that is named (%#)', async (content, message) => {
    const run = await runCli(['normalize', file(content)]);
    expect(run.stderr).toMatch(message);
    expect([run.status, run.stdout.length]).toEqual([3, 0]);
  });

  test('a cut gzip file is bad input, and an output that was there stays', async () => {
    const output = join(folder, 'kept.jsonl');
    writeFileSync(output, 'old');
    const zipped = gzipSync(manyRows(3000));
    const run = await runCli(['normalize', file(zipped.subarray(0, zipped.length - 9)), '-o', output]);
    expect(run.status).toBe(3);
    expect(readFileSync(output, 'utf8')).toBe('old');
    expect(readdirSync(folder).filter((name) => name.includes('.tmp'))).toEqual([]);
  });

  test('what is read is never what is written', async () => {
    const path = file(PAIR);
    const link = join(folder, 'link.jsonl');
    symlinkSync(path, link);
    for (const args of [
      ['-o', path],
      ['-o', link],
      ['--summary', path],
    ]) {
      const run = await runCli(['normalize', path, ...args]);
      expect(run.stderr).toMatch(/is the input itself/);
      expect(run.status).toBe(2);
    }
    expect(readFileSync(path, 'utf8')).toBe(PAIR);
  });

  test('a file that is standard input is not replaced', () => {
    const path = file(PAIR);
    const shell = spawnSync('bash', ['-c', `"$0" "$1" normalize -o "$2" < "$2"`, process.execPath, CLI, path], {
      encoding: 'utf8',
    });
    expect(shell.stderr).toMatch(/is the input itself/);
    expect(shell.status).toBe(2);
    expect(readFileSync(path, 'utf8')).toBe(PAIR);
  });

  test('a name in capitals compresses too', async () => {
    const output = join(folder, 'CAPITALS.JSONL.GZ');
    expect((await runCli(['normalize', file(PAIR), '-o', output])).status).toBe(0);
    expect(gunzipSync(readFileSync(output)).toString()).toMatch(/"advantage": 0\.7/);
  });

  test('a device as output is written, not replaced', async () => {
    expect((await runCli(['normalize', file(PAIR), '-o', '/dev/null'])).status).toBe(0);
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
  });
});

describe('usage', () => {
  test.each([
    [['--nonsense'], /nonsense/],
    [['--ddof', '2'], /ddof.*0 or 1/s],
    [['--epsilon', 'NaN'], /epsilon/],
    [['--epsilon', ''], /epsilon/],
    [['--siblings', 'mean,sum'], /mainstream, shared/],
    [['--exclude', 'removed,bored'], /bored.*untrainable/s],
    [['--backend', 'cuda'], /auto, cpu, webgpu/],
    [['--grouping', 'loose'], /strict/],
    [['--prompt-group-sizes', '2,-1'], /prompt-group-sizes/],
    [['--n-samples-per-prompt', '0'], /n-samples-per-prompt/],
    [['--max-line', '1e9'], /max-line/],
    [['--advantage-estimator', 'ppo', '--exclude', 'removed'], /exclude.*ppo/],
    [['--advantage-field', 'x', '--raw-reward-field', 'x'], /must differ/],
    [['-o', 'x.csv'], /\.csv/],
    [['-o', 'x.jsonl.BZ2'], /\.bz2/],
    [['--summary', '-'], /summary needs a file/],
    [['-o', 'new.jsonl', '--summary', './new.jsonl'], /same file/],
    [['--gpu-timeout', '1e9'], /gpu-timeout/],
    [['--epsilon', '0x1'], /epsilon/],
    [['--advantage-field', ''], /advantage-field/],
    [['one', 'two'], /2 files need --out-dir/],
    [['--resume', 'one'], /--resume needs --out-dir/],
    [['one', '--out-dir', 'd', '-o', 'x'], /exclude each other/],
    [['a/one', 'b/one', '--out-dir', 'd'], /would both be written/],
    [['--from', 'nobody'], /unknown preset 'nobody'; known: miles/],
    [['--from', 'nemo-rl'], /needs --group-size/],
    [['--from', 'trl'], /needs --reward-columns/],
    [['--map', 'reward'], /field=column/],
    [['--map', 'prize=reward'], /unknown field 'prize'/],
    [['--join', 'x'], /needs --on/],
    [['--from', 'miles-columns'], /needs --join/],
    [['--batch-by', 'step', '--prompt-group-sizes', '1'], /for one batch/],
  ])('%j is refused before anything is read', async (args, message) => {
    const run = await runCli(['normalize', ...args], { input: 'no rows at all' });
    expect(run.stderr).toMatch(message);
    expect([run.status, run.stdout.length]).toEqual([2, 0]);
  });

  test('help goes to standard output with status 0, and teaches', async () => {
    for (const args of [['--help'], ['normalize', '--help'], ['help', 'doctor']]) {
      const run = await runCli(args);
      expect(run.status).toBe(0);
      expect(run.stdout.toString()).toMatch(/Usage: rollnorm/);
    }
  });

  test('a mistyped command gets a suggestion', async () => {
    const run = await runCli(['normalise']);
    expect(run.stderr).toMatch(/Did you mean normalize/);
    expect(run.status).toBe(2);
  });

  test('--version prints the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect((await runCli(['--version'])).stdout.toString()).toBe(`${version}\n`);
  });
});

describe('bad input names its line', () => {
  test.each([
    ['{"group_index":1.5,"reward":1}', /line 2: group_index.*1\.5/],
    ['{"group_index":true,"reward":1}', /line 2: group_index.*true/],
    ['{"reward":[1]}', /line 2: reward.*\[1\]/],
    ['{"reward":x}', /line 2: .*"reward".*x/],
    ['{"reward":{"x":NaN,"y":{"z":1}}}', /line 2: reward.*--reward-key.*: "x", "y"$/m],
    ['{"reward":01}', /line 2: reward.*01/],
    ['{"reward":1e999}', /line 2: reward.*1e999/],
    ['{"reward":1,"loss_mask":[0,2]}', /line 2: loss_mask.*2/],
    ['{"reward":1,"loss_mask":"1"}', /line 2: loss_mask/],
    ['{"reward":1,"response_length":-1}', /line 2: response_length.*-1/],
    ['{"reward":1,"remove_sample":"no"}', /line 2: remove_sample.*no/],
    ['{"reward":1,"status":3}', /line 2: status.*3/],
    ['{"reward":1,}', /line 2: /],
    ['{"reward":1', /line 2: /],
    ['{"reward":1}}', /line 2: /],
    ['[1]', /line 2: .*object/],
    ['{"reward":1,"x":[}', /line 2: /],
  ])('%s', async (line, message) => {
    const path = file(`{"reward":0}\n${line}\n{"reward":0}\n`);
    const run = await runCli(['normalize', path]);
    expect(run.stderr).toMatch(message);
    expect(run.stderr).toContain(path);
    expect([run.status, run.stdout.length]).toEqual([3, 0]);
  });

  test('a reward key that no row has lists the keys there are, also where missing rewards are excluded', async () => {
    const input = row({ reward: { a: 1, b: 2 } }) + row({ reward: { a: 1 } });
    const run = await runCli(['normalize', '--reward-key', 'z', '--exclude', 'missing-reward'], { input });
    expect(run.stderr).toMatch(/no row's reward has the key "z"; keys there are: "a", "b"/);
    expect([run.status, run.stdout.length]).toEqual([3, 0]);
  });

  test('a line past --max-line', async () => {
    const run = await runCli(['normalize', '--max-line', '100'], {
      input: `${PAIR}{"reward":1,"x":"${'y'.repeat(200)}"}\n`,
    });
    expect(run.stderr).toMatch(/line 3: .*100/);
    expect(run.status).toBe(3);
  });

  test('an advantage or a variance out of range names the group', async () => {
    const overflow = await runCli(['normalize'], {
      input: `${row({ group_index: 'g', reward: 1e200 })}${row({ group_index: 'g', reward: -1e200 })}`,
    });
    expect(overflow.stderr).toMatch(/group_index "g".*overflow/);
    expect([overflow.status, overflow.stdout.length]).toEqual([3, 0]);
    const zero = await runCli(['normalize', '--epsilon', '0'], {
      input: `${row({ reward: 1e-200 })}${row({ reward: 2e-200 })}`,
    });
    expect(zero.stderr).toMatch(/group 1.*divisor/);
    expect(zero.status).toBe(3);
  });
});

describe('the summary', () => {
  test('says what was done', async () => {
    const path = file(
      PAIR +
        row({ group_index: 2, rollout_id: 'a', reward: 3, loss_mask: [1, 1] }) +
        row({ group_index: 2, rollout_id: 'a', reward: 4, loss_mask: [1] }) +
        row({ group_index: 3, rollout_id: 'c', reward: 9, status: 'aborted' }) +
        row({ group_index: 4, rollout_id: 'd', reward: 9 }) +
        row({ group_index: 4, rollout_id: 'e', reward: 9 }),
    );
    const target = join(folder, 'summary.json');
    const run = await runCli(['normalize', path, '--summary', target, '--exclude', 'aborted']);
    const summary = JSON.parse(readFileSync(target, 'utf8'));
    expect(summary).toMatchObject({
      ...{ rows: 7, rollouts: 6, groups: 4, grouping: 2, estimator: 'grpo' },
      siblings: { policy: 'mainstream', multi_row: 1, disagreeing: 1 },
      ...{ flat_groups: 1, singleton_groups: 1, excluded: { aborted: 1 }, backend: 'cpu', adapter: null },
    });
    expect(summary.siblings.examples).toEqual([
      { rollout: '"a"', rows: [3, 4], rewards: [3, 4], places: ['line 3', 'line 4'] },
    ]);
    expect(Object.keys(summary.seconds)).toEqual(['read', 'plan', 'compute', 'write']);
    expect(summary.warnings).toHaveLength(2); // the rollout id in two groups, the siblings that disagree
    for (const warning of summary.warnings) expect(run.stderr).toContain(`warning: ${warning}`);
  });

  test.each([
    ['rows without group_index', [], row({ reward: 1 }) + row({ reward: 2 }), 4, /one prompt group/],
    [
      'a fixed layout',
      ['--n-samples-per-prompt', '1', '--rollout-batch-size', '2'],
      row({ reward: 1 }) + row({ reward: 2 }),
      3,
      /by position/,
    ],
    [
      'a layout that does not fit',
      ['--n-samples-per-prompt', '3', '--rollout-batch-size', '2'],
      row({ reward: 1 }) + row({ reward: 2 }),
      4,
      /3 samples per prompt x 2 prompts are 6 rows, not 2/,
    ],
    ['half a layout', ['--n-samples-per-prompt', '2'], row({ reward: 1 }) + row({ reward: 2 }), 4, /takes both/],
    [
      'one row without',
      [],
      row({ reward: 1, group_index: 1 }) + row({ reward: 2 }),
      4,
      /1 of 2 rows have no group_index \(line 2\)/,
    ],
  ])('a fall below tier 2 is a warning: %s', async (_, args, input, tier, warning) => {
    const target = join(folder, 'tier.json');
    const run = await runCli(['normalize', ...args, '--summary', target], { input });
    expect(run.stderr).toMatch(warning);
    expect(JSON.parse(readFileSync(target, 'utf8')).grouping).toBe(tier);
  });
});

describe('pass-through', () => {
  const input = row({ reward: 3 }) + row({ reward: 5 });
  const raw = (...args: string[]) => runCli(['normalize', '--advantage-estimator', 'ppo', ...args], { input });

  test('groups by sizes that fit, and warns of those that do not', async () => {
    expect((await raw('--prompt-group-sizes', '1,1')).stderr).toMatch(/2 prompt groups by prompt_group_sizes/);
    const misfit = await raw('--prompt-group-sizes', '1');
    expect(misfit.stderr).toMatch(/warning: .*sum to 1 .*not checked/);
    expect(rowsOf(misfit).map(({ advantage }) => advantage)).toEqual([3, 5]);
  });

  test('warns where strict grouping would have refused', async () => {
    const run = await raw('--grouping', 'strict');
    expect(run.stderr).toMatch(/warning: strict grouping.*line 1, line 2.*not checked/);
    expect(run.status).toBe(0);
  });

  test('warns of options that have no effect', async () => {
    expect((await raw('--ddof', '0', '--epsilon', '1')).stderr).toMatch(
      /epsilon has no effect[\s\S]*ddof has no effect/,
    );
  });
});

describe('backends', () => {
  const softwareDriver = softwareDriverEnvironment(unpackSoftwareDriver());
  const noDriver = { VK_DRIVER_FILES: '/nonexistent', VK_ICD_FILENAMES: '/nonexistent', LD_LIBRARY_PATH: '' };

  test('cpu and webgpu print the same bytes', async () => {
    const path = file(manyRows(20_000));
    const cpu = await runCli(['normalize', path, '--backend', 'cpu']);
    const gpu = await runCli(['normalize', path, '--backend', 'webgpu']);
    expect(gpu.stderr).toMatch(/asked for/);
    expect(gpu.status).toBe(0);
    expect(gpu.stdout.equals(cpu.stdout)).toBe(true);
  });

  test('webgpu does what the CPU does where no rollout is counted', async () => {
    const path = file(row({ group_index: 1, reward: 1, remove_sample: true }));
    const [cpu, gpu] = await Promise.all(
      ['cpu', 'webgpu'].map((backend) => runCli(['normalize', path, '--backend', backend, '--exclude', 'removed'])),
    );
    expect([cpu.status, gpu.status]).toEqual([0, 0]);
    expect(gpu.stdout.equals(cpu.stdout)).toBe(true);
  });

  test('without a driver auto uses the CPU and says why; webgpu is status 4', async () => {
    const path = file(PAIR);
    const auto = await runCli(['normalize', path, '--gpu-min-rows', '0'], { env: noDriver });
    expect(auto.status).toBe(0);
    expect(auto.stderr).toMatch(/warning: computed on the CPU: .*no adapter/);
    const webgpu = await runCli(['normalize', path, '--backend', 'webgpu'], { env: noDriver });
    expect([webgpu.status, webgpu.stdout.length]).toEqual([4, 0]);
  });

  test('an adapter that is not there is status 4 and lists those that are', async () => {
    const run = await runCli(['normalize', file(PAIR), '--backend', 'webgpu', '--adapter', 'Voodoo2']);
    expect(run.stderr).toMatch(/Voodoo2.*there is: ./);
    expect([run.status, run.stdout.length]).toEqual([4, 0]);
  });

  test('auto does not take a software adapter', async () => {
    const run = await runCli(['normalize', file(PAIR), '--gpu-min-rows', '0'], { env: softwareDriver });
    expect(run.stderr).toMatch(/on CPU .*software/);
  });

  test('without the package webgpu everything but --backend webgpu works', async () => {
    const bare = join(folder, 'bare');
    mkdirSync(join(bare, 'node_modules'), { recursive: true });
    const root = new URL('../../', import.meta.url).pathname;
    cpSync(join(root, 'dist'), join(bare, 'dist'), { recursive: true });
    cpSync(join(root, 'package.json'), join(bare, 'package.json'));
    for (const name of readdirSync(join(root, 'node_modules'))) {
      if (name !== 'webgpu' && !name.startsWith('.'))
        symlinkSync(join(root, 'node_modules', name), join(bare, 'node_modules', name));
    }
    const run = (...args: string[]) =>
      spawnSync(process.execPath, ['dist/src/main.js', ...args], { cwd: bare, input: PAIR, encoding: 'utf8' });
    const auto = run('normalize', '--gpu-min-rows', '0');
    expect(auto.stderr).toMatch(/package webgpu does not load/);
    expect(auto.status).toBe(0);
    expect(run('normalize', '--backend', 'webgpu').status).toBe(4);
    expect(run('doctor').stdout).toMatch(/package webgpu does not load/);
  });
});

describe('endings', () => {
  test('a reader that closes the pipe ends it quietly', async () => {
    const path = file(manyRows(60_000));
    const shell = spawnSync(
      'bash',
      ['-c', `set -o pipefail; "$0" "$1" normalize "$2" | head -1`, process.execPath, CLI, path],
      { encoding: 'utf8' },
    );
    expect(shell.status).toBe(0);
    expect(shell.stdout.split('\n')).toHaveLength(2);
    expect(shell.stderr).not.toMatch(/EPIPE|internal/);
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s while rows come in ends with %i and leaves nothing', async (signal, status) => {
    const scratch = mkdtempSync(join(folder, 'signal-'));
    const output = join(scratch, 'out.jsonl');
    const child = spawn(process.execPath, [CLI, 'normalize', '-o', output], {
      stdio: ['pipe', 'ignore', 'pipe'],
      env: { ...process.env, TMPDIR: scratch },
    });
    child.stdin.write(PAIR);
    const appeared = async () => {
      while (readdirSync(scratch).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    await appeared(); // the output's temporary file and the spool
    child.kill(signal);
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(status);
    expect(readdirSync(scratch)).toEqual([]);
  });

  test('a full disk is a failed write', async () => {
    const run = await runCli(['normalize', file(manyRows(3000)), '-o', '/dev/full']);
    expect(run.stderr).toMatch(/\/dev\/full.*no space/);
    expect(run.status).toBe(74);
  });
});

describe('doctor', () => {
  test('prints a table, and JSON with --json', async () => {
    const env = softwareDriverEnvironment(unpackSoftwareDriver());
    const table = await runCli(['doctor'], { env });
    expect(table.status).toBe(0);
    expect(table.stdout.toString()).toMatch(/maxStorageBufferBindingSize[\s\S]*--backend auto would use: cpu/);
    const json = JSON.parse((await runCli(['doctor', '--json'], { env })).stdout.toString());
    expect(json.adapters[0]).toMatchObject({ software: true, problem: null });
    expect(json.adapters[0].limits.maxBufferSize).toBeGreaterThan(2 ** 27);
    expect(json.auto.backend).toBe('cpu');
  });

  test('without a driver says so', async () => {
    const run = await runCli(['doctor', '--json'], { env: { VK_DRIVER_FILES: '/nonexistent', LD_LIBRARY_PATH: '' } });
    expect(run.status).toBe(0);
    expect(JSON.parse(run.stdout.toString())).toMatchObject({ webgpu: { available: false }, adapters: [] });
  });
});

test('the example of the README runs', () => {
  const demo = spawnSync(process.execPath, [join(dirname(CLI), '..', 'examples', 'compare-baselines.js')], {
    encoding: 'utf8',
  });
  expect(demo.status).toBe(0);
  const table = /Prompt group 0\n[\s\S]*?└.*┘\n/.exec(demo.stdout)?.[0];
  expect(table).toMatch(/fix-date-parser\/A +│ +4 │ +1 │ +\+0\.504 │ +\+0\.866/);
  expect(readFileSync(join(dirname(CLI), '..', '..', 'README.md'), 'utf8')).toContain(table);
});
