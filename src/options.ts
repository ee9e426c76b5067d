/** What an engine and a call can be asked for, and what is refused before any row is looked at. */
import type { CrossoverOptions } from './crossover.ts';
import { spelled, UsageError } from './errors.ts';
import { type DialectName, dialectEstimator, dialectNamed } from './estimators/dialects.ts';
import { ESTIMATORS, type Estimator, type EstimatorOptions, resolveEstimator } from './estimators/estimators.ts';
import { type Policies, type PolicyOptions, resolvePolicies } from './estimators/policies.ts';
import { isPassThrough } from './estimators/rule.ts';
import type { CpuLimits } from './kernels/cpu-executor.ts';
import type { GpuProvider } from './kernels/webgpu/gpu-provider.ts';
import { type GpuLimits, requireCount, requireTimeout } from './kernels/webgpu/limits.ts';
import type { ShaderChange } from './kernels/webgpu/shader-change.ts';
import type { GroupingOptions } from './plan/groups.ts';

export const BACKENDS = ['auto', 'cpu', 'webgpu'] as const;
export type BackendChoice = (typeof BACKENDS)[number];

/** Of an engine. An unknown name or an impossible value is a UsageError of createEngine(), before anything is opened. */
export interface EngineOptions extends CrossoverOptions {
  /** `auto` (default): a hardware GPU where it gains time, else the CPU. `webgpu` takes a software one too, and is an error without. */
  readonly backend?: BackendChoice | undefined;
  /** Part of the wanted adapter's name, or its number from 0 in the order that `rollnorm doctor` lists. Default: the system's first choice. */
  readonly adapter?: string | undefined;
  /** Milliseconds that one wait for the GPU may take before it is given up; above 0, at most 2^31 - 1. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * How much of a device is used at once; whole numbers above 0. None of them changes a bit of a result.
   * `bindingBytes` (default: the device's limit, which it cannot exceed) and `memoryBytes` (2^32): bytes of one binding, and
   * of all arrays of a batch that is computed as a whole rather than in slices. `pieceLength` (64): elements that one
   * invocation handles, a power of two. `workgroupsPerDispatch` (the device's limit), `elementsPerDispatch` (2^20) and
   * `elementsInFlight` (2^22): how much one dispatch, and what is handed over before a wait, may hold. `workgroupSize` (64, at
   * most the device's limit): invocations of one workgroup.
   */
  readonly gpuLimits?: (GpuLimits & { readonly workgroupSize?: number | undefined }) | undefined;
  /**
   * How the CPU cuts a batch; whole numbers above 0. None of them changes a bit of a result. `tileRollouts` (16,384) and
   * `tileRows` (65,536): how much is worked on at once. `pieceLength` (2^31, so that nothing is cut): elements that a kernel
   * sums in one go, a power of two.
   */
  readonly cpuLimits?: CpuLimits | undefined;
  /** @internal faults planted in shaders, to see whether they are noticed */
  readonly shaderChanges?: readonly ShaderChange[] | undefined;
  /** Another source of WebGPU than the environment's. */
  readonly provider?: GpuProvider | undefined;
}

export interface NormalizeOptions extends EstimatorOptions, PolicyOptions, Omit<GroupingOptions, 'byPosition'> {
  /** One framework's own rule; what is asked for explicitly beats it. */
  readonly like?: DialectName | undefined;
  /** Refuse rows with neither rolloutId nor index. Default false: each is a rollout of its own. */
  readonly requireIdentity?: boolean | undefined;
  /** Ends the call: it rejects with the signal's reason, and the engine goes on with the next. */
  readonly signal?: AbortSignal | undefined;
  /** Where the advantages go: binary32, one per row. Default: a new array. After an error it may hold anything. */
  readonly output?: Float32Array | undefined;
}

/** What the options of a call come to, defaults included. */
export interface Settings {
  readonly estimator: Estimator;
  readonly policies: Policies;
  /** Groups are runs of rows, whatever their group_index. */
  readonly byPosition: boolean;
  readonly like: DialectName | null;
}

/**
 * Resolves what was left to defaults.
 * @throws UsageError on impossible values and combinations
 */
export function checkOptions(options: NormalizeOptions): Settings {
  requireKinds(options);
  const { like = null } = options;
  const dialect = like === null ? null : dialectNamed(like);
  const wanted = options.estimator ?? 'grpo';
  const own = like === null || !Object.hasOwn(ESTIMATORS, wanted) ? null : dialectEstimator(like, wanted);
  const { clipReward = dialect?.clipReward, clip = own?.clip } = options;
  const estimator = resolveEstimator({ ...options, clipReward, clip }, own?.rule);
  const passes = isPassThrough(estimator);
  const { siblings = own?.siblings ?? dialect?.siblings, exclude = passes ? [] : dialect?.exclude } = options;
  const policies = resolvePolicies({ siblings, exclude });
  if (passes && policies.exclude.length > 0) {
    const by = options.disableRewardsNormalization
      ? 'disabled rewards normalization'
      : `the estimator ${estimator.name}`;
    throw new UsageError(`exclude has no meaning with ${by}, by which every row keeps its own reward`);
  }
  const byPosition = dialect?.grouping === 'position';
  if (byPosition && options.strict)
    throw new UsageError(`${like} groups rows by their position, which strict grouping refuses`);
  return { estimator, policies, byPosition, like };
}

