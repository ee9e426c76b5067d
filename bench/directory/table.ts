/** A run in one row: what it did, and what it held in its first and in its last quarter. */
import type { Sample } from './watch.ts';

export interface Run {
  readonly seconds: number;
  /** Of each file that is done, by its name. */
  readonly rowsOf: ReadonlyMap<string, number>;
  readonly samples: readonly Sample[];
}

const NAMES = [
  'backend',
  'minutes',
  'files',
  'rows',
  'read',
  'resident MiB, first quarter: median / 95 % / peak',
  'last quarter',
  'most handles, first / last quarter',
  'most threads',
];
export const HEAD = `| ${NAMES.join(' | ')} |\n|${' --- |'.repeat(NAMES.length)}\n`;

const HIGH = 0.95;

/** @param sizes of the recordings, by their names */
export function tableRow(
  backend: string,
  { seconds, rowsOf, samples }: Run,
  sizes: ReadonlyMap<string, number>,
): string {
  let rows = 0;
  let bytes = 0;
  for (const [name, count] of rowsOf) {
    rows += count;
    bytes += sizes.get(name.slice(name.indexOf('-') + 1))!;
  }
  const quarter = Math.ceil(samples.length / 4);
  const quarters = [samples.slice(0, quarter), samples.slice(-quarter)];
  const most = (what: 'handles' | 'threads') =>
    quarters.map((some) => Math.max(...some.map((sample) => sample[what]))).join(' / ');
  const cells = [
    backend,
    (seconds / 60).toFixed(1),
    rowsOf.size,
    `${(rows / 1e6).toFixed(0)} million`,
    `${(bytes / 1e9).toFixed(0)} GB`,
    ...quarters.map((some) => describeHeld(some.map(({ megabytes }) => megabytes))),
    most('handles'),
    most('threads'),
  ];
  return `| ${cells.join(' | ')} |\n`;
}

function describeHeld(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return [0.5, HIGH, 1].map((share) => at(share).toFixed(0)).join(' / ');
}
