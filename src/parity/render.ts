/** A parity run in words for people. */
import type { AdapterResult, CaseResult } from './run.ts';
import type { Difference } from './stages.ts';

export interface ParityRun {
  readonly version: string;
  readonly seed: number | null;
  readonly seconds: number;
  readonly adapters: readonly AdapterResult[];
  readonly passed: boolean;
}

const counted = (count: number, one: string, several: string) => `${count} ${count === 1 ? one : several}`;

const DIFFERENCES_SHOWN = 5;
export const INCOMPLETE = 'the time was over before every batch was compared';

const hasFailed = ({ differences, fault }: CaseResult) => differences.length > 0 || fault !== null;

export function describeParity({ adapters, seed, seconds, passed }: ParityRun, reproducers: readonly string[]): string {
  const lines: string[] = [];
  for (const result of adapters) {
    const { name, adapter, cases, rows, complete, planted } = result;
    const failing = cases.filter(hasFailed);
    const kind = adapter?.software ? ' (a software adapter)' : '';
    lines.push(
      `CPU against ${name}${kind}, bit by bit: ${counted(cases.length, 'batch', 'batches')} of ${counted(rows, 'row', 'rows')}, ${failing.length} differ`,
    );
    for (const each of failing.slice(0, DIFFERENCES_SHOWN))
      lines.push(...describeCase(each).map((line) => `  ${line}`));
    if (failing.length > DIFFERENCES_SHOWN) lines.push(`  and ${failing.length - DIFFERENCES_SHOWN} batches more`);
    if (!complete) lines.push(`  ${INCOMPLETE}`);
    for (const { stage, what, noticedIn, fault } of planted) {
      const unnoticed = fault === null ? 'NOT NOTICED: this run cannot fail where it should' : `NOT PROVED: ${fault}`;
      const noticed = noticedIn === null ? unnoticed : `noticed in ${noticedIn}`;
      lines.push(`  planted in ${stage}, ${what}: ${noticed}`);
    }
  }
  for (const path of reproducers) lines.push(`a reproducer is in ${path}: rollnorm parity ${path}`);
  const by = seed === null ? '' : `seed ${seed}, `;
  const differs = adapters.some(
    ({ cases, planted }) => cases.some(hasFailed) || planted.some(({ noticedIn }) => noticedIn === null),
  );
  const verdict = passed ? 'equal' : differs ? 'NOT EQUAL' : 'NOT COMPLETE';
  lines.push(`${verdict} (${by}${seconds.toFixed(1)} s)`);
  return `${lines.join('\n')}\n`;
}

export function describeCase({ name, differences, fault }: CaseResult): string[] {
  if (fault !== null) return [`${name}: ${fault}`];
  return differences.map((difference) => `${name}: ${describeDifference(difference)}`);
}

/** `moments: means of group 3 (row 12): 0x3fe... expected, 0x3fe... found, 1 ULP apart; 7 entries differ`. */
export function describeDifference(difference: Difference): string {
  const { stage, what, row, rollout, group, expected, expectedHex, found, foundHex, ulps, count } = difference;
  const places = [
    row === null ? '' : `row ${row}`,
    rollout === null ? '' : `rollout ${rollout}`,
    group === null ? 'batch' : `group ${group}`,
  ].filter(Boolean);
  const apart = ulps === null ? '' : `, ${ulps} ULP apart`;
  const number = `${expected} (${expectedHex}) on the CPU, ${found} (${foundHex}) on the adapter${apart}`;
  return `${stage}: ${what} at ${places.join(', ')}: ${number}; ${count} entries differ`;
}
