/** A parity run in words for people, and as JUnit XML for what watches pipelines. */
import type { AdapterResult, CaseResult } from './run.ts';
import type { Difference } from './stages.ts';

export interface ParityRun {
  readonly version: string;
  readonly seed: number | null;
  readonly seconds: number;
  readonly adapters: readonly AdapterResult[];
  readonly passed: boolean;
}

const DIFFERENCES_SHOWN = 5;

const hasFailed = ({ differences, fault }: CaseResult) => differences.length > 0 || fault !== null;

export function describeParity({ adapters, seed, seconds, passed }: ParityRun, reproducers: readonly string[]): string {
  const lines: string[] = [];
  for (const result of adapters) {
    const { name, adapter, cases, rows, complete, planted } = result;
    const failing = cases.filter(hasFailed);
    const kind = adapter?.software ? ' (a software adapter)' : '';
    lines.push(
      `CPU against ${name}${kind}, bit by bit: ${cases.length} batches of ${rows} rows, ${failing.length} differ`,
    );
    for (const each of failing.slice(0, DIFFERENCES_SHOWN))
      lines.push(...describeCase(each).map((line) => `  ${line}`));
    if (failing.length > DIFFERENCES_SHOWN) lines.push(`  and ${failing.length - DIFFERENCES_SHOWN} batches more`);
    if (!complete) lines.push('  the time was over before every batch was compared');
    for (const { stage, what, noticedIn } of planted) {
      const noticed =
        noticedIn === null ? 'NOT NOTICED: this run cannot fail where it should' : `noticed in ${noticedIn}`;
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

function describeCase({ name, differences, fault }: CaseResult): string[] {
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

/** The de facto schema: testsuites, testsuite, testcase, failure. */
export function junitOf({ adapters, seconds }: ParityRun): string {
  const suites = adapters.map((result) => {
    const { name, cases, planted, complete } = result;
    const tests = [
      ...cases.map((each) => ({
        name: each.name,
        seconds: each.seconds,
        failure: describeCase(each).join('\n'),
        kind: 'difference',
      })),
      ...planted.map(({ stage, what, noticedIn }) => ({
        name: `planted in ${stage}: ${what}`,
        seconds: 0,
        failure: noticedIn === null ? 'a planted fault was not noticed' : '',
        kind: 'unnoticed',
      })),
      ...(complete
        ? []
        : [
            {
              name: 'time',
              seconds: 0,
              failure: 'the time was over before every batch was compared',
              kind: 'incomplete',
            },
          ]),
    ];
    const failures = tests.filter(({ failure }) => failure !== '').length;
    const time = tests.reduce((sum, test) => sum + test.seconds, 0);
    const bodies = tests.map((test) => {
      const head = `    <testcase classname="${escaped(`rollnorm parity.${name}`)}" name="${escaped(test.name)}" time="${test.seconds.toFixed(3)}"`;
      if (test.failure === '') return `${head}/>`;
      const message = escaped(test.failure.split('\n', 1)[0]);
      return `${head}>\n      <failure message="${message}" type="${test.kind}">${escaped(test.failure)}</failure>\n    </testcase>`;
    });
    return {
      tests: tests.length,
      failures,
      text: `  <testsuite name="${escaped(`rollnorm parity: ${name}`)}" tests="${tests.length}" failures="${failures}" errors="0" skipped="0" time="${time.toFixed(3)}">\n${bodies.join('\n')}\n  </testsuite>`,
    };
  });
  const sum = (of: (suite: (typeof suites)[number]) => number) => suites.reduce((total, suite) => total + of(suite), 0);
  const head = `<testsuites name="rollnorm parity" tests="${sum(({ tests }) => tests)}" failures="${sum(({ failures }) => failures)}" errors="0" time="${seconds.toFixed(3)}">`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${head}\n${suites.map(({ text }) => text).join('\n')}\n</testsuites>\n`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 has no such characters
const NOT_IN_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

function escaped(text: string): string {
  return text.replace(NOT_IN_XML, '\ufffd').replace(/[&<>"']/g, (character) => ENTITIES[character]);
}
