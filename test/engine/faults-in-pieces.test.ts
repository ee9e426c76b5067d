/** A GPU that fails in the midst of work that is cut into tiles, slices, pieces and submissions, under every rule. */
import { describe, expect, it } from 'vitest';
import { BackendError, InputError } from '../../src/errors.ts';
import { createEngine, type EngineOptions } from '../../src/index.ts';
import { columnsOfBatch } from '../../src/samples/batch.ts';
import { bitsOf, type Cut, callOn, PORTIONS, RULES, TILES } from '../support/cut-batches.ts';
import { type FaultKind, type FaultPoint, FaultyGpu } from '../support/faulty-gpu.ts';

const SHORT_TIMEOUT_MS = 1000;
/** So often the call after a fault is made too. */
const NEXT_CALL_AFTER = 16;
const UNTOUCHED = -77;
const LOST = /was lost|AbortError/;
const NAMES = Object.keys(RULES);
/** For these the computation keeps what it knew on its way too, as for explain and parity: more stages, more read-backs. */
const detailsOf = (name: string) => name === 'median and mad' || name === 'token weights';

type Limits = NonNullable<EngineOptions['gpuLimits']>;

interface Sweep {
  readonly point: FaultPoint;
  readonly kind: FaultKind;
  /** What the message says. */
  readonly reason: RegExp;
  readonly limits?: Limits;
  /** The computation keeps what it knew on its way, as for explain and parity. */
  readonly detailed?: boolean;
  /** Whether a right result counts too, as where nothing that is used was left out. */
  readonly mayBeRight?: boolean;
}

const onCpu = (cut: Cut, detailed = false) => callOn(createEngine({ backend: 'cpu' }), cut, {}, detailed);

const engineWith = (gpu: FaultyGpu, gpuLimits: Limits, options: EngineOptions = {}) =>
  createEngine({ backend: 'webgpu', provider: gpu, gpuMinRows: 0, gpuLimits, ...options });

/** How often a fresh engine makes this call in a computation without a fault. */
async function callsOf(cut: Cut, { point, limits = TILES, detailed = false }: Sweep): Promise<number> {
  const gpu = new FaultyGpu();
  const engine = engineWith(gpu, limits);
  await callOn(engine, cut, {}, detailed);
  await engine.close();
  return gpu.counts[point] ?? 0;
}

/** What goes wrong when each call of the kind fails in turn; and how many there are. */
async function sweep(cut: Cut, wanted: Sweep): Promise<{ calls: number; wrongs: string[] }> {
  const expected = bitsOf(await onCpu(cut, wanted.detailed));
  const calls = await callsOf(cut, wanted);
  const wrongs: string[] = [];
  for (let at = 1; at <= calls; at++) {
    for (const wrong of await wrongsAt(cut, wanted, at, expected)) wrongs.push(`${wanted.point} ${at}: ${wrong}`);
  }
  return { calls, wrongs };
}

async function wrongsAt(cut: Cut, wanted: Sweep, at: number, expected: unknown[]): Promise<string[]> {
  const { point, kind, reason, limits = TILES, detailed = false, mayBeRight = false } = wanted;
  const wrongs: string[] = [];
  const gpu = new FaultyGpu();
  const engine = engineWith(gpu, limits);
  gpu.arm({ point, kind, at });
  const output = new Float32Array(expected.length - 1).fill(UNTOUCHED);
  const outcome = await callOn(engine, cut, { output }, detailed).catch((error: unknown) => error as Error);
  if (!gpu.fired) wrongs.push('the fault did not happen');
  if (outcome instanceof Error) {
    if (!(outcome instanceof BackendError)) wrongs.push(`${outcome.name}: ${outcome.message}`);
    if (!reason.test(outcome.message)) wrongs.push(`message: ${outcome.message}`);
    if (!output.every((value) => value === UNTOUCHED)) wrongs.push('the output was written to');
  } else if (!mayBeRight) wrongs.push('it returned numbers');
  else if (bitsOf(outcome).join() !== expected.join()) wrongs.push('it returned numbers that nobody computed');
  if (at % NEXT_CALL_AFTER === 1) {
    const next = await callOn(engine, cut, {}, detailed).catch((error: unknown) => error as Error);
    if (next instanceof Error) wrongs.push(`the next call: ${next.message}`);
    else if (bitsOf(next).join() !== expected.join()) wrongs.push('the next call gives other bits');
  }
  await engine.close();
  return wrongs;
}

describe('without a fault', () => {
  it.each(NAMES)('%s: the cut batch has the bits and details of the CPU', async (name) => {
    for (const limits of [TILES, PORTIONS]) {
      const engine = engineWith(new FaultyGpu(), limits);
      expect(bitsOf(await callOn(engine, RULES[name], {}, true))).toEqual(bitsOf(await onCpu(RULES[name], true)));
      await engine.close();
    }
  });
});

