/** Runs the built command line as a process. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const CLI = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));

export interface Finished {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: Uint8Array | string;
  readonly cwd?: string;
  readonly env?: Record<string, string | undefined>;
}

/** Starts the command line with these arguments and waits for its end. */
export function runCli(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  if (!existsSync(CLI)) throw new Error('dist/ is not built; run npm run build');
  const env = { ...process.env, ...options.env };
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: options.cwd,
    env,
    stdio: 'pipe',
  });
  const stdout: Buffer[] = [];
  let stderr = '';
  child.stdout.on('data', (data: Buffer) => stdout.push(data));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => {}); // the command may end before it has read everything
  child.stdin.end(options.input ?? '');
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status, signal) => resolve({ status, signal, stdout: Buffer.concat(stdout), stderr }));
  });
}

/** The rows that a run printed. */
export function rowsOf({ stdout }: Finished): Record<string, unknown>[] {
  const lines = stdout.toString().split('\n');
  if (lines.pop() !== '') throw new Error('the output does not end with a newline');
  return lines.map((line) => JSON.parse(line.replaceAll(/:\s*(NaN|-?Infinity)(?=[,}\]])/g, ':null')));
}
