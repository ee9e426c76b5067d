/** The committed conformance files and the page of dialects are what their generator makes of the tables of today. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { decimalOf, rationalOf } from '../../scripts/conformance/decimal.ts';
import { dialectPage } from '../../scripts/conformance/dialect-page.ts';
import { conformanceFiles } from '../../scripts/conformance/files.ts';
import { exactly } from '../support/rational.ts';

const root = new URL('../../', import.meta.url);
const readText = (path: string) => readFileSync(new URL(path, root), 'utf8');
const files = conformanceFiles();
const STALE = 'stale: npm run conformance writes it anew';

test('there is a file for every dialect and one for the estimators, and no other', () => {
  const found = readdirSync(new URL('conformance/', root)).filter((name) => name.endsWith('.json'));
  expect(found.sort()).toEqual([...files.keys()].sort());
});

test.each([...files.keys()])('conformance/%s is up to date', (name) => {
  expect(readText(`conformance/${name}`) === files.get(name), STALE).toBe(true);
});

test('docs/dialects.md is up to date', async () => {
  expect(readText('docs/dialects.md') === (await dialectPage()), STALE).toBe(true);
});

test('all files together stay below 600 KB', () => {
  const size = [...files.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  expect(size).toBeLessThan(600_000);
});

describe('decimals', () => {
  const ratio = (numerator: bigint, denominator: bigint) => ({ numerator, denominator });

  test.each([
    [ratio(0n, 7n), '0'],
    [ratio(1n, 3n), '0.33333'],
    [ratio(-2n, 3n), '-0.66667'],
    [ratio(1n, 4n), '0.25'],
    [ratio(99_999_9n, 10n), '1e5'],
    [ratio(12_345n, 1n), '12345'],
    [ratio(1200n, 1n), '1200'],
    [ratio(123_456n, 1n), '1.2346e5'],
    [ratio(1n, 3_000_000n), '0.00000033333'],
    [ratio(-1n, 300_000_000_000n), '-3.3333e-12'],
    [ratio(9_999_96n, 100n), '10000'],
  ])('%o to five digits is %s', (value, text) => {
    expect(decimalOf(value, 5)).toBe(text);
  });

  test('17 digits tell every binary64 number from its neighbours', () => {
    for (const value of [0.1, -1 / 3, 1e23, 5e-324, Number.MAX_VALUE, 123456.789]) {
      expect(Number(decimalOf(exactly(value), 17))).toBe(value);
    }
  });

  test.each(['0', '-0.25', '12.5', '1e5', '-3.3333e-12'])('%s is read exactly', (text) => {
    expect(decimalOf(rationalOf(text), 20)).toBe(text === '1e5' ? '100000' : text);
  });
});
