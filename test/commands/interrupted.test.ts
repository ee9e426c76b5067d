/** What happens in the midst of a run: its input changes, a signal comes, its process is killed. */
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AS_INPUT, MANY_ROWS, type ManyRowsFormat, writeManyRows } from '../support/many-rows.ts';
import { Random } from '../support/random.ts';
import { runCli } from '../support/run-cli.ts';
import { hasOrphans, hasWritten, meanwhile, reads, startCli, temporariesIn, until } from '../support/watched-run.ts';

let folder: string;
let inputs: string;
beforeAll(async () => {
  // As /proc spells it.
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'rollnorm-interrupted-')));
  inputs = join(folder, 'inputs');
  mkdirSync(inputs);
  await writeManyRows(inputs);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
function emptyFolder(): string {
  const path = join(folder, `made-${made++}`);
  mkdirSync(path);
  return path;
}

/** A command that reads a copy of the input of many rows and writes into a folder of its own. */
function commandFor(format: ManyRowsFormat, more: readonly string[]) {
  const name = MANY_ROWS[format];
  const [from, to] = [emptyFolder(), emptyFolder()];
  const input = join(from, name);
  cpSync(join(inputs, name), input);
  const output = join(to, format === 'torch' ? 'out.jsonl' : name);
  return { input, to, args: ['normalize', input, '--backend', 'cpu', '-o', output, ...more] };
}

const CHANGES = {
  vanishes: unlinkSync,
  grows: (path: string) => appendFileSync(path, '{"reward": 1}\n'),
  shrinks: (path: string) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  'is replaced': (path: string) => {
    cpSync(path, `${path}.new`);
    renameSync(`${path}.new`, path);
  },
  'is written to': (path: string) => writeSync(openSync(path, 'r+'), '{', 0),
} as const;
type Change = keyof typeof CHANGES;

const SAID: Readonly<Record<Change, RegExp>> = {
  vanishes: /cannot (open|read): no such file/,
  grows: /changed while it was in use/,
  shrinks: /shrank while it was read|changed while it was in use/,
  'is replaced': /was replaced while it was in use/,
  'is written to': /was written to while it was in use/,
};

describe('an input that changes', () => {
  const changes = Object.keys(CHANGES).map((change) => ['jsonl', 3, change as Change] as const);

  test.each([
    ...changes,
    ['jsonl', 1, 'shrinks'],
    ['gzip', 1, 'shrinks'],
    ['parquet', 3, 'shrinks'],
    ['arrow', 1, 'shrinks'],
    ['torch', 1, 'shrinks'],
    ['torch', 1, 'vanishes'],
  ] as const)(
    '%s, %i threads: %s while it is read: exit 74 with its name, and no output',
    async (format, threads, change) => {
      const { input, to, args } = commandFor(format, ['--threads', String(threads)]);
      const run = startCli(args);
      await meanwhile(
        run,
        () => reads(run, input),
        () => CHANGES[change](input),
      );
      const { status, stderr } = await run.ended;
      expect(stderr).toContain(`${input}: `);
      expect(stderr).toMatch(SAID[change]);
      expect(status).toBe(74);
      expect(readdirSync(to)).toEqual([]);
    },
  );

  test.each([
    ['jsonl', 3, 'vanishes'],
    ['jsonl', 3, 'shrinks'],
    ['jsonl', 3, 'is written to'],
    ['jsonl', 1, 'grows'],
    ['gzip', 1, 'shrinks'],
    ['parquet', 3, 'shrinks'],
    ['parquet', 1, 'is written to'],
    ['arrow', 1, 'vanishes'],
  ] as const)('%s, %i threads: %s while rows are written: the same', async (format, threads, change) => {
    const { input, to, args } = commandFor(format, ['--threads', String(threads)]);
    const run = startCli(args);
    await meanwhile(
      run,
      () => hasWritten(to),
      () => CHANGES[change](input),
    );
    const { status, stderr } = await run.ended;
    expect(stderr).toContain(`${input}: `);
    expect(stderr).toMatch(SAID[change]);
    expect(status).toBe(74);
    expect(readdirSync(to)).toEqual([]);
  });

  test('--only, whose ids are copied from a Parquet input: the same', async () => {
    const { input, to, args } = commandFor('parquet', ['--only', '--threads', '1']);
    const run = startCli(args);
    await meanwhile(
      run,
      () => hasWritten(to),
      () => CHANGES['is written to'](input),
    );
    const { status, stderr } = await run.ended;
    expect([status, stderr]).toEqual([74, expect.stringMatching(SAID['is written to'])]);
    expect(readdirSync(to)).toEqual([]);
  });

  test('one of several, with --out-dir: it is named, the others are written', async () => {
    const [from, to] = [emptyFolder(), emptyFolder()];
    const names = ['a.jsonl', 'b.jsonl', 'c.jsonl'];
    for (const name of names) cpSync(join(inputs, MANY_ROWS.jsonl), join(from, name));
    const run = startCli(['normalize', from, '--backend', 'cpu', '--threads', '2', '--out-dir', to]);
    const input = join(from, 'a.jsonl');
    await meanwhile(
      run,
      () => reads(run, input),
      () => CHANGES.shrinks(input),
    );
    const { status, stderr } = await run.ended;
    expect([status, stderr]).toEqual([74, expect.stringMatching(/a\.jsonl: .*(shrank|changed while)/)]);
    expect(readdirSync(to).sort()).toEqual(['b.jsonl', 'c.jsonl']);
  });

  test.each(['inspect', 'explain', 'diff', 'parity'])(
    '%s: exit 74 with its name, and nothing printed',
    async (command) => {
      const { input } = commandFor('jsonl', []);
      const more = { inspect: [], parity: [], explain: ['--row', '5'], diff: ['--against', 'rows'] }[command]!;
      const run = startCli([command, input, '--threads', '2', ...more]);
      await meanwhile(
        run,
        () => reads(run, input),
        () => CHANGES.grows(input),
      );
      const { status, stderr, stdout } = await run.ended;
      expect([status, stdout.length]).toEqual([74, 0]);
      expect(stderr).toContain(`${input}: changed while it was in use`);
    },
  );
});

