/** What the engine does when the GPU fails: the CPU's bits with a reason, or an error; never numbers nobody computed. */

import { describe, expect, it } from 'vitest';
import { Crossover, crossing } from '../../src/crossover.ts';
import { AdapterError, BackendError, UsageError } from '../../src/errors.ts';
import { resolveEstimator } from '../../src/estimators/estimators.ts';
import { resolvePolicies } from '../../src/estimators/policies.ts';
import { createEngine, type Engine, type EngineOptions, type NormalizeResult } from '../../src/index.ts';
import { cpuExecutor } from '../../src/kernels/cpu-executor.ts';
import type { Executor } from '../../src/kernels/executor.ts';
import { KERNELS } from '../../src/kernels/table.ts';
import type { Work } from '../../src/kernels/work.ts';
import { planBatch } from '../../src/plan/plan.ts';
import { type Batch, columnsOfBatch } from '../../src/samples/batch.ts';
import { packLossMasks } from '../../src/samples/loss-masks.ts';
import { type Fault, type FaultPoint, FaultyGpu } from '../support/faulty-gpu.ts';
import { DEFAULT_KERNELS, runOf } from '../support/kernel-options.ts';
import { Random } from '../support/kernel-runner.ts';

const DEADLINE_MS = 20_000;
const SHORT_TIMEOUT_MS = 1000;
/** Small enough that a small batch meets every kernel and every kind of wait. */
const GPU_LIMITS = { pieceLength: 2, elementsInFlight: 64 };
const BATCH = smallBatch(1);
const EXPECTED = bitsOf(await createEngine({ backend: 'cpu' }).normalize(BATCH));

/** Six groups of five rollouts of one to three rows, every reward different. */
function smallBatch(seed: number): Batch {
  const random = new Random(seed);
  const rows: { group: number; rollout: number }[] = [];
  for (let rollout = 0; rollout < 30; rollout++)
    for (let row = 0; row <= rollout % 3; row++) rows.push({ group: Math.floor(rollout / 5), rollout });
  return {
    reward: Float64Array.from(rows, () => random.unit()),
    groupIndex: rows.map(({ group }) => group),
    rolloutId: rows.map(({ rollout }) => rollout),
    lossMask: packLossMasks(rows.map(() => Array.from({ length: 1 + random.below(200) }, () => random.below(2)))),
  };
}

function bitsOf({ advantages }: NormalizeResult): Uint32Array {
  return new Uint32Array(advantages.buffer, advantages.byteOffset, advantages.length);
}

/** The warnings that tell of a GPU that was to be used and was not. */
const fallbacksOf = ({ report }: NormalizeResult): readonly string[] =>
  report.warnings.filter((warning) => warning.startsWith('computed on the CPU'));

const engineWith = (gpu: FaultyGpu, options: EngineOptions = {}): Engine =>
  createEngine({ provider: gpu, gpuMinRows: 0, gpuLimits: GPU_LIMITS, ...options });

/** The promise, or an error where it takes so long that it must be hanging. */
async function inTime<T>(promise: Promise<T>, milliseconds = DEADLINE_MS): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it hangs')), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

interface Expectation {
  readonly reason: RegExp;
  readonly error?: typeof AdapterError | typeof BackendError;
  readonly timeoutMs?: number;
  /** Whether `auto` takes the GPU again at the next call. Default true. */
  readonly recovers?: boolean;
  /** Whether the device is left to itself rather than destroyed. Default false. */
  readonly abandoned?: boolean;
  /** Kernel that the run must meet. Default: those of the default rule. */
  readonly kernel?: string;
  /** Whether a right result counts too, as where the fault may have touched nothing that is used. */
  readonly mayBeRight?: boolean;
}

/** What an `auto` engine and a `webgpu` engine do wrong under a fault; empty where all is right. */
async function wrongsUnder(fault: Fault, expectation: Expectation): Promise<string[]> {
  return [...(await wrongsOfAuto(fault, expectation)), ...(await wrongsOfWebgpu(fault, expectation))];
}

/** What is computed, and the bits that the CPU gives. */
async function runFor({ kernel = '' }: Expectation) {
  const { batch, options } = runOf(kernel, BATCH);
  return { batch, options, expected: bitsOf(await createEngine({ backend: 'cpu' }).normalize(batch, options)) };
}

