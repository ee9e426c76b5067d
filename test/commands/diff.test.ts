/** `rollnorm diff` as a process: its counts against two runs of normalize, its exits, its inputs. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REASONS } from '../../src/diff/reasons.ts';
import { CLI, type Finished, rowsOf, runCli } from '../support/run-cli.ts';

const layouts = fileURLToPath(new URL('../fixtures/layouts/', import.meta.url));
const twins = join(layouts, 'twins.jsonl');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollnorm-diff-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
function fileOf(rows: readonly object[], name = `${made++}.jsonl`): string {
  const path = join(folder, name);
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return path;
}

/** A rollout of four rows that succeeds and one of a single row that fails. */
const FAN_OUT = ['a', 'a', 'a', 'a', 'b'].map((rollout, index) => ({
  ...{ group_index: 0, rollout_id: rollout, index, reward: rollout === 'a' ? 1 : 0, response_length: 5 },
}));

const jsonOf = (run: Finished) => JSON.parse(run.stdout.toString());

async function diffJson(...args: string[]) {
  const run = await runCli(['diff', ...args, '--json']);
  expect(run.stderr).not.toMatch(/internal error/);
  return { run, found: jsonOf(run) };
}

describe('per rollout against row-weighted', () => {
  test('four rows of one rollout count four times: both rollouts change, with the reason', async () => {
    const { run, found } = await diffJson(fileOf(FAN_OUT), '--against', 'rows');
    expect(run.status).toBe(0);
    const { compared, changed, signs, difference, largest, by_group } = found.total;
    expect([compared, changed]).toEqual([
      { rows: 5, rollouts: 2, groups: 1 },
      { rows: 5, rollouts: 2, groups: 1 },
    ]);
    expect(signs).toEqual({ flipped: NONE, from_zero: NONE, to_zero: NONE });
    const [a, b] = [(1 - 0.5) / (Math.SQRT1_2 + 1e-6), (0 - 0.5) / (Math.SQRT1_2 + 1e-6)];
    const [rowsA, rowsB] = [(1 - 0.8) / (Math.sqrt(0.2) + 1e-6), (0 - 0.8) / (Math.sqrt(0.2) + 1e-6)];
    expect(difference.largest).toBeCloseTo(b - rowsB, 6);
    expect(difference.median).toBeCloseTo(a - rowsA, 6);
    expect(difference.mean).toBeCloseTo((4 * (a - rowsA) + (b - rowsB)) / 5, 6);
    expect(largest.map((one: { row: number; rollout: string }) => [one.row, one.rollout])).toEqual([
      [5, '"b"'],
      [1, '"a"'],
    ]);
    expect(largest[0].reasons).toEqual([
      {
        code: 'siblings-as-rows',
        text: 'siblings count as rows: 5 rows instead of 2 rollouts, mean 0.8 instead of 0.5, std 0.4472 instead of 0.7071',
      },
    ]);
    expect(by_group[0]).toMatchObject({ rows: 5, rollouts: 2, changed_rows: 5, baseline: { before: 0.5, after: 0.8 } });
  });

  test('the text says the same', async () => {
    const run = await runCli(['diff', fileOf(FAN_OUT, 'fan-out.jsonl'), '--against', 'rows']);
    const text = run.stdout.toString();
    expect(text).toMatch(/^before {3}grpo: \(r - mean\) \/ \(std \+ 1e-6\); ddof 1; siblings mainstream; /);
    expect(text).toMatch(/^differ {3}siblings {2}mainstream -> rows$/m);
    expect(text).toMatch(/^ {2}changed {5}5 rows \(100 %\), 2 rollouts, 1 groups$/m);
    expect(text).toMatch(/^ +5 {2}"b" +1 {2}0 +-0\.707106 +-1\.78885 +-1\.08174$/m);
    expect(text).toMatch(/siblings count as rows: 5 rows instead of 2 rollouts/);
  });

  test('the other way round, rollouts are still those that share an id', async () => {
    const { found } = await diffJson(fileOf(FAN_OUT), '--siblings', 'rows', '--against', '--siblings mainstream');
    expect(found.total.changed).toEqual({ rows: 5, rollouts: 2, groups: 1 });
    expect(found.total.largest[0].reasons[0].code).toBe('siblings-as-rows');
  });
});