describe('a signal', () => {
  test.each([
    ['SIGINT', 130, 'jsonl', 3],
    ['SIGTERM', 143, 'jsonl', 3],
    ['SIGHUP', 129, 'jsonl', 3],
    ['SIGQUIT', 131, 'jsonl', 1],
    ['SIGTERM', 143, 'gzip', 1],
    ['SIGINT', 130, 'parquet', 3],
    ['SIGTERM', 143, 'arrow', 1],
    ['SIGHUP', 129, 'torch', 1],
  ] as const)(
    '%s ends with %i while %s is read by %i threads; nothing is left',
    async (signal, status, format, threads) => {
      const { input, to, args } = commandFor(format, ['--threads', String(threads)]);
      const run = startCli(args);
      await until(run, () => reads(run, input) && temporariesIn(to).length > 0);
      run.child.kill(signal);
      expect((await run.ended).status).toBe(status);
      expect(readdirSync(to)).toEqual([]);
      expect(hasOrphans(run)).toBe(false);
    },
  );

  test.each(['jsonl', 'parquet'] as const)('SIGTERM while threads write %s leaves nothing', async (format) => {
    const { to, args } = commandFor(format, ['--threads', '3']);
    const run = startCli(args);
    await until(run, () => hasWritten(to));
    run.child.kill('SIGTERM');
    expect((await run.ended).status).toBe(143);
    expect(readdirSync(to)).toEqual([]);
    expect(hasOrphans(run)).toBe(false);
  });

  test('SIGINT with --out-dir leaves the outputs that are whole and no others', async () => {
    const [from, to] = [emptyFolder(), emptyFolder()];
    for (let i = 0; i < 12; i++) cpSync(join(inputs, MANY_ROWS.parquet), join(from, `${i}.parquet`));
    const args = ['normalize', from, '--backend', 'cpu', '--threads', '2', '--out-dir', to];
    const run = startCli(args);
    await until(run, () => readdirSync(to).some((name) => !name.startsWith('.')));
    run.child.kill('SIGINT');
    expect((await run.ended).status).toBe(130);
    const left = readdirSync(to);
    expect(left.length).toBeGreaterThan(0);
    expect(left.length).toBeLessThan(12);
    const sizes = new Set(left.map((name) => statSync(join(to, name)).size));
    expect(left.every((name) => name.endsWith('.parquet')) && sizes.size === 1).toBe(true);
    expect(hasOrphans(run)).toBe(false);
  });

  test('a second SIGINT on top of the first changes nothing', async () => {
    const { input, to, args } = commandFor('jsonl', ['--threads', '3']);
    const run = startCli(args);
    await until(run, () => reads(run, input) && temporariesIn(to).length > 0);
    for (let i = 0; i < 3; i++) run.child.kill('SIGINT');
    expect((await run.ended).status).toBe(130);
    expect(readdirSync(to)).toEqual([]);
  });

  test('removes the spool of what goes to a pipe, and of what comes from one', async () => {
    const scratch = emptyFolder();
    const args = ['normalize', '-', '--to', 'parquet', '--only', '--backend', 'cpu', '-o', '-'];
    const run = startCli(args, { TMPDIR: scratch });
    run.child.stdin!.write('{"reward": 1}\n');
    await until(run, () => readdirSync(scratch).length > 0);
    run.child.kill('SIGTERM');
    expect((await run.ended).status).toBe(143);
    expect(readdirSync(scratch)).toEqual([]);
  });

  test.each(['inspect', 'explain', 'diff', 'parity'])('SIGINT ends %s with 130', async (command) => {
    const { input } = commandFor('jsonl', []);
    const more = { inspect: [], parity: [], explain: ['--row', '5'], diff: ['--against', 'rows'] }[command]!;
    const run = startCli([command, input, '--threads', '2', ...more]);
    await until(run, () => reads(run, input));
    run.child.kill('SIGINT');
    const { status, stdout } = await run.ended;
    expect([status, stdout.length]).toEqual([130, 0]);
    expect(hasOrphans(run)).toBe(false);
  });
});

