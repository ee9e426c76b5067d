/** A kernel that reads what another was to write passes on that it was not written. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHOICE, UNWRITTEN } from '../../src/kernels/codes.ts';
import { cpuExecutor } from '../../src/kernels/cpu-executor.ts';
import type { Kernel } from '../../src/kernels/kernel.ts';
import { KERNELS } from '../../src/kernels/table.ts';
import { gpuExecutor } from '../../src/kernels/webgpu/executor.ts';
import { GpuSession } from '../../src/kernels/webgpu/session.ts';
import { type KernelCase, runKernel } from '../support/kernel-runner.ts';

let session: GpuSession;
beforeAll(async () => {
  session = await GpuSession.open();
});
afterAll(() => session.close());

/** Two items of two elements; the second element was not written. */
const bounds = Uint32Array.of(0, 2, 4);
const partly = Uint32Array.of(3, UNWRITTEN, 1, 2);
const ranks = Float64Array.of(1, 2, 3, 4);
const rewards = Float64Array.of(5, 6, 7, 8);

const cases: [string, Kernel, KernelCase['parameters'], KernelCase['inputs'], string][] = [
  [
    'a count',
    KERNELS.foldCounts as unknown as Kernel,
    { wholeRows: 0 },
    { bounds, partials: partly, fixedTokens: null },
    'counts',
  ],
  [
    'the tokens of a row',
    KERNELS.selectRepresentative as unknown as Kernel,
    { choice: CHOICE.mainstream, rowsInOrder: 1, tokensKnown: 1 },
    { bounds, rowsByRollout: null, tokens: partly, rewards },
    'winners',
  ],
  [
    'a winner',
    KERNELS.foldRepresentatives as unknown as Kernel,
    {},
    { bounds, candidates: partly, candidateRanks: ranks },
    'winners',
  ],
];

describe.each(cases)('%s that was not written', (_, kernel, parameters, inputs, output) => {
  const each = { what: '', parameters, itemCount: 2, inputs };

  test('makes its item unwritten in the twin, and no other', async () => {
    const outputs = await runKernel(cpuExecutor(), kernel, each);
    expect(outputs[output][0]).toBe(UNWRITTEN);
    expect(outputs[output][1]).not.toBe(UNWRITTEN);
  });

  test('makes its item unwritten on the GPU, where reading it is an error', async () => {
    await expect(runKernel(gpuExecutor(session), kernel, each)).rejects.toThrow(/left 1 of 2 results unwritten/);
  });
});

test('a position that was not written has no reward', async () => {
  const inputs = { positions: partly, rowsByRollout: null, rewards };
  const each = { what: '', parameters: { rowsInOrder: 1, positionBase: 0 }, itemCount: 4, inputs };
  for (const executor of [cpuExecutor(), gpuExecutor(session)]) {
    const { values } = await runKernel(executor, KERNELS.gatherRewards as unknown as Kernel, each);
    expect([...values]).toEqual([8, Number.NaN, 6, 7]);
  }
});
