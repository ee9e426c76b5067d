/** The command line on a GPU that fails in the midst of its work: exit status, rows, messages, files left behind. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../support/run-cli.ts';
import { startCli, until } from '../support/watched-run.ts';

const HOOK = fileURLToPath(new URL('../support/faulty-webgpu.mjs', import.meta.url));
/** A rule of one kernel, since compiling takes most of the time of such a run; what lies between is tried in test/engine. */
const RULE = ['--advantage-estimator', 'raw'];
const AUTO = [...RULE, '--backend', 'auto', '--gpu-min-rows', '0'];
const WEBGPU = [...RULE, '--backend', 'webgpu'];
const CPU = [...RULE, '--backend', 'cpu'];
const HOLD_MS = 4000;

let folder: string;
let input: string;
let expected: Buffer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rollnorm-gpu-'));
  input = join(folder, 'rows.jsonl');
  const row = (i: number) => ({
    group_index: i >> 4,
    rollout_id: i >> 1,
    reward: ((i * 7919) % 101) / 100,
    loss_mask: [1, i % 2],
  });
  writeFileSync(input, Array.from({ length: 400 }, (_, i) => `${JSON.stringify(row(i))}\n`).join(''));
  expected = (await runCli(['normalize', input, ...CPU])).stdout;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
function emptyFolder(): string {
  const path = join(folder, `made-${made++}`);
  mkdirSync(path);
  return path;
}

interface Fault {
  readonly point: string;
  readonly kind: 'lost' | 'fails' | 'nothing' | 'never' | 'out of memory';
  readonly at?: number;
  readonly holdMs?: number;
}

const withFault = (fault: Fault) => ({
  NODE_OPTIONS: `--import ${HOOK}`,
  ROLLNORM_TEST_FAULT: JSON.stringify(fault),
});

type Row = readonly [name: string, fault: Fault, reason: RegExp, more: readonly string[]];

const FAULTS: Row[] = [
  ['the device does not open', { point: 'requestDevice', kind: 'fails' }, /no device opens: injected/, []],
  ['a kernel does not compile', { point: 'createComputePipelineAsync', kind: 'fails' }, /compiling .*: injected/, []],
  [
    'the memory of the GPU is full',
    { point: 'createBuffer', kind: 'out of memory', at: 2 },
    /out of memory: injected/,
    [],
  ],
  ['the device is lost', { point: 'submit', kind: 'lost', at: 2 }, /the device was lost|AbortError/, []],
  ['a submission does nothing', { point: 'submit', kind: 'nothing' }, /the GPU did not run submission/, []],
  [
    'the GPU does not answer',
    { point: 'mapAsync', kind: 'never' },
    /did not answer within 1 s/,
    ['--gpu-timeout', '1'],
  ],
];

describe('normalize', () => {
  test.each(FAULTS)('%s: webgpu is exit 70 without rows or files', async (_, fault, reason, more) => {
    const to = emptyFolder();
    const output = join(to, 'out.jsonl');
    const run = await runCli(['normalize', input, ...WEBGPU, ...more, '-o', output], { env: withFault(fault) });
    expect(run.stderr).toMatch(/^injected: /m);
    expect(run.stderr).toMatch(reason);
    expect(run.stderr).not.toMatch(/at .*\.js:|validation/);
    expect([run.status, run.stdout.length, readdirSync(to)]).toEqual([70, 0, []]);
  });

  test.each(FAULTS)('%s: auto prints the rows of the CPU and says why', async (_, fault, reason, more) => {
    const summary = join(emptyFolder(), 'summary.json');
    const args = ['normalize', input, ...AUTO, ...more, '--summary', summary];
    const run = await runCli(args, { env: withFault(fault) });
    expect(run.status).toBe(0);
    expect(run.stdout.equals(expected)).toBe(true);
    expect(run.stderr).toMatch(/^injected: /m);
    expect(run.stderr).not.toMatch(/at .*\.js:|validation/);
    const { backend, backend_reason, warnings } = JSON.parse(readFileSync(summary, 'utf8'));
    expect([backend, backend_reason]).toEqual(['cpu', expect.stringMatching(reason)]);
    expect(warnings).toContain(`computed on the CPU: ${backend_reason}`);
    expect(run.stderr).toContain(`warning: computed on the CPU: ${backend_reason}`);
  });

  test('without a fault the same adapter gives the rows of the CPU', async () => {
    const run = await runCli(['normalize', input, ...AUTO], { env: withFault({ point: 'none', kind: 'lost' }) });
    expect(run.stderr).toMatch(/at or above the crossover/);
    expect(run.stdout.equals(expected)).toBe(true);
  });

  test('--fail-on fallback: all is written, then exit 1', async () => {
    const fault = { point: 'submit', kind: 'lost', at: 2 } as const;
    const run = await runCli(['normalize', input, ...AUTO, '--fail-on', 'backend'], { env: withFault(fault) });
    expect([run.status, run.stdout.equals(expected)]).toEqual([1, true]);
  });

  test('of several files only the one that was computed then fails; exit 70', async () => {
    const [from, to] = [emptyFolder(), emptyFolder()];
    for (const name of ['a.jsonl', 'b.jsonl', 'c.jsonl']) cpSync(input, join(from, name));
    const fault = { point: 'submit', kind: 'lost', at: 2 } as const;
    const args = ['normalize', from, ...WEBGPU, '--threads', '1', '--out-dir', to];
    const run = await runCli(args, { env: withFault(fault) });
    expect([run.status, readdirSync(to).sort()]).toEqual([70, ['b.jsonl', 'c.jsonl']]);
    for (const name of readdirSync(to)) expect(readFileSync(join(to, name)).equals(expected)).toBe(true);
  });
});

