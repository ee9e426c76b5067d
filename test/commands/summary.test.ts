/** What the summary says of several batches together. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addReports, describeRun, type FileSummary, summarize } from '../../src/commands/normalize/summary.ts';
import { createEngine, type Report } from '../../src/index.ts';
import { runCli } from '../support/run-cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollnorm-summary-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const adapter = (description: string) => ({ vendor: 'v', architecture: 'a', description, software: false });
let cpu: Report;
let gpu: Report;
let other: Report;
beforeAll(async () => {
  const { report } = await createEngine({ backend: 'cpu' }).normalize({ reward: [1, 2] });
  cpu = { ...report, backend_reason: '2 rows are few' };
  gpu = { ...report, backend: 'webgpu', backend_reason: '9 rows are many', adapter: adapter('H200') };
  other = { ...gpu, adapter: adapter('MI300') };
});

const fileOf = (...reports: Report[]): FileSummary => {
  const report = addReports(reports);
  const seconds = { read: 0, write: 0, ...report.seconds };
  return { ...report, file: 'f', output: null, batches: reports.length, preset: 'miles', seconds };
};

describe('where batches were computed', () => {
  test('by one backend', () => {
    expect(addReports([cpu, cpu, cpu])).toMatchObject({
      backend: 'cpu',
      adapter: null,
      backend_reason: '2 rows are few',
      backends: [{ backend: 'cpu', adapter: null, reason: '2 rows are few', batches: 3 }],
    });
    expect(addReports([gpu])).toMatchObject({ backend: 'webgpu', adapter: gpu.adapter, backends: [{ batches: 1 }] });
  });

  test('a small first batch does not hide the GPU of the others', () => {
    const together = addReports([cpu, gpu, gpu]);
    expect(together).toMatchObject({
      backend: 'mixed',
      adapter: gpu.adapter,
      backend_reason: '1 batch on CPU: 2 rows are few; 2 batches on H200: 9 rows are many',
      backends: [
        { backend: 'cpu', adapter: null, batches: 1 },
        { backend: 'webgpu', adapter: gpu.adapter, reason: '9 rows are many', batches: 2 },
      ],
    });
    expect(describeRun(fileOf(cpu, gpu, gpu))).toContain('grpo on CPU and H200 (1 batch on CPU: 2 rows are few; 2');
  });

  test('by two adapters', () => {
    expect(addReports([gpu, other])).toMatchObject({ backend: 'webgpu', adapter: null, backends: [{}, {}] });
  });

  test('counts batches, not files', () => {
    const summary = summarize([fileOf(cpu, cpu), fileOf(gpu, cpu)], [], [], false) as FileSummary;
    expect(summary.backends.map(({ backend, batches }) => [backend, batches])).toEqual([
      ['cpu', 3],
      ['webgpu', 1],
    ]);
    expect(summary).toMatchObject({ backend: 'mixed', batches: 4, files: [{ backend: 'cpu' }, { backend: 'mixed' }] });
  });

  test('is said by --batch-by and of several files', async () => {
    const input = join(folder, 'rows.jsonl');
    const summary = join(folder, 'summary.json');
    writeFileSync(input, [0, 0, 1, 1, 2].map((step) => `{"step": ${step}, "reward": ${step}}\n`).join(''));
    const flags = ['--backend', 'cpu', '--summary', summary];
    const place = { backend: 'cpu', adapter: null, reason: 'asked for' };
    await runCli(['normalize', input, '--batch-by', 'step', ...flags]);
    expect(JSON.parse(readFileSync(summary, 'utf8'))).toMatchObject({
      backend: 'cpu',
      backends: [{ ...place, batches: 3 }],
    });
    writeFileSync(join(folder, 'more.jsonl'), '{"reward": 1}\n');
    await runCli(['normalize', input, join(folder, 'more.jsonl'), '--out-dir', join(folder, 'out'), ...flags]);
    expect(JSON.parse(readFileSync(summary, 'utf8'))).toMatchObject({ backends: [{ ...place, batches: 2 }] });
  });
});

describe('siblings that disagree', () => {
  const row = (step: number, rollout: string, reward: number) =>
    `${JSON.stringify({ step, group_index: 1, rollout_id: rollout, reward })}\n`;
  const one = join(folder, 'one.jsonl');
  const two = join(folder, 'two.jsonl');
  writeFileSync(one, row(1, 'a', 1) + row(2, 'd', 0) + row(1, 'b', 0) + row(2, 'd', 1));
  writeFileSync(two, row(1, 'd', 0) + row(1, 'd', 2));

  const examplesOf = async (...args: string[]) => {
    const summary = join(folder, 'examples.json');
    const run = await runCli(['normalize', ...args, '--summary', summary]);
    expect(run.status, run.stderr).toBe(0);
    return JSON.parse(readFileSync(summary, 'utf8')).siblings.examples;
  };

  test('are named by the rows of the file where a batch is part of it', async () => {
    expect(await examplesOf(one, '--batch-by', 'step', '-o', join(folder, 'o.jsonl'))).toEqual([
      { rollout: '"d"', rows: [2, 4], rewards: [0, 1], places: ['line 2', 'line 4'] },
    ]);
  });

  test('are named with their files where files are one batch, or batches of their own', async () => {
    const places = [`${one}: line 2`, `${one}: line 4`, `${two}: line 1`, `${two}: line 2`];
    const joined = await examplesOf(one, two, '--one-batch', '--out-dir', join(folder, 'joined'));
    expect(joined).toEqual([{ rollout: '"d"', rows: [2, 4, 5, 6], rewards: [0, 1, 0, 2], places }]);
    const apart = await examplesOf(one, two, '--out-dir', join(folder, 'apart'));
    expect(apart.map(({ file, rows }: { file: string; rows: number[] }) => [file, rows])).toEqual([
      [one, [2, 4]],
      [two, [1, 2]],
    ]);
  });
});

test('a field is mapped once, a column named once', async () => {
  for (const flags of [
    ['--map', 'reward=a', '--map', 'reward=b'],
    ['--reward-columns', 'a=1,a=2'],
  ])
    expect(await runCli(['normalize', ...flags])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('twice'),
    });
});
