/** Options under which a kernel runs, for tests that go through all of them. */
import type { NormalizeOptions } from '../../src/index.ts';
import { KERNELS } from '../../src/kernels/table.ts';
import type { Batch } from '../../src/samples/batch.ts';

/** Kernels that the default rule does not need. */
const OPTIONS: Readonly<Record<string, NormalizeOptions>> = {
  [KERNELS.groupMedian.name]: { scale: 'mad' },
  [KERNELS.groupTotal.name]: { estimator: 'maxrl' },
  [KERNELS.subtractBaselines.name]: { estimator: 'remax' },
  [KERNELS.keepBest.name]: { estimator: 'grpo_passk' },
  [KERNELS.divideByPeers.name]: { like: 'nemo-rl', siblings: 'mainstream' },
  [KERNELS.addWeighted.name]: { estimator: 'gdpo' },
};

export const DEFAULT_KERNELS: readonly string[] = Object.values(KERNELS)
  .map(({ name }) => name)
  .filter((name) => !Object.hasOwn(OPTIONS, name));

/** The batch with what else the rule reads, and the options. */
export function runOf(kernel: string, { reward, ...batch }: Batch): { batch: Batch; options: NormalizeOptions } {
  const options = OPTIONS[kernel] ?? {};
  const second = Array.from({ length: reward!.length }, (_, row) => row % 3);
  const rewards = options.estimator === 'gdpo' ? { rewards: { first: reward!, second } } : { reward };
  return { batch: { ...batch, ...rewards, baseline: second }, options };
}
