/** What may be written: not the input, not two things to one file, and no format that only the name promises. */
import { fstatSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { UsageError } from '../errors.ts';

const STDIN = 0;
/** Formats and compressions that a name asks for and that this version does not write. */
const OTHER_ENDINGS = [
  ...['.zst', '.bz2', '.xz', '.lz4', '.br', '.zip', '.7z'],
  ...['.parquet', '.arrow', '.feather', '.ipc', '.pt', '.pkl', '.csv', '.tsv'],
];

/**
 * @param targets option and what it names; `-` is standard output
 * @throws UsageError
 */
export function refuseTargets(input: string, targets: { '--output': string; '--summary': string | undefined }): void {
  const { '--output': output, '--summary': summary } = targets;
  const ending = OTHER_ENDINGS.find((name) => output.toLowerCase().endsWith(name));
  if (ending) throw new UsageError(`--output ${output}: this version writes JSONL, plain or .gz, not ${ending}`);
  if (summary === '-' || summary === '/dev/stdout')
    throw new UsageError('--summary needs a file: standard output carries rows alone');
  const source = input === '-' ? identityOfStats(fstatSync(STDIN)) : identityOf(input);
  const written = identityOf(output);
  for (const [option, target] of Object.entries(targets)) {
    const identity = target === undefined ? null : identityOf(target);
    if (identity !== null && identity === source) throw new UsageError(`${option} ${target} is the input itself`);
  }
  if (summary !== undefined && written !== null && identityOf(summary) === written) {
    throw new UsageError(`--output and --summary are the same file, ${summary}`);
  }
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