const NONE = { rows: 0, rollouts: 0 };

describe('two settings', () => {
  const SETTINGS = [
    [['--like', 'miles-2369'], '--like slime'],
    [[], '--advantage-estimator dr_grpo'],
    [[], '--like verl'],
    [['--siblings', 'last'], '--siblings mean --ddof 0'],
    [['--exclude', 'removed'], '--exclude truncated,aborted'],
    [['--advantage-estimator', 'rloo'], '--advantage-estimator raw'],
    [['--scale', 'batch'], '--weight tokens'],
  ] as const;

  test.each(SETTINGS)('%j against %s: counted as two runs of normalize say', async (flags, against) => {
    const { found, run } = await diffJson(twins, ...flags, '--against', against, '--top', '1000');
    expect(run.status).toBe(0);
    const before = rowsOf(await runCli(['normalize', twins, ...flags]));
    const text = against.split(' ');
    const merged = text[0] === '--exclude' || text[0] === '--siblings' ? text : [...flags, ...text];
    const after = rowsOf(await runCli(['normalize', twins, ...withoutRepeated(merged)]));
    const pairs = before.map((row, i) => [row.advantage as number, after[i].advantage as number]);
    const differences = pairs.map(([a, b]) => Math.abs(b - a));
    const { compared, changed, signs, difference, largest } = found.total;
    expect(compared.rows).toBe(before.length);
    expect(changed.rows).toBe(differences.filter((one) => one > 0).length);
    expect(difference.largest).toBe(Math.max(...differences));
    const own = differences.filter((one) => one > 0).sort((a, b) => a - b);
    expect(difference.mean).toBeCloseTo(own.reduce((sum, one) => sum + one, 0) / own.length, 12);
    expect(difference.median).toBeCloseTo((own[(own.length - 1) >> 1] + own[own.length >> 1]) / 2, 12);
    expect(signs.flipped.rows).toBe(pairs.filter(([a, b]) => a * b < 0).length);
    expect(signs.from_zero.rows).toBe(pairs.filter(([a, b]) => a === 0 && b !== 0).length);
    expect(signs.to_zero.rows).toBe(pairs.filter(([a, b]) => a !== 0 && b === 0).length);
    expect(largest.length).toBe(changed.rollouts);
    for (const one of largest) {
      expect([one.before, one.after]).toEqual(pairs[one.row - 1]);
      expect(one.reasons.length).toBeGreaterThan(0);
      expect(one.reasons.map(({ code }: { code: string }) => code)).not.toContain('rule');
    }
  });

  /** What is given twice counts as it was given last. */
  function withoutRepeated(flags: readonly string[]): string[] {
    const byName = new Map<string, string>();
    for (let i = 0; i < flags.length; i += 2) byName.set(flags[i], flags[i + 1]);
    return [...byName].flat();
  }

  test('the same settings: nothing changes, exit 0 even with --fail-over 0', async () => {
    const run = await runCli(['diff', twins, '--against', '--advantage-estimator grpo', '--fail-over', '0']);
    expect(run.status).toBe(0);
    expect(run.stdout.toString()).toMatch(/differ {3}in nothing[\s\S]*changed {5}0 rows \(0 %\), 0 rollouts, 0 groups/);
    expect(run.stdout.toString()).not.toMatch(/largest changes/);
  });

  test('another grouping is named with its rows, and each side its tier', async () => {
    const rows = [0, 0, 1, 1].map((group, index) => ({ group_index: group, index, reward: index % 3 }));
    const { found, run } = await diffJson(fileOf(rows), '--like', 'miles-2369', '--against', '--like slime');
    expect(found.batches[0].grouping).toEqual({ before: 'group_index', after: 'single_group' });
    expect(found.total.largest[0].reasons[0]).toEqual({
      code: 'grouping',
      text: expect.stringContaining('the group has 4 rows instead of 2'),
    });
    expect(run.stderr).toMatch(/warning: .*after: slime groups rows by their position/);
    const settings = found.differing_settings.map(({ setting }: { setting: string }) => setting);
    expect(settings).toEqual(['like', 'siblings', 'grouping']);
  });

  test('--top 0 lists nothing, and a list is no longer than it says', async () => {
    for (const top of [0, 1, 3]) {
      const { found } = await diffJson(twins, '--against', 'rows', '--top', String(top));
      expect(found.total.largest.length).toBe(top);
      expect(found.total.by_group.length).toBe(top);
    }
  });
});