describe('in tiles and slices', () => {
  it.each(NAMES)('%s: no allocation may fail for want of memory, and that is what is told', async (name) => {
    const reason = /the GPU reported: out of memory: injected: no memory left/;
    const fault = {
      point: 'createBuffer',
      kind: 'out of memory',
      reason,
      detailed: name === 'median and mad',
    } as const;
    const { calls, wrongs } = await sweep(RULES[name], fault);
    expect(wrongs).toEqual([]);
    expect(calls).toBeGreaterThan(name === 'raw' ? 5 : 50);
  });

  it.each(NAMES)('%s: the device is lost at any submission', async (name) => {
    const fault = { point: 'submit', kind: 'lost', reason: LOST, detailed: detailsOf(name) } as const;
    const { calls, wrongs } = await sweep(RULES[name], fault);
    expect(wrongs).toEqual([]);
    expect(calls).toBeGreaterThan(name === 'raw' ? 3 : 20);
  });

  it.each(NAMES)('%s: the device is lost at any read-back', async (name) => {
    const fault = { point: 'mapAsync', kind: 'lost', reason: LOST, detailed: detailsOf(name) } as const;
    const { calls, wrongs } = await sweep(RULES[name], fault);
    expect(wrongs).toEqual([]);
    expect(calls).toBeGreaterThan(name === 'raw' ? 1 : 6);
  });

  it.each(NAMES)('%s: a submission that does nothing never becomes a number', async (name) => {
    const fault = { point: 'submit', kind: 'nothing', reason: /the GPU/, mayBeRight: true } as const;
    const { wrongs } = await sweep(RULES[name], { ...fault, detailed: detailsOf(name) });
    expect(wrongs).toEqual([]);
  });

  it('grpo: a read-back that rejects is a failure, whichever it is', async () => {
    const fault = { point: 'mapAsync', kind: 'fails', reason: /reading results back/ } as const;
    expect((await sweep(RULES.grpo, fault)).wrongs).toEqual([]);
  });
});

describe('a median that the host computes, since a group is too long for one invocation', () => {
  const cut: Cut = {
    batch: { reward: [3, 1, 4, 1, 5, 9, 2, 6], groupIndex: new Int32Array(8) },
    options: { baseline: 'median', scale: 'mad' },
  };

  it.each([
    ['createBuffer', 'out of memory', /out of memory/],
    ['submit', 'lost', LOST],
    ['mapAsync', 'lost', LOST],
  ] as const)('fails with what goes before and after it: %s, %s', async (point, kind, reason) => {
    const { calls, wrongs } = await sweep(cut, { point, kind, reason });
    expect(wrongs).toEqual([]);
    expect(calls).toBeGreaterThan(6);
  });
});

describe('in several submissions of one kernel', () => {
  it.each(['grpo', 'median and mad', 'token weights'])('%s: the device is lost at any wait between', async (name) => {
    const fault = { point: 'onSubmittedWorkDone', kind: 'lost', reason: LOST, limits: PORTIONS } as const;
    const { calls, wrongs } = await sweep(RULES[name], fault);
    expect(wrongs).toEqual([]);
    expect(calls).toBeGreaterThan(2);
  });

  it.each(['grpo', 'median and mad'])('%s: one of them does nothing', async (name) => {
    const fault = { point: 'submit', kind: 'nothing', reason: /the GPU/, limits: PORTIONS } as const;
    expect((await sweep(RULES[name], fault)).wrongs).toEqual([]);
  });
});

/** The first, one in the middle, and the last. */
const someOf = (calls: number) => [1, Math.ceil(calls / 2), calls];

describe('auto', () => {
  it.each(['grpo', 'median and mad', 'gdpo'])(
    '%s: gives the bits of the CPU with the reason, and takes the GPU again',
    async (name) => {
      const expected = bitsOf(await onCpu(RULES[name]));
      for (const [point, kind, reason] of [
        ['createBuffer', 'out of memory', /out of memory/],
        ['submit', 'lost', /lost|AbortError/],
      ] as const) {
        for (const at of someOf(await callsOf(RULES[name], { point, kind, reason }))) {
          const gpu = new FaultyGpu();
          const engine = engineWith(gpu, TILES, { backend: 'auto' });
          gpu.arm({ point, kind, at });
          const result = await callOn(engine, RULES[name]);
          expect([gpu.fired, result.report.backend]).toEqual([true, 'cpu']);
          expect(result.report.backend_reason).toMatch(reason);
          expect(result.report.warnings).toContain(`computed on the CPU: ${result.report.backend_reason}`);
          expect(bitsOf(result)).toEqual(expected);
          expect((await callOn(engine, RULES[name])).report.backend).toBe('webgpu');
          await engine.close();
        }
      }
    },
  );
});

