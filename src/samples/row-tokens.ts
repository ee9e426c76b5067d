/** Trainable tokens of single rows, for whoever looks at a few of them. */
import { COUNT_THE_MASK, type SampleColumns } from './columns.ts';

/** Null where no row of the batch says how many it has. */
export function tokensOfRow({ fixedTokens, lossMasks }: SampleColumns, row: number): number | null {
  if (fixedTokens === null) return null;
  const fixed = fixedTokens[row];
  if (fixed !== COUNT_THE_MASK || lossMasks === null) return fixed;
  let count = 0;
  for (let word = lossMasks.wordOffsets[row]; word < lossMasks.wordOffsets[row + 1]; word++)
    count += ones(lossMasks.words[word]);
  return count;
}

export function tokensOfRows(columns: SampleColumns): Uint32Array | null {
  const { fixedTokens, lossMasks } = columns;
  if (fixedTokens === null || lossMasks === null) return fixedTokens;
  return fixedTokens.map((_, row) => tokensOfRow(columns, row)!);
}

function ones(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  return count;
}