describe('kill -9', () => {
  const isOutput = (name: string) => !name.startsWith('.');

  test('at twenty moments of a directory of several formats, then --resume: the bytes of a run that was left alone', async () => {
    const from = emptyFolder();
    const rows = (shift: number) =>
      Array.from({ length: 4000 }, (_, i) => `{"group_index": ${i >> 3}, "reward": ${(i * shift) % 11}}\n`).join('');
    for (let i = 0; i < 8; i++) writeFileSync(join(from, `${i}.jsonl`), rows(i + 1));
    for (const [i, ending] of ['parquet', 'arrow', 'jsonl.gz', 'jsonl.zst'].entries()) {
      const target = join(from, `${8 + i}.${ending}`);
      await runCli(['normalize', join(from, `${i}.jsonl`), ...AS_INPUT, '--to', ending.split('.')[0], '-o', target]);
    }
    const args = ['normalize', from, '--backend', 'cpu', '--threads', '2'];
    const reference = emptyFolder();
    const whole = await runCli([...args, '--out-dir', reference]);
    expect([whole.status, whole.stderr]).toEqual([0, expect.anything()]);
    const names = readdirSync(reference);
    expect(names).toHaveLength(12);
    const random = new Random(20);
    let to = emptyFolder();
    let cutShort = 0;
    for (let kill = 0; kill < 20; kill++) {
      if (readdirSync(to).filter(isOutput).length === names.length) to = emptyFolder();
      const before = readdirSync(to).length;
      const run = startCli([...args, '--out-dir', to, '--resume']);
      await until(run, () => readdirSync(to).length > before).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, random.integer(0, 30)));
      run.child.kill('SIGKILL');
      if ((await run.ended).signal === 'SIGKILL') cutShort++;
      for (const name of readdirSync(to).filter(isOutput))
        expect(readFileSync(join(to, name)).equals(readFileSync(join(reference, name)))).toBe(true);
    }
    expect(cutShort).toBeGreaterThan(10);
    const run = await runCli([...args, '--out-dir', to, '--resume']);
    expect(run.status).toBe(0);
    expect(readdirSync(to).filter(isOutput).sort()).toEqual([...names].sort());
    for (const name of names)
      expect(readFileSync(join(to, name)).equals(readFileSync(join(reference, name)))).toBe(true);
  });
});
