/** Loss masks to trainable tokens per row. */
import { planReduction } from '../../plan/reduction.ts';
import type { PackedLossMasks } from '../../samples/columns.ts';
import type { KernelArray, Workspace } from '../executor.ts';
import { KERNELS } from '../table.ts';

/** @param fixedTokens u32 per row, COUNT_THE_MASK where the row's mask decides */
export async function countMaskTokens(
  workspace: Workspace,
  pieceLength: number,
  fixedTokens: Uint32Array,
  { words, wordOffsets }: PackedLossMasks,
): Promise<KernelArray<'u32'>> {
  const levels = planReduction(wordOffsets, pieceLength);
  const fixed = workspace.input('u32', fixedTokens);
  let below = workspace.input('u32', words);
  for (const [height, { itemCount, elementOffsets }] of levels.entries()) {
    const isTop = height === levels.length - 1;
    const bounds = workspace.input('u32', elementOffsets);
    const counts = workspace.output('u32', itemCount);
    const arrays = { bounds, fixedTokens: isTop ? fixed : null, counts };
    const parameters = { wholeRows: isTop ? 1 : 0 };
    if (height === 0) await workspace.run(KERNELS.countTokens, parameters, itemCount, { ...arrays, words: below });
    else await workspace.run(KERNELS.foldCounts, parameters, itemCount, { ...arrays, partials: below });
    workspace.release(bounds, below);
    below = counts;
  }
  return below;
}