async function wrongsOfAuto(fault: Fault, expectation: Expectation): Promise<string[]> {
  const { batch, options, expected } = await runFor(expectation);
  const { reason, timeoutMs, recovers = true, abandoned = false, mayBeRight = false } = expectation;
  const wrongs: string[] = [];
  const wrong = (what: string) => wrongs.push(`auto, ${JSON.stringify(fault)}: ${what}`);
  const gpu = new FaultyGpu();
  const engine = engineWith(gpu, { backend: 'auto', timeoutMs });
  gpu.arm(fault);
  const result = await inTime(engine.normalize(batch, options)).catch((error: unknown) => error as Error);
  if (!gpu.fired) wrong('the fault did not happen');
  if (result instanceof Error) {
    wrong(`it threw ${result.name}: ${result.message}`);
    await inTime(engine.close());
    return wrongs;
  }
  const { report } = result;
  if (!sameBits(bitsOf(result), expected)) wrong(`other bits than the CPU's, backend ${report.backend}`);
  if (report.backend === 'cpu') {
    if (!reason.test(report.backend_reason)) wrong(`reason: ${report.backend_reason}`);
    if (fallbacksOf(result).join() !== `computed on the CPU: ${report.backend_reason}`) wrong('no warning');
    if (report.adapter !== null) wrong('an adapter is reported');
  } else if (!mayBeRight) wrong('the fault was not noticed');
  const destroyed = gpu.devices[0]?.destroyed ?? 0;
  const isGone = report.backend === 'cpu' && !abandoned && gpu.devices.length > 0;
  if (destroyed !== Number(isGone)) wrong(`the device was destroyed ${destroyed} times`);
  const next = await inTime(engine.normalize(batch, options));
  if (!sameBits(bitsOf(next), expected)) wrong('the next call gives other bits');
  if ((next.report.backend === 'webgpu') !== recovers) wrong(`the next call runs on ${next.report.backend}`);
  await inTime(engine.close());
  return wrongs;
}

async function wrongsOfWebgpu(fault: Fault, expectation: Expectation): Promise<string[]> {
  const { batch, options, expected } = await runFor(expectation);
  const { reason, error: kind = BackendError, timeoutMs, mayBeRight = false } = expectation;
  const wrongs: string[] = [];
  const wrong = (what: string) => wrongs.push(`webgpu, ${JSON.stringify(fault)}: ${what}`);
  const gpu = new FaultyGpu();
  const engine = engineWith(gpu, { backend: 'webgpu', timeoutMs });
  const output = new Float32Array(expected.length).fill(-77);
  gpu.arm(fault);
  const outcome = await inTime(engine.normalize(batch, { ...options, output })).catch(
    (error: unknown) => error as Error,
  );
  if (!gpu.fired) wrong('the fault did not happen');
  if (outcome instanceof Error) {
    if (!(outcome instanceof kind)) wrong(`${outcome.name}: ${outcome.message}`);
    if (!reason.test(outcome.message)) wrong(`message: ${outcome.message}`);
    if (!output.every((value) => value === -77)) wrong('the output was written to');
  } else if (!mayBeRight) wrong('it returned numbers');
  else if (!sameBits(bitsOf(outcome), expected)) wrong('it returned numbers that nobody computed');
  const next = await inTime(engine.normalize(batch, options));
  if (!sameBits(bitsOf(next), expected)) wrong('the next call gives other bits');
  await inTime(engine.close());
  return wrongs;
}

const sameBits = (a: Uint32Array, b: Uint32Array) => a.length === b.length && a.every((word, i) => word === b[i]);

/** How often each call is made in a run without a fault. */
async function callsOfOneRun(): Promise<Record<FaultPoint, number>> {
  const gpu = new FaultyGpu();
  const engine = engineWith(gpu, { backend: 'webgpu' });
  await engine.normalize(BATCH);
  const counts = gpu.counts as Record<FaultPoint, number>;
  await engine.close();
  return counts;
}

/** The wrongs of a fault at each call of its kind in turn. */
async function wrongsAtEvery(fault: Omit<Fault, 'at'>, expectation: Expectation): Promise<string[]> {
  const { [fault.point]: calls } = await callsOfOneRun();
  const wrongs: string[] = [];
  // Every call fails once; the two kinds of engine differ only in what they make of it.
  for (let at = 1; at <= calls; at++) {
    const wrongsOf = at % 2 === 1 ? wrongsOfAuto : wrongsOfWebgpu;
    wrongs.push(...(await wrongsOf({ ...fault, at }, expectation)));
  }
  expect(calls).toBeGreaterThan(0);
  return wrongs;
}

