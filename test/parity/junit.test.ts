/** The JUnit XML of parity: by the schema that Jenkins holds it to, and as a reader of such files takes it in. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, type TestCase, type TestSuites } from 'junit2json';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { validateXML } from 'xmllint-wasm';
import { createEngine } from '../../src/index.ts';
import { junitOf } from '../../src/parity/junit.ts';
import type { ParityRun } from '../../src/parity/render.ts';
import type { AdapterResult, CaseResult, PlantedResult } from '../../src/parity/run.ts';
import { differencesOf } from '../../src/parity/stages.ts';
import { prepareBatch } from '../../src/prepare.ts';
import { columnsOfBatch } from '../../src/samples/batch.ts';
import { runCli } from '../support/run-cli.ts';

const schema = readFileSync(new URL('../fixtures/junit/jenkins-junit.xsd', import.meta.url), 'utf8');

/** What the schema has against it. */
async function faultsOf(xml: string): Promise<string[]> {
  const { errors } = await validateXML({ xml: { fileName: 'parity.xml', contents: xml }, schema });
  return errors.map(({ message }) => message);
}

/** What a reader finds, after the schema. */
async function readValid(xml: string): Promise<TestSuites> {
  expect(await faultsOf(xml)).toEqual([]);
  const read = (await parse(xml)) as TestSuites;
  expect(read.name).toBe('rollnorm parity');
  const suites = read.testsuite ?? [];
  for (const { testcase = [], tests, failures } of suites)
    expect([testcase.length, testcase.filter(({ failure }) => failure).length]).toEqual([tests, failures]);
  const sum = (what: 'tests' | 'failures') => suites.reduce((total, suite) => total + (suite[what] ?? 0), 0);
  expect([read.tests, read.failures]).toEqual([sum('tests'), sum('failures')]);
  return read;
}

function runOf(adapters: readonly Partial<AdapterResult>[]): ParityRun {
  const whole = adapters.map((adapter) => ({
    ...{ name: 'llvmpipe', adapter: null, cases: [], rows: 0, complete: true, planted: [], reproducer: null },
    ...{ passed: true, ...adapter },
  }));
  return { version: '1', seed: 1, seconds: 1.5, adapters: whole, passed: whole.every(({ passed }) => passed) };
}

const equal: CaseResult = { name: 'equal', rows: 2, seconds: 0.25, differences: [], fault: null };
const noticed: PlantedResult = { stage: 'counts', what: 'a word counts 31', noticedIn: 'counts', fault: null };

test('the schema refuses what is no JUnit XML', async () => {
  const xml = junitOf(runOf([{ cases: [equal] }]));
  expect(await faultsOf(xml)).toEqual([]);
  expect(await faultsOf(xml.replace(' name="equal"', ''))).toEqual([expect.stringMatching(/attribute 'name'/)]);
  expect(await faultsOf(xml.replaceAll('testcase', 'case'))).toEqual([expect.stringMatching(/not expected/)]);
  expect(await faultsOf(xml.replace('equal', 'a < b'))).not.toEqual([]);
});

test.each<[string, Partial<AdapterResult>[]]>([
  ['no adapter', []],
  ['an adapter without batches', [{}]],
  [
    'two adapters that are equal',
    [
      { cases: [equal, equal], planted: [noticed] },
      { name: 'b', cases: [equal] },
    ],
  ],
])('a run that passed: %s', async (_, adapters) => {
  const { failures, testsuite = [] } = await readValid(junitOf(runOf(adapters)));
  expect([failures, testsuite.length]).toEqual([0, adapters.length]);
});

