/** How far the advantages that a file carries are from ours, and whether a known rule explains them. */
import { isBeyondRounding } from '../../diff/rounding.ts';
import type { Engine } from '../../engine.ts';
import { InputError } from '../../errors.ts';
import type { NormalizeOptions } from '../../options.ts';
import type { SampleColumns } from '../../samples/columns.ts';

export interface RecordedComparison {
  readonly column: string;
  /** Rows that carry a finite advantage. */
  readonly rows: number;
  /** Rows that carry NaN or an infinity. */
  readonly not_finite: number;
  readonly largest_difference: number;
  readonly mean_difference: number;
  /** Rows that differ by more than frameworks' binary32 arithmetic explains. */
  readonly differing: number;
  /** The rule that gives what the file carries; null: none that is known. */
  readonly rule: string | null;
}

const RULES: readonly (readonly [name: string, options: NormalizeOptions])[] = [
  ['r - mean', { estimator: 'dr_grpo' }],
  ['(r - mean) / (s + 1e-6)', { estimator: 'grpo' }],
  ['(r - mean) / (s + 1e-4)', { estimator: 'grpo', epsilon: 1e-4 }],
  ['(r - mean) / (s + 1e-6), s with ddof 0', { estimator: 'grpo', ddof: 0 }],
  ['(r - mean) / (s + 1e-8), s with ddof 0', { estimator: 'grpo', ddof: 0, epsilon: 1e-8 }],
  ['r', { estimator: 'raw' }],
];

/** @param options of the run, whose grouping and policies the known rules share */
export async function compareRecorded(
  column: string,
  recorded: Float64Array,
  advantages: Float32Array,
  columns: SampleColumns,
  options: NormalizeOptions,
  engine: Engine,
): Promise<RecordedComparison> {
  const { rows, notFinite, largest, sum, differing } = difference(recorded, advantages);
  const comparison = {
    column,
    rows,
    not_finite: notFinite,
    largest_difference: largest,
    mean_difference: rows > 0 ? sum / rows : 0,
    differing,
  };
  if (rows === 0) return { ...comparison, rule: null };
  if (differing === 0) return { ...comparison, rule: 'the same' };
  for (const [name, rule] of RULES) {
    for (const siblings of [options.siblings ?? 'mainstream', 'rows'] as const) {
      const { promptGroupSizes, nSamplesPerPrompt, rolloutBatchSize } = options;
      const grouping = { promptGroupSizes, nSamplesPerPrompt, rolloutBatchSize };
      const passThrough = rule.estimator === 'raw';
      const exclude = passThrough ? [] : options.exclude;
      const result = await engine
        .normalizeColumns(columns, { ...grouping, exclude, siblings, ...rule })
        .catch(noResult);
      if (!result || difference(recorded, result.advantages).differing > 0) continue;
      return {
        ...comparison,
        rule: siblings === 'rows' && options.siblings !== 'rows' ? `${name}, every row counted` : name,
      };
    }
  }
  return { ...comparison, rule: null };
}

/** A rule that the rows do not allow explains nothing. */
function noResult(error: unknown): null {
  if (error instanceof InputError) return null;
  throw error;
}

function difference(recorded: Float64Array, advantages: Float32Array) {
  let rows = 0;
  let notFinite = 0;
  let largest = 0;
  let sum = 0;
  let differing = 0;
  for (let row = 0; row < recorded.length; row++) {
    if (Number.isNaN(recorded[row])) continue;
    if (!Number.isFinite(recorded[row])) {
      notFinite++;
      continue;
    }
    const distance = Math.abs(recorded[row] - advantages[row]);
    rows++;
    sum += distance;
    largest = Math.max(largest, distance);
    if (isBeyondRounding(recorded[row], advantages[row])) differing++;
  }
  return { rows, notFinite, largest, sum, differing };
}