describe('without a fault', () => {
  it('an adapter that says it is hardware is used by auto, and gives the bits of the CPU', async () => {
    const gpu = new FaultyGpu();
    const engine = engineWith(gpu, { backend: 'auto' });
    const result = await engine.normalize(BATCH);
    expect(result.report.backend).toBe('webgpu');
    expect(result.report.adapter?.software).toBe(false);
    expect(fallbacksOf(result)).toEqual([]);
    expect(bitsOf(result)).toEqual(EXPECTED);
    expect(new Set(EXPECTED).size).toBeGreaterThan(EXPECTED.length / 4);
    await engine.close();
    expect(gpu.devices.map(({ destroyed }) => destroyed)).toEqual([1]);
  });

  it('every kernel of the default rule runs for the batch of these tests', async () => {
    const { createComputePipelineAsync: compiled } = await callsOfOneRun();
    expect(compiled).toBe(DEFAULT_KERNELS.length);
  });
});

describe('a GPU that cannot be opened', () => {
  it('is an AdapterError where WebGPU does not load, and auto does not try again', async () => {
    const fault: Fault = { point: 'open', kind: 'fails' };
    expect(await wrongsUnder(fault, { reason: /cannot be loaded/, error: AdapterError, recovers: false })).toEqual([]);
  });

  it('is an AdapterError where there is no adapter, and auto does not try again', async () => {
    const fault: Fault = { point: 'requestAdapter', kind: 'fails' };
    expect(await wrongsUnder(fault, { reason: /no adapter/, error: AdapterError, recovers: false })).toEqual([]);
  });

  it('is a BackendError where the device does not open', async () => {
    const fault: Fault = { point: 'requestDevice', kind: 'fails' };
    expect(await wrongsUnder(fault, { reason: /injected: no device/ })).toEqual([]);
  });

  it.each(['requestAdapter', 'requestDevice'] as const)('is given up when %s does not answer', async (point) => {
    const gpu = new FaultyGpu();
    const engine = engineWith(gpu, { backend: 'auto', timeoutMs: SHORT_TIMEOUT_MS });
    gpu.arm({ point, kind: 'never' });
    const { report, ...result } = await inTime(engine.normalize(BATCH), 2000);
    expect(report.backend).toBe('cpu');
    expect(bitsOf({ report, ...result })).toEqual(EXPECTED);
    await inTime(engine.close(), 2000);
  });

  it('exit statuses are 4 for a missing adapter and 70 for a failure', async () => {
    const statusUnder = async (fault: Fault) => {
      const gpu = new FaultyGpu();
      gpu.arm(fault);
      const engine = engineWith(gpu, { backend: 'webgpu' });
      const error = await engine.normalize(BATCH).catch((caught: unknown) => caught);
      await engine.close();
      return (error as BackendError).exitStatus;
    };
    expect(await statusUnder({ point: 'open', kind: 'fails' })).toBe(4);
    expect(await statusUnder({ point: 'requestAdapter', kind: 'fails' })).toBe(4);
    expect(await statusUnder({ point: 'requestDevice', kind: 'fails' })).toBe(70);
    expect(await statusUnder({ point: 'mapAsync', kind: 'fails' })).toBe(70);
  });

  it('auto stops asking after three failures in a row', async () => {
    const gpu = new FaultyGpu();
    const engine = engineWith(gpu, { backend: 'auto' });
    gpu.arm({ point: 'requestDevice', kind: 'fails', lasting: true });
    const results: NormalizeResult[] = [];
    for (let call = 0; call < 5; call++) results.push(await engine.normalize(BATCH));
    expect(gpu.counts.requestDevice).toBe(3);
    for (const result of results) {
      expect(result.report.backend_reason).toMatch(/injected: no device/);
      expect(fallbacksOf(result)).toHaveLength(1);
      expect(bitsOf(result)).toEqual(EXPECTED);
    }
    await engine.close();
  });

  it('a success between failures keeps auto trying', async () => {
    const gpu = new FaultyGpu();
    const engine = engineWith(gpu, { backend: 'auto' });
    const backends: string[] = [];
    for (let call = 0; call < 8; call++) {
      if (call % 3 !== 2) gpu.arm({ point: 'mapAsync', kind: 'fails' });
      backends.push((await engine.normalize(BATCH)).report.backend);
    }
    expect(backends).toEqual(['cpu', 'cpu', 'webgpu', 'cpu', 'cpu', 'webgpu', 'cpu', 'cpu']);
    await engine.close();
  });
});

