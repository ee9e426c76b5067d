/** What an engine and a call can be asked for, and what is refused before any row is looked at. */
import type { CrossoverOptions } from './crossover.ts';
import { UsageError } from './errors.ts';
import { type Estimator, type EstimatorOptions, isPassThrough, resolveEstimator } from './estimators/estimators.ts';
import { type Policies, type PolicyOptions, resolvePolicies } from './estimators/policies.ts';
import type { CpuLimits } from './kernels/cpu-executor.ts';
import type { GpuLimits } from './kernels/webgpu/limits.ts';
import type { GpuProvider } from './kernels/webgpu/provider.ts';
import type { GroupingOptions } from './plan/groups.ts';

export const BACKENDS = ['auto', 'cpu', 'webgpu'] as const;
export type BackendChoice = (typeof BACKENDS)[number];

export interface EngineOptions extends CrossoverOptions {
  /** `auto` (default): a hardware GPU where it gains time, else the CPU. `webgpu`: any adapter, and an error without. */
  readonly backend?: BackendChoice | undefined;
  /** Part of the wanted adapter's name. */
  readonly adapter?: string | undefined;
  /** How long one wait for the GPU may take before it is given up. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  readonly gpuLimits?: (GpuLimits & { readonly workgroupSize?: number | undefined }) | undefined;
  readonly cpuLimits?: CpuLimits | undefined;
  /** Another source of WebGPU than the environment's. */
  readonly provider?: GpuProvider | undefined;
}

export interface NormalizeOptions extends EstimatorOptions, PolicyOptions, GroupingOptions {
  /** Refuse rows with neither rollout_id nor index. */
  readonly requireIdentity?: boolean | undefined;
  /** Where the advantages go: binary32, one per row. Default: a new array. */
  readonly output?: Float32Array | undefined;
}

/**
 * Resolves what was left to defaults.
 * @throws UsageError on impossible values and combinations
 */
export function checkOptions(options: NormalizeOptions): { estimator: Estimator; policies: Policies } {
  const estimator = resolveEstimator(options);
  const policies = resolvePolicies(options);
  if (isPassThrough(estimator) && policies.exclude.length > 0) {
    throw new UsageError(
      `--exclude has no meaning with ${estimator.name}, which passes every row's own reward through`,
    );
  }
  return { estimator, policies };
}