describe('a run that failed', () => {
  const differing = async (): Promise<CaseResult> => {
    const engine = createEngine({ backend: 'cpu' });
    const prepared = prepareBatch(columnsOfBatch({ reward: [1, 2, 3, 5, 5], groupIndex: [0, 0, 0, 1, 1] }), {});
    const [expected, found] = [1, 2].map(() => engine.normalizePlanned(prepared, {}, true));
    const changed = await found;
    changed.details!.groups[0].means[0] += 1;
    changed.advantages[2] = -changed.advantages[2];
    return { ...equal, name: 'differs', differences: differencesOf(prepared.plan, await expected, changed) };
  };

  test('has a failure for each batch that differs or faults, with the first line as its message', async () => {
    const fault = { ...equal, name: 'faults', fault: 'the device was lost: "gone" & <away>\r\nmore]]>' };
    const { testsuite = [] } = await readValid(junitOf(runOf([{ cases: [equal, await differing(), fault] }])));
    const [, differs, faults] = testsuite[0].testcase!;
    const [{ message, inner, type }] = differs.failure!;
    expect(type).toBe('difference');
    expect(inner!.split('\n')).toHaveLength(2);
    expect(inner!.split('\n')[0]).toBe(message);
    expect(message).toMatch(/^differs: moments: means at row 1, .*group 1: 2 \(0x4/);
    expect(faults.failure).toEqual([
      {
        ...{ type: 'fault', message: 'faults: the device was lost: "gone" & <away>\r' },
        inner: 'faults: the device was lost: "gone" & <away>\r\nmore]]>',
      },
    ]);
  });

  test('has one for a planted fault that was not noticed, and one for a time that was over', async () => {
    const planted = [noticed, { ...noticed, what: 'the last bit is dropped', noticedIn: null }];
    const { testsuite = [] } = await readValid(junitOf(runOf([{ cases: [equal], planted, complete: false }])));
    const failed = testsuite[0].testcase!.filter(({ failure }) => failure);
    expect(failed.map(({ name, failure }) => [name, failure![0].type])).toEqual([
      ['planted in counts: the last bit is dropped', 'unnoticed'],
      ['time', 'incomplete'],
    ]);
  });
});

test.each([
  ['of markup', `a <b> & "c" 'd' ]]> <!-- --> &amp; <![CDATA[`, undefined],
  ['of white space', ' two  spaces\ttab\nline\r\nend ', undefined],
  ['of other scripts', 'é 漢字 😀 \u202e', undefined],
  ['that XML does not have', 'a\u0000\u0001\u001b\uffff\ud800b', 'a\ufffd\ufffd\ufffd\ufffd\ufffdb'],
])('characters %s come through in every place', async (_, text, read = text) => {
  const failing = { ...equal, name: text, fault: text };
  const planted = [{ ...noticed, what: text, noticedIn: null }];
  const { testsuite = [] } = await readValid(junitOf(runOf([{ name: text, cases: [failing], planted }])));
  const [suite] = testsuite;
  const [batch, plant] = suite.testcase as TestCase[];
  expect(suite.name).toBe(`rollnorm parity: ${read}`);
  expect([batch.name, plant.name]).toEqual([read, `planted in counts: ${read}`]);
  expect(batch.failure![0].inner?.trim()).toBe(`${read}: ${read}`.trim());
});

test('a class name has one dot, where its package ends', async () => {
  const { testsuite = [] } = await readValid(junitOf(runOf([{ name: 'Driver 5.0.0', cases: [equal] }])));
  expect(testsuite[0].testcase![0].classname).toBe('rollnorm parity.Driver 5_0_0');
});

describe('the command', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'rollnorm-junit-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('names the files that it compared, whatever they are called', async () => {
    const rows = join(folder, `a <b> & "c" 'd'\t\u0001 😀.jsonl`);
    writeFileSync(rows, '{"reward": 1, "group_index": 1}\n{"reward": 0, "group_index": 1}\n');
    const junit = join(folder, 'junit.xml');
    const { status, stderr } = await runCli(['parity', rows, '--junit', junit]);
    expect(status, stderr).toBe(0);
    // Dawn has warnings of its own on some drivers.
    expect(stderr).not.toContain('rollnorm:');
    const { tests, failures, testsuite = [] } = await readValid(readFileSync(junit, 'utf8'));
    expect([tests, failures]).toEqual([5, 0]);
    expect(testsuite[0].testcase![0].name).toBe(rows.replace('\u0001', '\ufffd'));
  });
});