describe('a kernel that does not compile', () => {
  it.each(Object.values(KERNELS).map(({ name }) => name))(
    '%s: is a failure of the call and not of the next',
    async (kernel) => {
      const fault: Fault = { point: 'createComputePipelineAsync', kind: 'fails', kernel };
      expect(await wrongsUnder(fault, { reason: /injected: createComputePipelineAsync/, kernel })).toEqual([]);
    },
  );

  it('is given up when the compiler does not answer, and the device is left alone', async () => {
    const fault: Fault = { point: 'createComputePipelineAsync', kind: 'never' };
    const expectation = { reason: /did not answer.*compiling/, timeoutMs: SHORT_TIMEOUT_MS, abandoned: true };
    expect(await wrongsUnder(fault, expectation)).toEqual([]);
  });

  it('does not wait for ever for the compiler to explain', async () => {
    const gpu = new FaultyGpu();
    const engine = engineWith(gpu, { backend: 'auto', timeoutMs: SHORT_TIMEOUT_MS });
    // The first fault fires at once; the second is armed before the engine asks for the messages.
    gpu.arm({ point: 'createComputePipelineAsync', kind: 'fails' });
    const hit = gpu.hit.bind(gpu);
    gpu.hit = (point, kernel) => (point === 'getCompilationInfo' ? 'never' : hit(point, kernel));
    const result = await inTime(engine.normalize(BATCH), 2000);
    expect(result.report.backend).toBe('cpu');
    expect(bitsOf(result)).toEqual(EXPECTED);
    await inTime(engine.close(), 2000);
  });
});

describe('errors that the device reports', () => {
  it('no buffer of a run may be missing for want of memory', async () => {
    const fault = { point: 'createBuffer', kind: 'out of memory' } as const;
    expect(await wrongsAtEvery(fault, { reason: /GPU|reading results back/ })).toEqual([]);
  });

  it('no buffer of a run may be invalid', async () => {
    const fault = { point: 'createBuffer', kind: 'invalid' } as const;
    expect(await wrongsAtEvery(fault, { reason: /GPU|reading results back/ })).toEqual([]);
  });

  it('an error scope that rejects is a failure', async () => {
    expect(await wrongsAtEvery({ point: 'popErrorScope', kind: 'fails' }, { reason: /popErrorScope/ })).toEqual([]);
  });
});

describe('work that is silently not done', () => {
  it('a submit that does nothing never leads to numbers that nobody computed', async () => {
    const fault = { point: 'submit', kind: 'nothing' } as const;
    expect(await wrongsAtEvery(fault, { reason: /./, mayBeRight: true })).toEqual([]);
  });
});

describe('waits', () => {
  it('a map that rejects is a failure, whichever it is', async () => {
    expect(await wrongsAtEvery({ point: 'mapAsync', kind: 'fails' }, { reason: /reading results back/ })).toEqual([]);
  });

  it('a map that never settles is given up, and the device is left alone', async () => {
    const expectation = { reason: /did not answer/, timeoutMs: SHORT_TIMEOUT_MS, abandoned: true };
    expect(await wrongsAtEvery({ point: 'mapAsync', kind: 'never' }, expectation)).toEqual([]);
  });

  it('work that never ends is given up, and the device is left alone', async () => {
    const expectation = { reason: /did not answer/, timeoutMs: SHORT_TIMEOUT_MS, abandoned: true };
    expect(await wrongsAtEvery({ point: 'onSubmittedWorkDone', kind: 'never' }, expectation)).toEqual([]);
  });

  it('an error scope that never settles is given up, and the device is left alone', async () => {
    const fault: Fault = { point: 'popErrorScope', kind: 'never', at: 5 };
    const expectation = { reason: /did not answer/, timeoutMs: SHORT_TIMEOUT_MS, abandoned: true };
    expect(await wrongsUnder(fault, expectation)).toEqual([]);
  });
});

describe('a device that is lost', () => {
  const points = [
    'createComputePipelineAsync',
    'createBuffer',
    'submit',
    'mapAsync',
    'onSubmittedWorkDone',
    'popErrorScope',
  ] as const;

  it.each(points)('at any %s is a failure of that call only', async (point) => {
    expect(await wrongsAtEvery({ point, kind: 'lost' }, { reason: /lost|AbortError/ })).toEqual([]);
  });

  it.each(['createComputePipelineAsync', 'mapAsync', 'onSubmittedWorkDone'] as const)(
    'ends the wait of any %s that would stay pending',
    async (point) => {
      expect(await wrongsAtEvery({ point, kind: 'lost and silent' }, { reason: /lost/ })).toEqual([]);
    },
  );

  it.each(['auto', 'webgpu'] as const)('between two calls concerns neither, under %s', async (backend) => {
    const gpu = new FaultyGpu();
    const engine = engineWith(gpu, { backend });
    const first = await engine.normalize(BATCH);
    gpu.devices[0].lose();
    const second = await engine.normalize(BATCH);
    for (const result of [first, second]) {
      expect(result.report.backend).toBe('webgpu');
      expect(bitsOf(result)).toEqual(EXPECTED);
    }
    await engine.close();
    expect(gpu.devices).toHaveLength(2);
  });
});

