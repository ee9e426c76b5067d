/** One fault for each stage, planted on the device: a run shows that it can fail by finding them. */
import type { ShaderChange } from '../kernels/webgpu/shader-change.ts';
import type { Stage } from './stages.ts';

export interface Planted extends ShaderChange {
  /** The first stage in which it shows. */
  readonly stage: Stage;
  readonly what: string;
}

export const PLANTED: readonly Planted[] = [
  {
    stage: 'counts',
    what: 'a full word of a loss mask counts 31',
    file: 'count-tokens.wgsl',
    line: '    count += countOneBits(words[word - parameters.element_base]);',
    replacement: '    count += min(31u, countOneBits(words[word - parameters.element_base]));',
  },
  {
    stage: 'representatives',
    what: 'the last row wins on a tie',
    file: 'select-representative.wgsl',
    line: '    if (is_greater(rank, best)) {',
    replacement: '    if (!is_greater(best, rank)) {',
  },
  {
    stage: 'moments',
    what: 'ties of a sum are rounded up instead of to even',
    file: 'prelude/binary64-bits.wgsl',
    line: '  let up = u32((aligned.x & 0x7ffu) + (truncated.x & 1u) > 0x400u);',
    replacement: '  let up = u32((aligned.x & 0x7ffu) >= 0x400u);',
  },
  {
    stage: 'advantages',
    what: 'the last bit of an advantage is dropped',
    file: 'prelude/advantage.wgsl',
    line: '  return select(bits, 0u, bits == 0x80000000u);',
    replacement: '  return select(bits & 0xfffffffeu, 0u, bits == 0x80000000u);',
  },
];
