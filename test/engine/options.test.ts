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
    ['text as bounds', { clip: ['-1', '1'] }, /clip must be two numbers, the lower one first, got \["-1","1"\]/],
    ['text as bounds of rewards', { clipReward: ['0', 9] }, /clipReward must be two numbers/],
    ['bounds that are no list', { clip: { 0: 0, 1: 1, length: 2 } }, /clip must be two numbers/],
    ['NaN as a bound', { clip: [Number.NaN, 1] }, /clip must be two numbers/],
    ['a bigint as a bound', { clip: [0n, 1n] }, /clip must be two numbers/],
    ['a bigint for a switch', { strict: 1n }, /strict must be a boolean, got 1/],
    ['a bound that is not there', { clip: [0] }, /clip must be two numbers/],
    ['text as epsilon', { epsilon: '1' }, /epsilon must be finite/],
    ['text as a deviation', { minStd: '1' }, /minStd must be finite/],
    ['a weight that is not there', { rewardWeights: [undefined, 1] }, /reward weight must be a finite number/],
    ['text as a weight', { rewardWeights: ['1', 1] }, /reward weight must be a finite number/],
    [
      'a size that is not there',
      { promptGroupSizes: [undefined, 2] },
      /group size must be a whole number >= 0, got und/,
    ],
    ['text as a size', { promptGroupSizes: ['2'] }, /group size must be a whole number/],
    ['text as a count', { nSamplesPerPrompt: '2', rolloutBatchSize: 1 }, /nSamplesPerPrompt must be a whole number/],
    ['a signal that is none', { signal: {} }, /signal must be an AbortSignal/],
    ['a controller for its signal', { signal: new AbortController() }, /signal must be an AbortSignal/],
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
    [{ timeoutMs: '100' }, /timeoutMs must be a number, got "100"/],
    [{ gpuMinRows: -1 }, /gpuMinRows/],
    [{ gpuMinRows: '5' }, /gpuMinRows must be a number, got "5"/],
    [{ gpuMinRows: [] }, /gpuMinRows must be a number/],
    [{ gpuMinRows: null }, /gpuMinRows must be a number/],
    [{ provider: {} }, /provider must be an object with a method open/],
    [{ cpuLimits: { pieceLength: 3 } }, /power of two/],
    [
      { cpuLimits: { tilerows: 1 } },
      /unknown option tilerows of cpuLimits; known: pieceLength, tileRollouts, tileRows/,
    ],
    [{ gpuLimits: { memorybytes: 1 } }, /unknown option memorybytes of gpuLimits; known: bindingBytes, memoryBytes/],
    [{ cpuLimits: { tileRows: Number.NaN } }, /cpuLimits.tileRows must be a whole number above 0, got NaN/],
    [{ cpuLimits: { tileRollouts: 0 } }, /cpuLimits.tileRollouts must be a whole number above 0, got 0/],
    [{ cpuLimits: { pieceLength: '4' } }, /cpuLimits.pieceLength must be a whole number above 0, got 4/],
    [{ gpuLimits: { workgroupSize: '64' } }, /gpuLimits.workgroupSize must be a whole number above 0, got 64/],
    [{ gpuLimits: 64 }, /gpuLimits must be an object/],
    [{ cpuLimits: null }, /cpuLimits must be an object/],
    [{ gpulimits: {} }, /unknown option gpulimits of an engine/],
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