describe('calls at the same time', () => {
  it('close() during a call waits for it, and later calls are refused', async () => {
    const engine = createEngine({ backend: 'webgpu' });
    const order: string[] = [];
    const call = engine.normalize(BATCH).then((result) => {
      order.push('call');
      return result;
    });
    const closing = engine.close().then(() => order.push('close'));
    await expect(engine.normalize(BATCH)).rejects.toThrow(UsageError);
    expect(bitsOf(await call)).toEqual(EXPECTED);
    await closing;
    expect(order).toEqual(['call', 'close']);
    await engine.close();
  });

  it('close() before the first call, and twice, is allowed', async () => {
    const engine = createEngine({ backend: 'webgpu' });
    await engine.close();
    await engine.close();
    await expect(engine.normalize(BATCH)).rejects.toThrow(/closed/);
  });

  it('eight calls on one engine give each its own bits', async () => {
    const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
    const cpu = createEngine({ backend: 'cpu' });
    const engine = createEngine({ backend: 'webgpu', gpuLimits: GPU_LIMITS });
    const expected = await Promise.all(seeds.map((seed) => cpu.normalize(smallBatch(seed))));
    const found = await Promise.all(seeds.map((seed) => engine.normalize(smallBatch(seed))));
    expect(found.map(bitsOf)).toEqual(expected.map(bitsOf));
    expect(new Set(found.map(({ report }) => report.backend))).toEqual(new Set(['webgpu']));
    await engine.close();
  });

  it('a failing call among eight harms no other', async () => {
    const gpu = new FaultyGpu();
    const engine = engineWith(gpu, { backend: 'webgpu' });
    await engine.normalize(BATCH);
    gpu.arm({ point: 'mapAsync', kind: 'fails' });
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => engine.normalize(BATCH)));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', ...Array(7).fill('fulfilled')]);
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') expect(bitsOf(outcome.value)).toEqual(EXPECTED);
    await engine.close();
  });

  it('two engines at once have a device each', async () => {
    const engines = [createEngine({ backend: 'webgpu' }), createEngine({ backend: 'webgpu', gpuLimits: GPU_LIMITS })];
    const first = await Promise.all(engines.map((engine) => engine.normalize(BATCH)));
    await engines[0].close();
    const after = await engines[1].normalize(BATCH);
    for (const result of [...first, after]) expect(bitsOf(result)).toEqual(EXPECTED);
    await engines[1].close();
  });
});

describe('the choice of auto', () => {
  const rows = EXPECTED.length;

  it('a software adapter is never taken, and that is no failure', async () => {
    const gpu = new FaultyGpu({ software: true });
    const engine = engineWith(gpu, { backend: 'auto' });
    for (let call = 0; call < 2; call++) {
      const result = await engine.normalize(BATCH);
      expect(result.report.backend).toBe('cpu');
      expect(result.report.backend_reason).toMatch(/software/);
      expect(fallbacksOf(result)).toEqual([]);
    }
    expect(gpu.counts.submit ?? 0).toBe(0);
    await engine.close();
  });

  it('a software adapter is taken where webgpu is asked for', async () => {
    const engine = engineWith(new FaultyGpu({ software: true }), { backend: 'webgpu' });
    const { report } = await engine.normalize(BATCH);
    expect([report.backend, report.backend_reason, report.adapter?.software]).toEqual(['webgpu', 'asked for', true]);
    await engine.close();
  });

  it('a small batch stays on the CPU without a look for a GPU, and says why', async () => {
    const gpu = new FaultyGpu();
    const engine = createEngine({ backend: 'auto', provider: gpu });
    const result = await engine.normalize(BATCH);
    expect(result.report.backend).toBe('cpu');
    expect(result.report.backend_reason).toMatch(new RegExp(`^${rows} rows are fewer than`));
    expect(fallbacksOf(result)).toEqual([]);
    expect(gpu.counts.open ?? 0).toBe(0);
    await engine.close();
  });

  it.each([
    [rows, 'webgpu', /at or above the crossover/],
    [rows + 1, 'cpu', /below the crossover of \d+ that was set/],
  ] as const)('gpuMinRows %i decides: %s', async (gpuMinRows, backend, reason) => {
    const gpu = new FaultyGpu();
    const engine = engineWith(gpu, { backend: 'auto', gpuMinRows });
    const { report } = await engine.normalize(BATCH);
    expect(report.backend).toBe(backend);
    expect(report.backend_reason).toMatch(reason);
    expect(gpu.counts.open ?? 0).toBe(backend === 'webgpu' ? 1 : 0);
    await engine.close();
  });

  it.each([-1, Number.NaN])('gpuMinRows %d is refused', (gpuMinRows) => {
    expect(() => createEngine({ gpuMinRows })).toThrow(UsageError);
  });

  it('an unknown backend is refused', () => {
    expect(() => createEngine({ backend: 'cuda' as 'cpu' })).toThrow(/auto, cpu, webgpu/);
  });
});

