/** Standard output that has no room is an error, one that nobody reads is none, whatever command prints. */
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CLI } from '../support/run-cli.ts';

const COMMANDS = [
  ['--help'],
  ['--version'],
  ['presets'],
  ['presets', '--json'],
  ['doctor', '--json'],
  ['normalize', '--help'],
];

function run(args: readonly string[], stdout: number | 'pipe'): Promise<{ status: number | null; stderr: string }> {
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', stdout, 'pipe'] });
  child.stdout?.destroy();
  let stderr = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, stderr })));
}

test.each(COMMANDS)('%s %s: no room', async (...args) => {
  const { status, stderr } = await run(args.filter(Boolean), openSync('/dev/full', 'w'));
  expect([status, stderr]).toEqual([74, expect.stringMatching(/rollnorm: .*cannot write: no space left on device/)]);
});

test.each(COMMANDS)('%s %s: no reader', async (...args) => {
  const { status, stderr } = await run(args.filter(Boolean), 'pipe');
  expect(stderr).not.toMatch(/at .*\.js:/);
  expect(status).toBe(0);
});