/** Every option of a call that says what is computed. */
export const RULE_OPTIONS = [
  ...['estimator', 'like', 'disableRewardsNormalization', 'disableGrpoStdNormalization', 'baseline', 'scale', 'ddof'],
  ...['epsilon', 'minStd', 'weight', 'rewardWeights', 'clipReward', 'clip', 'siblings', 'exclude', 'promptGroupSizes'],
  ...['nSamplesPerPrompt', 'rolloutBatchSize', 'strict', 'requireIdentity'],
] as const;
const CALL_OPTIONS: readonly string[] = [...RULE_OPTIONS, 'output', 'signal'];
const ENGINE_OPTIONS: readonly string[] = [
  ...['backend', 'adapter', 'timeoutMs', 'gpuLimits', 'cpuLimits', 'provider', 'gpuMinRows', 'shaderChanges'],
];

type Names<Options> = { readonly [Name in keyof Required<Options>]: true };
const GPU_LIMITS: Names<NonNullable<EngineOptions['gpuLimits']>> = {
  bindingBytes: true,
  memoryBytes: true,
  pieceLength: true,
  workgroupsPerDispatch: true,
  elementsPerDispatch: true,
  elementsInFlight: true,
  workgroupSize: true,
};
const CPU_LIMITS: Names<CpuLimits> = { pieceLength: true, tileRollouts: true, tileRows: true };

/** @throws UsageError on options that are no object, or that no one reads: a misspelt one would change nothing, unseen */
function requireNames(what: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) throw new UsageError(`${what} must be an object`);
  const stranger = Object.keys(options).find((name) => !known.includes(name));
  if (stranger !== undefined) throw new UsageError(`unknown option ${stranger} of ${what}; known: ${known.join(', ')}`);
}

/** @throws UsageError */
export function checkEngineOptions(options: EngineOptions): void {
  requireNames('an engine', options, ENGINE_OPTIONS);
  const { backend = 'auto' } = options;
  if (!BACKENDS.includes(backend)) throw new UsageError(`unknown backend '${backend}'; known: ${BACKENDS.join(', ')}`);
  const adapter: unknown = options.adapter;
  if (adapter !== undefined && typeof adapter !== 'string')
    throw new UsageError(`adapter must be text, a part of its name, got ${typeof adapter}`);
  const { gpuLimits = {}, cpuLimits = {} } = options;
  for (const [what, limits, names] of [
    ['gpuLimits', gpuLimits, GPU_LIMITS],
    ['cpuLimits', cpuLimits, CPU_LIMITS],
  ] as const) {
    requireNames(what, limits, Object.keys(names));
    for (const [name, value] of Object.entries(limits)) requireCount(`${what}.${name}`, value);
  }
  for (const name of ['timeoutMs', 'gpuMinRows'] as const) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== 'number')
      throw new UsageError(`${name} must be a number, got ${spelled(value)}`);
  }
  requireTimeout(options.timeoutMs);
  if (options.provider !== undefined && typeof options.provider?.open !== 'function')
    throw new UsageError('provider must be an object with a method open');
}

/** One of any realm or library. */
function isSignal(value: Partial<AbortSignal> | null): boolean {
  const { aborted, throwIfAborted, addEventListener } = value ?? {};
  return typeof aborted === 'boolean' && typeof throwIfAborted === 'function' && typeof addEventListener === 'function';
}

/** What callers without types get wrong silently: a text where a switch is meant, a list that is none. */
function requireKinds(options: NormalizeOptions): void {
  requireNames('a call', options, CALL_OPTIONS);
  for (const name of SWITCHES) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== 'boolean')
      throw new UsageError(`${name} must be a boolean, got ${spelled(value)}`);
  }
  for (const name of ['promptGroupSizes', 'exclude', 'rewardWeights'] as const) {
    if (options[name] !== undefined && !Array.isArray(options[name])) throw new UsageError(`${name} must be an array`);
  }
  const output: unknown = options.output;
  if (output !== undefined && !(output instanceof Float32Array)) throw new UsageError('output must be a Float32Array');
  if (options.signal !== undefined && !isSignal(options.signal)) throw new UsageError('signal must be an AbortSignal');
}

const SWITCHES = ['disableRewardsNormalization', 'disableGrpoStdNormalization', 'strict', 'requireIdentity'] as const;
