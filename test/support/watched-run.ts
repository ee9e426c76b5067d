/** Runs of the command line that something is done to in their midst. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CLI, type Finished } from './run-cli.ts';

export interface WatchedRun {
  readonly child: ChildProcess;
  /** What it has written to stderr so far. */
  stderr(): string;
  readonly ended: Promise<Finished>;
}

/** Starts the command line as the head of a process group of its own; standard input stays open. */
export function startCli(args: readonly string[], env: Record<string, string | undefined> = {}): WatchedRun {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { ...process.env, ...env },
    stdio: 'pipe',
    detached: true,
  });
  const stdout: Buffer[] = [];
  let stderr = '';
  child.stdout.on('data', (data: Buffer) => stdout.push(data));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => {});
  const ended = new Promise<Finished>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status, signal) => resolve({ status, signal, stdout: Buffer.concat(stdout), stderr }));
  });
  return { child, stderr: () => stderr, ended };
}

/** Looks until it is so. @throws where the run ends before that */
export async function until({ child, stderr }: WatchedRun, isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`ended with ${child.exitCode} too early: ${stderr()}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Stops the run when it is so, does something, and lets it go on. */
export async function meanwhile(run: WatchedRun, isSo: () => boolean, act: () => void): Promise<void> {
  await until(run, isSo);
  run.child.kill('SIGSTOP');
  await until(run, () => stateOf(run.child.pid!) === 'T');
  act();
  run.child.kill('SIGCONT');
}

function stateOf(pid: number): string {
  return readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) /s, '')[0];
}

/** Whether the process reads the file: it has it open once to know it again, and once more to read it. */
export function reads({ child }: WatchedRun, path: string): boolean {
  const folder = `/proc/${child.pid}/fd`;
  try {
    return readdirSync(folder).filter((name) => linkOf(join(folder, name)) === path).length > 1;
  } catch {
    return false; // it has ended
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** Names of temporary files in a folder. */
export const temporariesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.tmp'));

/** Whether a temporary file there has so many bytes. */
export function hasWritten(folder: string, bytes = 1): boolean {
  return temporariesIn(folder).some((name) => {
    try {
      return statSync(join(folder, name)).size >= bytes;
    } catch {
      return false; // it is in its place by now
    }
  });
}

/** Whether any process of the run's group is left. */
export function hasOrphans({ child }: WatchedRun): boolean {
  try {
    process.kill(-child.pid!, 0);
    return true;
  } catch {
    return false;
  }
}
