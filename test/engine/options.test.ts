/** Options that callers without types get wrong are refused, not read as something else. */
import { describe, expect, test } from 'vitest';
import { createEngine, type EngineOptions, type NormalizeOptions, UsageError } from '../../src/index.ts';

describe('a call refuses', () => {
  test.each([
    [
      'a text for a switch',
      { disableRewardsNormalization: 'false' },
      /disableRewardsNormalization must be a boolean, got "false"/,
    ],
    ['a text for a list of sizes', { promptGroupSizes: '2,2' }, /promptGroupSizes must be an array/],
    ['a text for a list of reasons', { exclude: 'removed' }, /exclude must be an array/],
    ['an output of another type', { output: new Int32Array(2) }, /output must be a Float32Array/],
    ['an output of another length', { output: new Float32Array(3) }, /output has 3 entries but the batch has 2 rows/],
    ['exclusion without groups', { estimator: 'raw', exclude: ['removed'] }, /the estimator raw/],
    [
      'exclusion with normalization off',
      { disableRewardsNormalization: true, exclude: ['removed'] },
      /disabled rewards normalization/,
    ],
  ])('%s', async (_, options, message) => {
    const engine = createEngine({ backend: 'cpu' });
    const call = engine.normalize({ reward: [1, 2] }, options as unknown as NormalizeOptions);
    await expect(call).rejects.toThrow(UsageError);
    await expect(call).rejects.toThrow(message);
  });
});

describe('an engine refuses', () => {
  test.each([
    [{ backend: 'cuda' }, /auto, cpu, webgpu/],
    [{ timeoutMs: 0 }, /GPU timeout/],
    [{ timeoutMs: Number.NaN }, /GPU timeout/],
    [{ timeoutMs: 1e12 }, /GPU timeout/],
    [{ gpuMinRows: -1 }, /gpuMinRows/],
    [{ cpuLimits: { pieceLength: 3 } }, /power of two/],
  ])('%o', (options, message) => {
    expect(() => createEngine(options as EngineOptions)).toThrow(message);
  });
});

test('a given output is filled and returned', async () => {
  const output = new Float32Array(2);
  const { advantages } = await createEngine({ backend: 'cpu' }).normalize(
    { reward: [1, 3] },
    { output, estimator: 'dr_grpo' },
  );
  expect(advantages).toBe(output);
  expect([...output]).toEqual([-1, 1]);
});
