/** A parity run as JUnit XML, for what watches pipelines: a suite for each adapter, a test for each batch and planted fault. */
import { describeCase, INCOMPLETE, type ParityRun } from './render.ts';
import type { AdapterResult } from './run.ts';

interface JUnitTest {
  readonly name: string;
  readonly seconds: number;
  readonly failure: { readonly kind: string; readonly text: string } | null;
}

/** The de facto schema: testsuites, testsuite, testcase, failure. */
export function junitOf({ adapters, seconds }: ParityRun): string {
  const suites = adapters.map((result) => ({ name: result.name, tests: testsOf(result) }));
  const all = suites.flatMap(({ tests }) => tests);
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="rollnorm parity" ${countsOf(all)} errors="0" time="${seconds.toFixed(3)}">`,
    ...suites.map(({ name, tests }) => suiteElement(name, tests)),
    '</testsuites>',
  ];
  return `${lines.join('\n')}\n`;
}

function testsOf({ cases, planted, complete }: AdapterResult): JUnitTest[] {
  const tests: JUnitTest[] = [];
  for (const each of cases) {
    const text = describeCase(each).join('\n');
    tests.push({
      name: each.name,
      seconds: each.seconds,
      failure: text === '' ? null : { kind: each.fault === null ? 'difference' : 'fault', text },
    });
  }
  for (const { stage, what, noticedIn, fault } of planted) {
    const text = fault === null ? 'a planted fault was not noticed' : `nothing is proved: ${fault}`;
    const failure = noticedIn === null ? { kind: 'unnoticed', text } : null;
    tests.push({ name: `planted in ${stage}: ${what}`, seconds: 0, failure });
  }
  if (!complete) tests.push({ name: 'time', seconds: 0, failure: { kind: 'incomplete', text: INCOMPLETE } });
  return tests;
}

function countsOf(tests: readonly JUnitTest[]): string {
  return `tests="${tests.length}" failures="${tests.filter(({ failure }) => failure !== null).length}"`;
}

function suiteElement(adapter: string, tests: readonly JUnitTest[]): string {
  const time = tests.reduce((sum, { seconds }) => sum + seconds, 0);
  // Up to its last dot a class name is taken for that of a package.
  const className = `rollnorm parity.${adapter.replaceAll('.', '_')}`;
  const lines = [
    `  <testsuite name="${attribute(`rollnorm parity: ${adapter}`)}" ${countsOf(tests)} errors="0" skipped="0" time="${time.toFixed(3)}">`,
    ...tests.map((test) => caseElement(className, test)),
    '  </testsuite>',
  ];
  return lines.join('\n');
}

function caseElement(className: string, { name, seconds, failure }: JUnitTest): string {
  const head = `    <testcase classname="${attribute(className)}" name="${attribute(name)}" time="${seconds.toFixed(3)}"`;
  if (failure === null) return `${head}/>`;
  const message = attribute(failure.text.split('\n', 1)[0]);
  const body = `<failure message="${message}" type="${failure.kind}">${content(failure.text)}</failure>`;
  return `${head}>\n      ${body}\n    </testcase>`;
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
  return text
    .toWellFormed()
    .replace(NOT_IN_XML, '\ufffd')
    .replace(/[&<>"']/g, (character) => ENTITIES[character]);
}

function reference(character: string): string {
  return `&#${character.charCodeAt(0)};`;
}

/** A reader makes one newline of a carriage return and what follows it. */
function content(text: string): string {
  return escaped(text).replaceAll('\r', reference);
}

/** Of tabs and line ends in an attribute a reader makes spaces. */
function attribute(text: string): string {
  return escaped(text).replace(/[\t\n\r]/g, reference);
}