describe('a GPU that does not answer', () => {
  test('the output is whole before the process ends, for which a driver may make it wait', async () => {
    const output = join(emptyFolder(), 'out.jsonl');
    const fault = { point: 'mapAsync', kind: 'never', holdMs: HOLD_MS } as const;
    const run = startCli(['normalize', input, ...AUTO, '--gpu-timeout', '0.5', '-o', output], withFault(fault));
    await until(run, () => existsSync(output));
    expect(readFileSync(output).equals(expected)).toBe(true);
    expect(run.child.exitCode).toBe(null);
    expect((await run.ended).status).toBe(0);
  });

  test('Ctrl-C ends the wait at once with 130, and leaves nothing', async () => {
    const to = emptyFolder();
    const args = ['normalize', input, ...WEBGPU, '-o', join(to, 'out.jsonl')];
    const run = startCli(args, withFault({ point: 'mapAsync', kind: 'never' }));
    await until(run, () => run.stderr().includes('injected: '));
    const asked = performance.now();
    run.child.kill('SIGINT');
    expect((await run.ended).status).toBe(130);
    expect(performance.now() - asked).toBeLessThan(20_000);
    expect(readdirSync(to)).toEqual([]);
  });
});

describe('the commands that look', () => {
  test.each([
    ['explain', ['--row', '5']],
    ['diff', ['--against', '--clip 0,0.5']],
  ])('%s: a lost device is exit 70 under webgpu, and the CPU under auto', async (command, more) => {
    const env = withFault({ point: 'submit', kind: 'lost', at: 2 });
    const strict = await runCli([command, input, ...more, ...WEBGPU], { env });
    expect([strict.status, strict.stdout.length]).toEqual([70, 0]);
    expect(strict.stderr).toMatch(/lost|AbortError/);
    const fallen = await runCli([command, input, ...more, ...AUTO], { env });
    const onCpu = await runCli([command, input, ...more, ...CPU]);
    const printed = ({ stdout }: typeof fallen) => stdout.toString().replace(/^(computed +on the CPU) .*/m, '$1');
    expect([fallen.status, printed(fallen)]).toEqual([0, printed(onCpu)]);
    expect(fallen.stderr).toMatch(/warning: .*computed on the CPU: .*(lost|AbortError)/);
  });

  test('parity: a device that fails is told as the fault of every batch, exit 1', async () => {
    const env = withFault({ point: 'requestDevice', kind: 'fails', at: 0 });
    const run = await runCli(['parity', input, '--json'], { env, cwd: emptyFolder() });
    expect(run.status).toBe(1);
    const { passed, adapters } = JSON.parse(run.stdout.toString());
    expect([passed, adapters[0].cases[0].fault]).toEqual([false, expect.stringMatching(/injected: no device/)]);
  });

  test('doctor: a device that does not open is the problem of its adapter', async () => {
    const env = withFault({ point: 'requestDevice', kind: 'fails' });
    const run = await runCli(['doctor', '--json'], { env });
    expect(run.status).toBe(0);
    expect(JSON.parse(run.stdout.toString()).adapters[0].problem).toMatch(/injected: no device/);
  });
});
