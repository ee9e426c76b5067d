/** Faults that users of such tools reported, each as a run of the command line (fixtures/README.md says where they come from). */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { rowsOf, runCli } from '../support/run-cli.ts';

interface Case {
  id: string;
  about: string;
  argv: string[];
  file: string;
  text?: string;
  base64?: string;
  expect: { exit: number; advantages?: number[]; tolerance?: number; stderr?: string; no_output?: boolean };
}

const cases: Case[] = JSON.parse(readFileSync(new URL('../fixtures/reports.json', import.meta.url), 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'rollnorm-reports-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function searches(expression: string): RegExp {
  const ignoresCase = expression.startsWith('(?i)');
  return new RegExp(ignoresCase ? expression.slice(4) : expression, ignoresCase ? 'is' : 's');
}

function contentOf({ text, base64 }: Case): Buffer {
  return base64 === undefined ? Buffer.from(text ?? '') : Buffer.from(base64, 'base64');
}

describe.each(cases)('$id: $about', (report) => {
  const path = join(folder, `${report.id}-${report.file}`);
  writeFileSync(path, contentOf(report));

  test('from a file to standard output', async () => {
    const run = await runCli(['normalize', path, ...report.argv]);
    expect(run.stderr).toMatch(searches(report.expect.stderr ?? ''));
    expect(run.status).toBe(report.expect.exit);
    if (report.expect.no_output) expect(run.stdout.length).toBe(0);
    const { advantages, tolerance = 0 } = report.expect;
    if (!advantages) return;
    const rows = rowsOf(run);
    expect(rows.length).toBe(advantages.length);
    for (const [i, row] of rows.entries())
      expect(Math.abs((row.advantage as number) - advantages[i])).toBeLessThanOrEqual(tolerance);
  });

  test('from standard input to a file', async () => {
    const output = join(folder, `${report.id}.out.jsonl`);
    const direct = await runCli(['normalize', path, ...report.argv]);
    const run = await runCli(['normalize', '-o', output, ...report.argv], { input: contentOf(report) });
    expect(run.status).toBe(report.expect.exit);
    expect(run.stdout.length).toBe(0);
    if (report.expect.exit === 0) expect(readFileSync(output)).toEqual(direct.stdout);
    else expect(existsSync(output) && statSync(output).size > 0).toBe(false);
  });
});
