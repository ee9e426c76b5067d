/** What does an estimator cost beside grpo, on the same rows, from columns to advantages? */
import { createEngine } from '../src/engine.ts';
import { ESTIMATORS, type EstimatorName } from '../src/estimators/estimators.ts';
import type { NormalizeOptions } from '../src/options.ts';
import type { Batch } from '../src/samples/batch.ts';
import { generateBatch } from './data.ts';
import { type Measurement, measure, type Plan } from './harness.ts';

const OPTIONS: readonly NormalizeOptions[] = [
  ...(Object.keys(ESTIMATORS) as EstimatorName[])
    .filter((name) => ESTIMATORS[name].baseline !== 'pass-through')
    .map((estimator) => ({ estimator })),
  { baseline: 'median' },
  { scale: 'mad' },
  { scale: 'batch' },
  { weight: 'tokens' },
  { clip: [-1, 1] },
  { like: 'nemo-rl', siblings: 'mainstream' },
];

/** Ratios to grpo, which is measured first and again beside each: the machine is not the same from minute to minute. */
export async function* estimatorTimes({ rows: allRows }: Plan): AsyncGenerator<Measurement> {
  const engine = createEngine({ backend: 'cpu' });
  for (const rows of allRows) {
    const { groupIndex, rolloutId, reward } = generateBatch(rows, 'contiguous');
    const second = Float64Array.from({ length: rows }, (_, row) => (row % 7) / 7);
    const trainableTokens = Uint32Array.from({ length: rows }, (_, row) => (row * 7919) % 100);
    const common = { groupIndex, rolloutId, trainableTokens };
    const output = new Float32Array(rows);
    for (const options of OPTIONS) {
      const batch: Batch =
        options.estimator === 'gdpo'
          ? { ...common, rewards: { first: reward, second } }
          : { ...common, reward, baseline: second };
      const name = JSON.stringify(options);
      const subject = { question: 'estimator', name: `${name}, ${rows} rows`, rows, place: 'CPU' };
      const grpo = await measure({
        ...subject,
        run: () => engine.normalize({ ...common, reward, baseline: second }, { output }),
      });
      const own = await measure({ ...subject, run: () => engine.normalize(batch, { ...options, output }) });
      yield { ...own, note: `${(own.median / grpo.median).toFixed(2)} of grpo` };
    }
  }
}