describe('--fail-over', () => {
  test('exits 1 past the largest difference alone', async () => {
    const path = fileOf(FAN_OUT);
    const { found } = await diffJson(path, '--against', 'rows');
    const { largest } = found.total.difference;
    const exits: (number | null)[] = [];
    for (const limit of [0, largest * 0.999999, largest, 2]) {
      const run = await runCli(['diff', path, '--against', 'rows', '--fail-over', String(limit)]);
      exits.push(run.status);
      expect(run.stderr.includes('--fail-over allows')).toBe(run.status === 1);
      expect(run.stdout.length).toBeGreaterThan(0);
    }
    expect(exits).toEqual([1, 1, 0, 0]);
  });

  test('--json says that it failed', async () => {
    const { run, found } = await diffJson(fileOf(FAN_OUT), '--against', 'rows', '--fail-over', '0.5');
    expect(run.status).toBe(1);
    expect(found).toMatchObject({ fail_over: 0.5, failed: true });
  });
});

describe('a recorded column', () => {
  /** (r - mean) of rows, as a trainer would have written it. */
  const recorded = (change: (value: number | null, i: number) => unknown = (value) => value) =>
    fileOf(FAN_OUT.map((row, i) => ({ ...row, mine: change(row.reward - 0.8, i) })));

  test('a known rule that explains it is named', async () => {
    const { run, found } = await diffJson(recorded(), '--against-column', 'mine');
    expect(run.status).toBe(0);
    expect(found.after).toBeNull();
    expect(found.batches[0].recorded.rule).toBe('r - mean, every row counted');
    expect(found.total.changed).toEqual({ rows: 5, rollouts: 2, groups: 1 });
    expect(found.total.largest[0].reasons[0].code).toBe('known-rule');
  });

  test('what agrees up to rounding has not changed, and --fail-over 0 still sees it', async () => {
    const args = [recorded(), '--siblings', 'rows', '--advantage-estimator', 'dr_grpo', '--against-column', 'mine'];
    const exact = await diffJson(...args);
    expect(exact.found.total).toMatchObject({ changed: { rows: 0 }, rounding_rows: 0, difference: { largest: 0 } });
    args[0] = recorded((value, i) => (i === 0 ? value! + 1e-5 : value));
    const near = await diffJson(...args, '--fail-over', '1e-4');
    expect(near.found.total).toMatchObject({ changed: { rows: 0 }, rounding_rows: 1 });
    expect(near.run.status).toBe(0);
    expect((await runCli(['diff', ...args, '--fail-over', '0'])).status).toBe(1);
  });

  test('what is missing is counted apart; what is not finite is past every limit', async () => {
    const path = recorded((value, i) => (i < 2 ? null : value));
    writeFileSync(path, `${readFileSync(path, 'utf8')}{"group_index": 0, "reward": 0, "mine": null}\n`);
    const { found, run } = await diffJson(path, '--against-column', 'mine', '--fail-over', '9');
    expect(found.total).toMatchObject({ compared: { rows: 4 - 1 }, not_compared: { missing: 3, not_finite: 0 } });
    expect(run.status).toBe(0);
    writeFileSync(
      path,
      `${readFileSync(path, 'utf8')}{"group_index": 0, "reward": 0, "mine": -Infinity}\n{"group_index": 0, "reward": 0, "mine": NaN}\n`,
    );
    const infinite = await diffJson(path, '--against-column', 'mine', '--fail-over', '9');
    expect(infinite.found.total.not_compared).toEqual({ missing: 3, not_finite: 2 });
    expect(infinite.run.status).toBe(1);
  });

  test('a column that is not there is bad input that names it', async () => {
    const path = recorded();
    const run = await runCli(['diff', path, '--against-column', 'theirs']);
    expect(run.status).toBe(3);
    expect(run.stderr).toContain(`${path}: no row has theirs`);
    expect(run.stdout.length).toBe(0);
  });

  test('TRL files carry theirs: the rule is that of TRL', async () => {
    const path = join(layouts, 'trl', 'completions_00001.parquet');
    const { reward_columns } = trlOptions();
    const args = ['--from', 'trl', '--reward-columns', reward_columns, path, '--against-column', 'advantage'];
    const { found } = await diffJson(...args, '--like', 'trl');
    expect(found.total.compared.rows).toBeGreaterThan(0);
    expect(found.total.changed.rows).toBe(0);
  });

  function trlOptions(): { reward_columns: string } {
    const expected = JSON.parse(readFileSync(join(layouts, 'expected.json'), 'utf8'));
    const options: string[] = Object.values(expected['trl/completions_00001.parquet'].options ?? {}).flat() as string[];
    return { reward_columns: options[options.indexOf('--reward-columns') + 1] };
  }
});

