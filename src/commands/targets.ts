/** What may be written: not an input, not two things to one file, and no format that only the name promises. */
import { fstatSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { UsageError } from '../errors.ts';

const STDIN = 0;
const STDOUT = 1;
/** Formats and compressions that a name asks for and that this version does not write. */
const OTHER_ENDINGS = ['.bz2', '.xz', '.lz4', '.br', '.zip', '.7z', '.pt', '.pkl', '.csv', '.tsv'];
/** Formats that are read at positions, and so not as a whole compressed. */
const BINARY_ENDINGS = ['.parquet', '.arrow', '.arrows', '.feather', '.ipc'];
const COMPRESSED = /\.(gz|zst)$/;

/**
 * @param sources every file that is read; `-` is standard input
 * @param outputs where each file's rows go; `-` is standard output
 * @throws UsageError
 */
export function refuseManyTargets(
  sources: readonly string[],
  outputs: readonly string[],
  summary: string | undefined,
): void {
  for (const output of outputs) requireWritableName(output);
  if (summary === '-' || summary === '/dev/stdout')
    throw new UsageError('--summary needs a file: standard output carries rows alone');
  const read = identitiesOf(sources);
  const written = new Map<string, string>();
  for (const output of outputs) {
    const isStandard = output === '-' || output === '/dev/stdout';
    const identity = isStandard ? identityOfDescriptor(STDOUT) : identityOf(output);
    if (identity === null) continue;
    const what = output === '-' ? 'the standard output' : `--output ${output}`;
    if (read.has(identity)) throw new UsageError(`${what} is the input itself`);
    const before = written.get(identity);
    if (before !== undefined) throw new UsageError(`the outputs ${before} and ${output} are the same file`);
    written.set(identity, output);
  }
  if (summary === undefined) return;
  const identity = identityOf(summary);
  if (identity === null) return;
  if (read.has(identity)) throw new UsageError(`--summary ${summary} is the input itself`);
  if (written.has(identity)) throw new UsageError(`--output and --summary are the same file, ${summary}`);
}

/**
 * @param targets what is written beside rows, with the flag that names it
 * @throws UsageError on standard output, an input, or two things to one file
 */
export function refuseOtherTargets(
  sources: readonly string[],
  targets: readonly (readonly [flag: string, path: string])[],
): void {
  const read = identitiesOf(sources);
  const written = new Map<string, string>();
  for (const [flag, path] of targets) {
    if (path === '-' || path === '/dev/stdout')
      throw new UsageError(`${flag} needs a file: standard output has the report`);
    const identity = identityOf(path);
    if (identity === null) continue;
    if (read.has(identity)) throw new UsageError(`${flag} ${path} is the input itself`);
    const before = written.get(identity);
    if (before !== undefined) throw new UsageError(`${before} and ${flag} are the same file, ${path}`);
    written.set(identity, flag);
  }
}

function requireWritableName(output: string): void {
  const name = output.toLowerCase();
  const inner = name.replace(COMPRESSED, '');
  const other = OTHER_ENDINGS.find((ending) => inner.endsWith(ending));
  if (other) throw new UsageError(`--output ${output}: this version writes JSONL, Parquet and Arrow, not ${other}`);
  const binary = inner === name ? undefined : BINARY_ENDINGS.find((ending) => inner.endsWith(ending));
  if (binary)
    throw new UsageError(
      `--output ${output}: a ${binary} file is compressed inside itself, not as a whole: leave off ${name.slice(inner.length)}`,
    );
}

/** Of the regular files that are read. */
function identitiesOf(sources: readonly string[]): ReadonlySet<string | null> {
  const read = new Set(sources.map((source) => (source === '-' ? identityOfDescriptor(STDIN) : identityOf(source))));
  read.delete(null);
  return read;
}

/** Equal for two names of one regular file, there or not yet; null for what is no regular file. */
function identityOf(path: string): string | null {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats ? identityOfStats(stats) : futurePath(path);
  } catch {
    return null; // whoever opens it says what is wrong
  }
}

const MOST_LINKS = 40;

/** Where a file that is not there yet is going to be. */
function futurePath(path: string, links = 0): string {
  const absolute = resolve(path);
  const target = targetOf(absolute);
  if (target !== null && links < MOST_LINKS) return futurePath(resolve(dirname(absolute), target), links + 1);
  const folder = dirname(absolute);
  return folder === absolute ? absolute : join(futureFolder(folder), basename(absolute));
}

function futureFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return futurePath(folder);
  }
}

function targetOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function identityOfDescriptor(descriptor: number): string | null {
  try {
    return identityOfStats(fstatSync(descriptor));
  } catch {
    return null; // it was closed before the start
  }
}

function identityOfStats(stats: Stats): string | null {
  return stats.isFile() ? `${stats.dev}:${stats.ino}` : null;
}
