/** Which files are read, and where each one's rows go. */
import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { UsageError } from '../../errors.ts';
import { fileError } from '../../io/temporary-files.ts';

export type OutputFormat = 'jsonl' | 'parquet' | 'arrow';
export const OUTPUT_FORMATS: readonly OutputFormat[] = ['jsonl', 'parquet', 'arrow'];

const naturally = new Intl.Collator('en', { numeric: true }).compare;

/** Endings of files with rows; a directory's other files are passed over. */
const DATA_FILE = /\.(jsonl|ndjson|json|parquet|arrow|arrows|feather|ipc|pt)(\.gz|\.zst)?$/i;

/** Files in the order given, those of a directory in the order of the numbers in their names. */
export function expandInputs(
  paths: readonly string[],
  passesOver: readonly string[] = [],
): { files: string[]; passedOver: string[]; hasFolder: boolean } {
  const files: string[] = [];
  const passedOver: string[] = [];
  let hasFolder = false;
  for (const path of paths) {
    if (path === '-' || !isDirectory(path)) {
      files.push(path);
      continue;
    }
    hasFolder = true;
    const names = namesIn(path)
      .filter((name) => !name.startsWith('.'))
      .sort(naturally);
    const hasRows = (name: string) => DATA_FILE.test(name) && !passesOver.includes(name);
    const data = names.filter((name) => hasRows(name) && !isDirectory(join(path, name)));
    if (data.length === 0) throw new UsageError(`${path}: no files with rows in this directory`);
    files.push(...data.map((name) => join(path, name)));
    passedOver.push(...names.filter((name) => !data.includes(name)).map((name) => join(path, name)));
  }
  return { files, passedOver, hasFolder };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (cause) {
    throw fileError(folder, 'cannot list the directory', cause);
  }
}

/** What cannot be looked at is taken for a file: whoever opens it says what is wrong. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** The outputs of several files in a folder, each under its input's base name. @throws UsageError where two are equal */
export function outputsInFolder(folder: string, files: readonly string[], format: OutputFormat | undefined): string[] {
  const byName = new Map<string, string>();
  return files.map((file) => {
    const name = outputName(basename(file), format);
    const before = byName.get(name);
    if (before !== undefined)
      throw new UsageError(`${before} and ${file} would both be written to ${join(folder, name)}`);
    byName.set(name, file);
    return join(folder, name);
  });
}

const ENDINGS: Readonly<Record<OutputFormat, RegExp>> = {
  jsonl: /\.(jsonl|ndjson|json)(\.gz|\.zst)?$/i,
  parquet: /\.parquet$/i,
  arrow: /\.(arrow|arrows|feather|ipc)$/i,
};

/** A file that has no writer of its own becomes JSONL; a compressed one can hold nothing else, whatever its name. */
function outputName(name: string, format: OutputFormat | undefined): string {
  const wanted =
    format ?? (/\.pt$|\.(parquet|arrow|arrows|feather|ipc|pt)\.(gz|zst)$/i.test(name) ? 'jsonl' : undefined);
  if (wanted === undefined || ENDINGS[wanted].test(name)) return name;
  return `${name.replace(DATA_FILE, '')}.${wanted}`;
}

/** The format that an output's name asks for; undefined: that of the input. */
export function formatOfName(path: string): OutputFormat | undefined {
  return OUTPUT_FORMATS.find((format) => ENDINGS[format].test(path));
}