describe('the crossover', () => {
  it.each([
    ['where the GPU has made up for its cost of a call', [1, 3], [9, 1], 4],
    ['at 0 where a call costs the GPU less too', [5, 3], [1, 1], 0],
    ['nowhere where a row costs both the same', [1, 2], [9, 2], Number.POSITIVE_INFINITY],
    ['nowhere where a row costs the GPU more', [9, 1], [0, 2], Number.POSITIVE_INFINITY],
  ] as const)('lies %s', (_, [cpuCall, cpuRow], [gpuCall, gpuRow], rows) => {
    const cpu = { perCall: cpuCall, perRow: cpuRow };
    expect(crossing(cpu, { perCall: gpuCall, perRow: gpuRow })).toBe(rows);
  });

  /** An executor that takes this long for every item of every kernel, beside the time that the CPU takes. */
  const slowed = (microsecondsPerItem: number, calls: { count: number }): Executor => {
    const executor = cpuExecutor();
    return {
      ...executor,
      workspace(bytes) {
        calls.count++;
        const workspace = executor.workspace(bytes);
        const run: typeof workspace.run = async (kernel, parameters, itemCount, arrays, bases) => {
          await workspace.run(kernel, parameters, itemCount, arrays, bases);
          const until = performance.now() + (itemCount * microsecondsPerItem) / 1000;
          while (performance.now() < until);
        };
        return { ...workspace, run };
      },
    };
  };
  const hardware = { vendor: 'test', architecture: 'test', description: 'test', software: false };
  const columns = columnsOfBatch(BATCH);
  const work: Work = {
    columns,
    plan: planBatch(columns),
    estimator: resolveEstimator({}),
    policies: resolvePolicies({}),
  };
  const large: Work = { ...work, columns: { ...columns, rowCount: 2 ** 24 } };

  it('is measured once, and then decides: a GPU that is faster by the row takes the large batch', async () => {
    const crossover = new Crossover({});
    const calls = { count: 0 };
    expect(crossover.reasonToStayOnCpu(work)).toMatch(/fewer than it pays to open a GPU for/);
    expect(crossover.reasonToStayOnCpu(large)).toBeNull();
    expect(await crossover.compare(large, slowed(0.3, calls), slowed(0, calls), hardware)).toBeNull();
    expect(crossover.reasonForGpu('auto', large)).toMatch(/measured crossover/);
    const measured = calls.count;
    expect(await crossover.compare(large, slowed(0.3, calls), slowed(0, calls), hardware)).toBeNull();
    expect(calls.count).toBe(measured);
  });

  it('keeps every batch on the CPU where the GPU is slower by the row', async () => {
    const crossover = new Crossover({});
    const calls = { count: 0 };
    const reason = /below the measured crossover of no number of rows/;
    expect(await crossover.compare(large, slowed(0, calls), slowed(0.3, calls), hardware)).toMatch(reason);
    expect(crossover.reasonToStayOnCpu(large)).toMatch(reason);
  });

  it('is not measured where it is set, nor on a software adapter', async () => {
    const calls = { count: 0 };
    const executor = slowed(0, calls);
    expect(await new Crossover({ gpuMinRows: 0 }).compare(work, executor, executor, hardware)).toBeNull();
    const software = { ...hardware, software: true };
    expect(await new Crossover({}).compare(large, executor, executor, software)).toMatch(/software/);
    expect(calls.count).toBe(0);
  });
});