describe('inputs', () => {
  test('JSONL, Parquet, Arrow, .pt and standard input say the same', async () => {
    const args = ['--against', 'rows', '--json'];
    const expected = jsonOf(await runCli(['diff', twins, ...args]));
    const withoutPlaces = ({ total }: { total: { largest: object[]; by_group: object[] } }) => ({
      ...total,
      largest: total.largest.map((one) => ({ ...one, batch: '', place: '', reasons: '' })),
      by_group: total.by_group.map((one) => ({ ...one, batch: '', group: '' })),
    });
    for (const name of ['twins-snappy.parquet', 'twins.arrow', 'twins.pt']) {
      const found = jsonOf(await runCli(['diff', join(layouts, name), ...args]));
      expect(withoutPlaces(found)).toEqual(withoutPlaces(expected));
    }
    const piped = jsonOf(await runCli(['diff', ...args], { input: readFileSync(twins) }));
    expect(withoutPlaces(piped)).toEqual(withoutPlaces(expected));
  });

  test('several files: each by itself, and their total', async () => {
    const other = FAN_OUT.map((row) => ({ ...row, reward: 1 - row.reward }));
    const paths = [fileOf(FAN_OUT), fileOf(other), fileOf(FAN_OUT.slice(3))];
    const { found } = await diffJson(...paths, '--against', 'rows');
    expect(found.batches.map(({ batch }: { batch: string }) => batch)).toEqual(paths);
    expect(found.batches.map(({ changed }: { changed: { rows: number } }) => changed.rows)).toEqual([5, 5, 0]);
    expect(found.total.compared).toEqual({ rows: 12, rollouts: 6, groups: 3 });
    expect(found.total.changed).toEqual({ rows: 10, rollouts: 4, groups: 2 });
    expect(found.total.difference.mean).toBeCloseTo(found.batches[0].difference.mean, 6);
    expect(found.total.largest.map(({ batch }: { batch: string }) => batch)).toEqual([
      ...[paths[0], paths[1], paths[0], paths[1]],
    ]);
    const text = (await runCli(['diff', ...paths, '--against', 'rows'])).stdout.toString();
    expect(text).toMatch(/total of 3 batches/);
    for (const path of paths) expect(text).toContain(path);
  });

  test('--one-batch joins them', async () => {
    const paths = [fileOf(FAN_OUT.slice(0, 3)), fileOf(FAN_OUT.slice(3))];
    const { found } = await diffJson(...paths, '--one-batch', '--against', 'rows');
    expect(found.batches.length).toBe(1);
    expect(found.total.changed).toEqual({ rows: 5, rollouts: 2, groups: 1 });
    expect(found.total.largest[0].place).toBe(`${paths[1]}: line 2`);
  });

  test('--batch-by: rows are those of the file', async () => {
    const rows = FAN_OUT.flatMap((row) => [
      { ...row, step: 0 },
      { ...row, step: 1, reward: 1 - row.reward },
    ]);
    const { found } = await diffJson(fileOf(rows), '--batch-by', 'step', '--against', 'rows');
    expect(found.batches.map(({ batch }: { batch: string }) => batch.replace(/^.* /, ''))).toEqual(['(0)', '(1)']);
    expect(found.total.largest.map(({ row }: { row: number }) => row)).toEqual([9, 10, 1, 2]);
  });

  test('--batch-by with a recorded column takes each batch its own rows', async () => {
    const rows = FAN_OUT.flatMap((row) => [0, 1].map((step) => ({ ...row, step, mine: row.reward - 0.5 + step })));
    const args = ['--batch-by', 'step', '--advantage-estimator', 'dr_grpo', '--against-column', 'mine'];
    const { found } = await diffJson(fileOf(rows), ...args);
    const changed = found.batches.map((batch: { changed: { rows: number } }) => batch.changed.rows);
    expect(changed).toEqual([0, 5]);
    expect(found.total.difference).toEqual({ mean: 1, median: 1, p90: 1, largest: 1 });
  });

  test('a file without rows compares nothing', async () => {
    for (const against of [
      ['--against', 'rows'],
      ['--against-column', 'mine'],
    ]) {
      const { run, found } = await diffJson(fileOf([]), ...against, '--fail-over', '0');
      expect(run.status).toBe(0);
      expect(found.total.compared).toEqual({ rows: 0, rollouts: 0, groups: 0 });
    }
  });
});