describe('a device that does not answer', () => {
  it.each([
    ['mapAsync', TILES],
    ['onSubmittedWorkDone', PORTIONS],
  ] as const)('any more at a %s is given up and left alone; auto goes on with the CPU', async (point, limits) => {
    const expected = bitsOf(await onCpu(RULES.grpo));
    const kind = 'never';
    for (const at of someOf(await callsOf(RULES.grpo, { point, kind, reason: /./, limits }))) {
      const gpu = new FaultyGpu();
      const engine = engineWith(gpu, limits, { backend: 'auto', timeoutMs: SHORT_TIMEOUT_MS });
      gpu.arm({ point, kind, at });
      const result = await callOn(engine, RULES.grpo);
      expect(result.report.backend_reason).toMatch(/did not answer within 1 s/);
      expect(bitsOf(result)).toEqual(expected);
      expect(gpu.devices.map(({ destroyed }) => destroyed)).toEqual([0]);
      expect((await callOn(engine, RULES.grpo)).report.backend).toBe('webgpu');
      await engine.close();
    }
  });

  it('does not keep close() waiting for longer than that', async () => {
    const gpu = new FaultyGpu();
    const engine = engineWith(gpu, TILES, { timeoutMs: SHORT_TIMEOUT_MS });
    gpu.arm({ point: 'mapAsync', kind: 'never', at: 3 });
    const started = performance.now();
    const ended = expect(callOn(engine, RULES.grpo)).rejects.toThrow(/did not answer/);
    await engine.close();
    await ended;
    expect(performance.now() - started).toBeLessThan(10 * SHORT_TIMEOUT_MS);
  });
});

describe('several calls at once, all cut', () => {
  it('one that loses the device and one that is ended among eight harm no other', async () => {
    const gpu = new FaultyGpu();
    const engine = engineWith(gpu, TILES);
    const controller = new AbortController();
    const reason = new Error('enough');
    gpu.arm({ point: 'submit', kind: 'lost', at: 30 });
    const first = callOn(engine, RULES.grpo);
    const ended = callOn(engine, RULES.rloo, { signal: controller.signal });
    gpu.onHit = (point, count) => {
      if (point === 'submit' && count === 50) controller.abort(reason);
    };
    const others = ['gdpo', 'maxrl', 'median and mad', 'opo', 'token weights', 'scale of the batch'];
    const calls = [first, ended, ...others.map((name) => callOn(engine, RULES[name]))];
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes[0]).toMatchObject({ status: 'rejected', reason: expect.any(BackendError) });
    expect(outcomes[1]).toEqual({ status: 'rejected', reason });
    for (const [i, name] of others.entries()) {
      const outcome = outcomes[i + 2];
      expect(outcome.status === 'fulfilled' && bitsOf(outcome.value)).toEqual(bitsOf(await onCpu(RULES[name])));
    }
    expect(gpu.devices).toHaveLength(2);
    await engine.close();
  });

  it('two engines: what one loses the other keeps', async () => {
    const gpus = [new FaultyGpu(), new FaultyGpu()];
    const engines = gpus.map((gpu) => engineWith(gpu, TILES));
    gpus[0].arm({ point: 'mapAsync', kind: 'lost', at: 4 });
    const [lost, kept] = await Promise.allSettled(engines.map((engine) => callOn(engine, RULES.gdpo)));
    expect(lost.status).toBe('rejected');
    const expected = bitsOf(await onCpu(RULES.gdpo));
    expect(kept.status === 'fulfilled' && bitsOf(kept.value)).toEqual(expected);
    expect(bitsOf(await callOn(engines[0], RULES.gdpo))).toEqual(expected);
    for (const engine of engines) await engine.close();
  });

  it('close() in the midst of a call waits for all of its pieces', async () => {
    const gpu = new FaultyGpu();
    const engine = engineWith(gpu, TILES);
    let closing: Promise<void> | undefined;
    gpu.onHit = (point, count) => {
      if (point === 'submit' && count === 9) closing = engine.close();
    };
    expect(bitsOf(await callOn(engine, RULES.gdpo))).toEqual(bitsOf(await onCpu(RULES.gdpo)));
    await closing;
    expect(gpu.devices.map(({ destroyed }) => destroyed)).toEqual([1]);
  });
});

describe('input that is refused', () => {
  it('is no failure of the device, however often', async () => {
    const gpu = new FaultyGpu();
    const engine = engineWith(gpu, TILES, { backend: 'auto' });
    const { batch } = RULES['token weights'];
    const withoutTokens = {
      ...batch,
      lossMask: undefined,
      trainableTokens: columnsOfBatch(batch).rewards.map(() => 0),
    };
    const refused = { batch: withoutTokens, options: RULES['token weights'].options } as unknown as Cut;
    for (let i = 0; i < 4; i++) await expect(callOn(engine, refused)).rejects.toThrow(InputError);
    expect((await callOn(engine, RULES.grpo)).report.backend).toBe('webgpu');
    expect(gpu.devices).toHaveLength(1);
    await engine.close();
  });
});
