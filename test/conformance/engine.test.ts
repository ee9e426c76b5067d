/** The engine on every conformance file, as another program would test itself: read from disk, numbers from the file alone. */
import { afterAll, describe, expect, test } from 'vitest';
import type { BatchName } from '../../scripts/conformance/batches.ts';
import { rationalOf } from '../../scripts/conformance/decimal.ts';
import { ruleOptionsFromText } from '../../src/commands/flags/rule.ts';
import { createEngine } from '../../src/index.ts';
import { checkOptions } from '../../src/options.ts';
import { batchOf, CONFORMANCE_NAMES, readConformance, sizesOf } from '../support/conformance-batches.ts';
import { outsideRuleBound } from '../support/exact-rules.ts';

const cpu = createEngine({ backend: 'cpu' });
const gpu = createEngine({ backend: 'webgpu' });
afterAll(async () => {
  await cpu.close();
  await gpu.close();
});

/** Software drivers are slow, and these reach every kernel. */
const ON_GPU: readonly string[] = ['sizes', 'two_rewards'];

/** Below this share of the largest a number is what a cancellation left, and its own ULP says nothing. */
const SMALLEST_SHARE = 2 ** -16;

/** Advantages more than 1 ULP from those of the file. */
function furtherThanOne(advantages: readonly number[], binary32: readonly number[]): string[] {
  const smallest = SMALLEST_SHARE * Math.max(...binary32.map(Math.abs));
  return advantages.flatMap((value, i) => {
    const near = Math.abs(placeOf(value) - placeOf(binary32[i])) <= 1;
    return near || Math.abs(binary32[i]) < smallest ? [] : [`entry ${i}: ${value} where the file has ${binary32[i]}`];
  });
}

/** Numbers of binary32 in the order of their values, neighbours one apart. */
function placeOf(value: number): number {
  const bits = new Int32Array(Float32Array.of(value).buffer)[0];
  return bits < 0 ? -(bits & 0x7fffffff) : bits;
}

describe.each(CONFORMANCE_NAMES)('%s', (name) => {
  const { batches, cases } = readConformance(name);

  test.each(cases.map((one) => [one.flags, one.results] as const))('%s', async (flags, results) => {
    const options = ruleOptionsFromText(flags, {});
    const { estimator } = checkOptions(options);
    for (const [batchName, { exact, binary32 }] of Object.entries(results)) {
      const batch = batches[batchName as BatchName]!;
      const sizes = sizesOf(batch);
      const asked = { ...options, promptGroupSizes: sizes };
      const { advantages } = await cpu.normalize(batchOf(batch), asked);
      if (ON_GPU.includes(batchName)) {
        const other = await gpu.normalize(batchOf(batch), asked);
        expect([...new Uint32Array(other.advantages.buffer)]).toEqual([...new Uint32Array(advantages.buffer)]);
      }
      const left = [...advantages];
      const found = sizes.map((size) => left.splice(0, size));
      const right = exact.map((group) => group.map(rationalOf));
      expect(outsideRuleBound(found, right, estimator)).toEqual([]);
      expect(furtherThanOne([...advantages], binary32.flat())).toEqual([]);
    }
  });
});
