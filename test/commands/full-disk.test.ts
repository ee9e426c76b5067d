/** Outputs that find no room, and files that may not be read or written: exit 74 that names them, nothing half-written. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { samplesFile } from '../io/torch/pickled.ts';
import { AS_INPUT } from '../support/many-rows.ts';
import { CLI, runCli } from '../support/run-cli.ts';
import { NO_ROOM, runOnSmallDisk } from '../support/small-disk.ts';

let folder: string;
let inputs: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rollnorm-full-'));
  inputs = join(folder, 'inputs');
  mkdirSync(inputs);
  // Numbers that no compression makes much shorter.
  const lines = Array.from(
    { length: 12_000 },
    (_, row) =>
      `{"group_index": ${row >> 3}, "index": ${row}, "reward": ${Math.sqrt(row)}, "noise": ${Math.sin(row)}}\n`,
  );
  writeFileSync(join(inputs, 'rows.jsonl'), lines.join(''));
  writeFileSync(join(inputs, 'small.jsonl'), lines.slice(0, 100).join(''));
  const samples = lines.map((_, index) => ({ index, reward: Math.sqrt(index) }));
  writeFileSync(join(inputs, 'rows.pt'), samplesFile(samples));
  for (const ending of ['parquet', 'arrow'])
    await runCli(['normalize', 'rows.jsonl', ...AS_INPUT, '-o', `rows.${ending}`], { cwd: inputs });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
function disk(): string {
  const path = join(folder, `disk-${made++}`);
  mkdirSync(path);
  return path;
}

describe('a disk that becomes full', () => {
  test.each([
    ['JSONL, one thread', 'rows.jsonl --threads 1 -o "$DISK/out.jsonl"', /out\.jsonl/],
    ['JSONL, three threads', 'rows.jsonl --threads 3 -o "$DISK/out.jsonl"', /out\.jsonl/],
    ['gzip', 'rows.jsonl -o "$DISK/out.jsonl.gz"', /out\.jsonl\.gz/],
    ['zstd', 'rows.jsonl -o "$DISK/out.jsonl.zst"', /out\.jsonl\.zst/],
    ['whole rows of Parquet, three threads', 'rows.parquet --threads 3 -o "$DISK/out.parquet"', /out\.parquet/],
    ['whole rows of Arrow', 'rows.arrow --threads 1 -o "$DISK/out.arrow"', /out\.arrow/],
    ['a sidecar of a .pt file', 'rows.pt -o "$DISK/out.jsonl"', /out\.jsonl/],
    ['a sidecar in Parquet', 'rows.jsonl --only -o "$DISK/out.parquet"', /out\.parquet/],
    ['a sidecar in Arrow', 'rows.jsonl --only --threads 2 -o "$DISK/out.arrow"', /out\.arrow/],
    ['a batch of several files', '--one-batch rows.jsonl rows.parquet --only --out-dir "$DISK"', /rows\./],
    ['the copy of standard input', '- -o /dev/null < rows.jsonl', /cannot spool stdin/],
    [
      'the file from which Parquet goes to a pipe',
      'rows.jsonl --only --to parquet -o - | tail -c 0',
      /stdout|-: cannot|spool/,
    ],
  ])('%s', (_, args, name) => {
    const run = runOnSmallDisk(disk(), ['normalize', '--backend cpu', args], { cwd: inputs });
    expect(run.stderr).toMatch(NO_ROOM);
    expect(run.stderr).toMatch(name);
    expect(run.stderr).not.toMatch(/internal|at .*\.js:/);
    expect(run).toMatchObject({ status: 74, left: [] });
  });

  test('in the midst of a directory: the file is named, those before are whole', () => {
    const args = ['normalize', '--backend cpu', 'small.jsonl rows.jsonl --threads 1 --out-dir "$DISK"'];
    const run = runOnSmallDisk(disk(), args, { cwd: inputs });
    expect(run.stderr).toMatch(NO_ROOM);
    expect(run.stderr).toMatch(/rows\.jsonl: cannot write/);
    expect(run).toMatchObject({ status: 74, left: ['small.jsonl'] });
  });

  test.each([
    ['the summary', 'normalize small.jsonl -o /dev/null --summary "$DISK/s.json"', /s\.json/],
    [
      'the report of parity',
      'parity --rows small.jsonl small.jsonl --json > "$DISK/report"',
      /-: cannot write|stdout: cannot write/,
    ],
  ])('%s', (_, args, name) => {
    const run = runOnSmallDisk(disk(), [args], { cwd: inputs, fills: true });
    expect(run.stderr).toMatch(NO_ROOM);
    expect(run.stderr).toMatch(name);
    expect(run.status).toBe(74);
    expect(run.left.filter((left) => left !== 'report')).toEqual([]);
  });
});

describe('what may not be touched', () => {
  /** The command line without the right of root to pass over permissions. */
  function runWithoutRights(args: readonly string[], env = {}) {
    const own = [process.execPath, CLI, ...args];
    const [command, ...rest] =
      process.geteuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search', ...own] : own;
    return spawnSync(command, rest, {
      cwd: inputs,
      encoding: 'utf8',
      input: '{"reward": 1}\n',
      env: { ...process.env, ...env },
    });
  }

  test('an input that may not be read', () => {
    const input = join(disk(), 'secret.jsonl');
    writeFileSync(input, '{"reward": 1}\n', { mode: 0o000 });
    for (const args of [
      ['normalize', input],
      ['inspect', input],
      ['diff', input, '--against', 'rows'],
    ]) {
      const run = runWithoutRights(args);
      expect([run.status, run.stdout, run.stderr]).toEqual([
        74,
        '',
        `rollnorm: ${input}: cannot open: permission denied\n`,
      ]);
    }
  });

  test('an output, a folder and a summary that may not be written, a place to spool that may not', () => {
    const closed = disk();
    const kept = join(closed, 'kept.jsonl');
    writeFileSync(kept, 'old', { mode: 0o444 });
    chmodSync(closed, 0o555);
    for (const args of [
      ['small.jsonl', '-o', kept],
      ['small.jsonl', '-o', join(closed, 'new.jsonl')],
      ['small.jsonl', '--out-dir', closed],
      ['small.jsonl', '--out-dir', join(closed, 'deeper')],
      ['small.jsonl', '-o', '/dev/null', '--summary', join(closed, 's.json')],
      ['-'],
    ]) {
      const run = runWithoutRights(['normalize', ...args], { TMPDIR: closed });
      expect(run.stderr).toMatch(/rollnorm: .*: permission denied\n/);
      expect([run.status, run.stdout]).toEqual([74, '']);
    }
    chmodSync(closed, 0o755);
    expect(readdirSync(closed)).toEqual(['kept.jsonl']);
    expect(readFileSync(kept, 'utf8')).toBe('old');
  });
});
