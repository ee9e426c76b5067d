/** What the centred rewards of each group are divided by. */
import { wordsOf } from '../../numeric/words.ts';
import { MEASURE } from '../codes.ts';
import type { KernelArray, Workspace } from '../executor.ts';
import { KERNELS } from '../table.ts';
import type { Groups, Weights } from './group-statistics.ts';

export interface DivisorSettings {
  readonly measure: keyof typeof MEASURE;
  readonly ddof?: 0 | 1;
  readonly epsilon?: number;
  readonly minStd?: number;
  readonly leaveOneOut?: boolean;
  /** Divisor of a group of one: as others, 1, or 1 + epsilon. */
  readonly single?: 'as-others' | 'one' | 'one-and-epsilon';
  readonly meanMustBePositive?: boolean;
  /** Flat groups have a divisor too. */
  readonly flatToo?: boolean;
}

export interface GroupDivisors {
  readonly divisors: KernelArray<'f64'>;
  readonly statuses: KernelArray<'u32'>;
}

const SINGLE = { 'as-others': 0, one: 1, 'one-and-epsilon': 2 };

/** @param means GROUP_STATUS so far */
export async function divisorsOf(
  workspace: Workspace,
  groups: Groups,
  measures: KernelArray<'f64'>,
  means: KernelArray<'u32'>,
  settings: DivisorSettings,
  weights: Weights | null = null,
): Promise<GroupDivisors> {
  const { measure, ddof = 1, epsilon = 0, minStd = 0, leaveOneOut, single = 'as-others' } = settings;
  const [epsilonLow, epsilonHigh] = wordsOf(epsilon);
  const [minStdLow, minStdHigh] = wordsOf(minStd);
  const parameters = {
    measure: MEASURE[measure],
    ...{ ddof, epsilonLow, epsilonHigh, minStdLow, minStdHigh },
    weighted: weights ? 1 : 0,
    leaveOneOut: leaveOneOut ? 1 : 0,
    single: SINGLE[single],
    positiveMean: settings.meanMustBePositive ? 1 : 0,
    flatToo: settings.flatToo ? 1 : 0,
  };
  const divisors = workspace.output('f64', groups.count);
  const statuses = workspace.output('u32', groups.count);
  const arrays = { bounds: groups.bounds, measures, totals: weights?.totals ?? null, means, divisors, statuses };
  await workspace.run(KERNELS.groupDivisor, parameters, groups.count, arrays);
  return { divisors, statuses };
}