describe('refusals', () => {
  const usage: [name: string, args: string[], message: RegExp][] = [
    ['nothing to compare with', [], /--against SETTINGS, --against rows or --against-column NAME/],
    ['two things', ['--against', 'rows', '--against-column', 'a'], /one of them alone/],
    ['no settings', ['--against', ' '], /Expected flags such as/],
    ['an unknown flag', ['--against', '--sibling rows'], /in the settings '--sibling rows': unknown option/],
    [
      'an unknown framework',
      ['--against', '--like nobody'],
      /in the settings '--like nobody': unknown dialect 'nobody'/,
    ],
    ['a bare name', ['--against', 'slime'], /in the settings 'slime': expected flags such as --like slime/],
    ['a stray word', ['--against', '--ddof 0 rows'], /in the settings '--ddof 0 rows': 'rows' is no flag/],
    ['a value', ['--against', '--ddof 2'], /in the settings '--ddof 2': .*Expected 0 or 1/],
    [
      'a combination',
      ['--advantage-estimator', 'maxrl', '--against', '--scale group'],
      /in the settings '--scale group': /,
    ],
    [
      'what the rows lack',
      ['--against', '--advantage-estimator remax'],
      /in the settings '--advantage-estimator remax': /,
    ],
    ['a limit', ['--against', 'rows', '--fail-over', '-1'], /Expected a finite number >= 0/],
  ];
  test.each(usage)('%s: exit 2, with the text', async (_, args, message) => {
    const run = await runCli(['diff', twins, ...args]);
    expect(run.stderr).toMatch(message);
    expect(run.status).toBe(2);
    expect(run.stdout.length).toBe(0);
  });

  test('rows that only the other settings refuse: exit 3 naming file, settings and rows', async () => {
    const path = fileOf(FAN_OUT.map((row, i) => (i === 1 ? { ...row, reward: 0 } : row)));
    const run = await runCli(['diff', path, '--against', '--siblings shared']);
    expect(run.status).toBe(3);
    expect(run.stderr).toContain(`${path}: in the settings '--siblings shared': rollout "a": siblings must share`);
    expect(run.stdout.length).toBe(0);
  });

  test('a bad file among others: exit 3 and no report', async () => {
    const run = await runCli(['diff', fileOf(FAN_OUT), fileOf([{ reward: 'good' }]), '--against', 'rows']);
    expect(run.status).toBe(3);
    expect(run.stderr).toMatch(/line 1: reward must be a number/);
    expect(run.stdout.length).toBe(0);
  });

  test('--prompt-group-sizes in the settings is for one batch', async () => {
    const run = await runCli(['diff', fileOf(FAN_OUT), fileOf(FAN_OUT), '--against', '--prompt-group-sizes 2,3']);
    expect(run.status).toBe(2);
  });
});

test('docs/diff.md shows what is printed, and every code', async () => {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const text = readFileSync(join(root, 'docs/diff.md'), 'utf8');
  const [, args, shown] = /\$ rollnorm (diff .*)\n([^`]*)```/.exec(text)!;
  expect((await runCli(args.split(' '), { cwd: root })).stdout.toString()).toBe(shown);
  for (const code of REASONS) expect(text).toContain(`\`${code}\``);
});

test('a reader that closes the pipe ends it quietly', () => {
  const script = `set -o pipefail; "$0" "$1" diff "$2" --against rows --json --top 1000 2>/dev/null | head -1`;
  const run = spawnSync('bash', ['-c', script, process.execPath, CLI, twins], { encoding: 'utf8' });
  expect([run.status, run.stdout, run.stderr]).toEqual([0, '{\n', '']);
});
