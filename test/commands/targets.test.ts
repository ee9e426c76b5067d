/** Nothing that is read is written, nothing is written twice, and no name promises another format. */
import { spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { refuseManyTargets } from '../../src/commands/targets.ts';
import { UsageError } from '../../src/errors.ts';
import { CLI } from '../support/run-cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollnorm-targets-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const at = (name: string) => join(folder, name);
const ROWS = '{"reward": 1}\n{"reward": 0}\n';
for (const name of ['a', 'b']) writeFileSync(at(name), ROWS);
symlinkSync('a', at('link-to-a'));
linkSync(at('a'), at('other-name-of-a'));
mkdirSync(at('out'));
symlinkSync('p.jsonl', at('out/q.jsonl'));
symlinkSync('../new.jsonl', at('out/r.jsonl'));
symlinkSync('out', at('way-to-out'));

describe('are refused', () => {
  const cases: [what: string, sources: string[], outputs: string[], summary: string | undefined, message: RegExp][] = [
    ['the input', ['a'], ['a'], undefined, /--output .*a is the input itself/],
    ['the input through a link', ['a'], ['link-to-a'], undefined, /is the input itself/],
    ['the input under another name', ['a'], ['other-name-of-a'], undefined, /is the input itself/],
    ['the second of two sources', ['b', 'a'], ['a'], undefined, /is the input itself/],
    ['a summary over a source', ['b', 'a'], ['x'], 'link-to-a', /--summary .* is the input itself/],
    ['two outputs that are one through a link', ['a'], ['out/p.jsonl', 'out/q.jsonl'], undefined, /the same file/],
    ['two outputs that will be one', ['a'], ['new.jsonl', 'out/r.jsonl'], undefined, /the same file/],
    ['two outputs by two ways', ['a'], ['out/n', 'way-to-out/n'], undefined, /the same file/],
    [
      'a summary that will be an output',
      ['a'],
      ['new/run.json'],
      'new/run.json',
      /--output and --summary are the same/,
    ],
    [
      'Parquet in gzip',
      ['a'],
      ['x.parquet.gz'],
      undefined,
      /a \.parquet file is compressed inside itself.*leave off \.gz/,
    ],
    ['Arrow in zstd', ['a'], ['x.FEATHER.zst'], undefined, /a \.feather file is compressed inside itself/],
    ['another format in gzip', ['a'], ['x.csv.gz'], undefined, /writes JSONL, Parquet and Arrow, not \.csv/],
  ];
  test.each(cases)('%s', (_, sources, outputs, summary, message) => {
    const refuse = () => refuseManyTargets(sources.map(at), outputs.map(at), summary && at(summary));
    expect(refuse).toThrow(UsageError);
    expect(refuse).toThrow(message);
  });

  test.each(['>>', '1<>'])('the input by way of the shell: %s', (redirection) => {
    const command = `${process.execPath} ${CLI} normalize a ${redirection} a; ${process.execPath} ${CLI} normalize - < a ${redirection} a`;
    const { stderr } = spawnSync('sh', ['-c', command], { cwd: folder });
    expect(stderr.toString().match(/the standard output is the input itself/g)).toHaveLength(2);
    expect(readFileSync(at('a'), 'utf8')).toBe(ROWS);
  });
});

test('what is none of these is let through', () => {
  refuseManyTargets([at('a'), at('b')], [at('x.jsonl.gz'), at('out/p.jsonl'), at('new/y.parquet')], at('new/run.json'));
  refuseManyTargets([at('a')], ['/dev/null', '/dev/null'], '/dev/null');
  refuseManyTargets(['-', at('nowhere/a')], [at('nowhere/b')], undefined);
});
