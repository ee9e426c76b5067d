/** The public surface of rollnorm. */
export { createEngine, type Engine, type NormalizeResult } from './engine.ts';
export { AdapterError, BackendError, FileError, InputError, RollnormError, UsageError } from './errors.ts';
export { ESTIMATORS, type EstimatorName, type EstimatorOptions } from './estimators/estimators.ts';
export {
  EXCLUSION_REASONS,
  type ExclusionReason,
  type PolicyOptions,
  SIBLING_POLICIES,
  type SiblingPolicy,
} from './estimators/policies.ts';
export type { AdapterDescription } from './kernels/webgpu/adapter-description.ts';
export type { GpuProvider } from './kernels/webgpu/gpu-provider.ts';
export type { GpuLimits } from './kernels/webgpu/limits.ts';
export { BACKENDS, type BackendChoice, type EngineOptions, type NormalizeOptions } from './options.ts';
export type { GroupingOptions, Tier } from './plan/groups.ts';
export type { Report } from './report.ts';
export type { Batch, IdColumn } from './samples/batch.ts';
export type { PackedLossMasks, Status } from './samples/columns.ts';
export type { Id } from './samples/ids.ts';
export { packLossMasks } from './samples/loss-masks.ts';
