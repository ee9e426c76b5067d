/** What may be written: not the input, not two things to one file, and no format that only the name promises. */
import { fstatSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { UsageError } from '../errors.ts';

const STDIN = 0;
/** Formats and compressions that a name asks for and that this version does not write. */
const OTHER_ENDINGS = ['.bz2', '.xz', '.lz4', '.br', '.zip', '.7z', '.pt', '.pkl', '.csv', '.tsv'];

/**
 * @param outputs where each file's rows go; `-` is standard output
 * @throws UsageError
 */
export function refuseManyTargets(
  inputs: readonly string[],
  outputs: readonly string[],
  summary: string | undefined,
): void {
  for (const output of outputs) {
    const ending = OTHER_ENDINGS.find((name) => output.toLowerCase().endsWith(name));
    if (ending) throw new UsageError(`--output ${output}: this version writes JSONL, Parquet and Arrow, not ${ending}`);
  }
  if (summary === '-' || summary === '/dev/stdout')
    throw new UsageError('--summary needs a file: standard output carries rows alone');
  const sources = new Set(
    inputs.map((input) => (input === '-' ? identityOfStats(fstatSync(STDIN)) : identityOf(input))),
  );
  sources.delete(null);
  const written = new Set<string>();
  for (const output of outputs) {
    const identity = identityOf(output);
    if (identity === null) continue;
    if (sources.has(identity)) throw new UsageError(`--output ${output} is the input itself`);
    written.add(identity);
  }
  if (summary === undefined) return;
  const identity = identityOf(summary);
  if (identity === null) return;
  if (sources.has(identity)) throw new UsageError(`--summary ${summary} is the input itself`);
  if (written.has(identity)) throw new UsageError(`--output and --summary are the same file, ${summary}`);
}

/** Equal for two names of one regular file, there or not yet; null for what is no regular file. */
function identityOf(path: string): string | null {
  if (path === '-') return null;
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats ? identityOfStats(stats) : join(realpathSync(dirname(resolve(path))), basename(path));
  } catch {
    return null; // whoever opens it says what is wrong
  }
}

function identityOfStats(stats: Stats): string | null {
  return stats.isFile() ? `${stats.dev}:${stats.ino}` : null;
}
