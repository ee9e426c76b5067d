/** The library in a page of headless Chromium: the same bits on its WebGPU, and a page outlives its GPU process. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ruleOptionsFromText } from '../../src/commands/flags/rule.ts';
import { createEngine, type EngineOptions } from '../../src/index.ts';
import { FIXED_CASES } from '../../src/parity/generate.ts';
import { PLANTED } from '../../src/parity/planted.ts';
import type { AdapterResult } from '../../src/parity/run.ts';
import { batchOf, CONFORMANCE_NAMES, readConformance, sizesOf } from '../support/conformance-batches.ts';
import { type Bundle, bundleForBrowser } from './bundle.ts';
import { openChromium } from './chromium.ts';
import type { Asked, CrashPoint, exported, Outcome } from './page.ts';

declare global {
  var rollnorm: typeof exported;
}

let bundle: Bundle;
let browser: Browser;
let context: BrowserContext;

beforeAll(async () => {
  bundle = await bundleForBrowser({ page: 'page.ts', worker: 'worker.ts' });
  browser = await openChromium();
  context = await browser.newContext();
  // Nothing but the bundle is there to be had.
  await context.route('**/*', (route) => {
    const code = bundle.files.get(new URL(route.request().url()).pathname.slice(1));
    return route.fulfill(
      code === undefined
        ? { contentType: 'text/html', body: '<!doctype html><script type="module" src="/page.js"></script>' }
        : { contentType: 'text/javascript', body: code },
    );
  });
});

afterAll(async () => {
  await browser?.close();
});

async function crashGpuProcess(): Promise<void> {
  const session = await browser.newBrowserCDPSession();
  await session.send('Browser.crashGpuProcess');
  await session.detach();
}

/** A page is a secure context, and so has WebGPU, by its address. */
async function openPage(address = 'http://localhost/'): Promise<Page> {
  const page = await context.newPage();
  await page.exposeFunction('crashGpuProcess', crashGpuProcess);
  await page.goto(address);
  await page.waitForFunction(() => globalThis.rollnorm !== undefined);
  return page;
}

function normalizeIn(page: Page, asked: Asked, options: EngineOptions, asHardware = false): Promise<Outcome | string> {
  return page.evaluate(([own, how, pretends]) => rollnorm.normalize(own, how, pretends), [
    asked,
    options,
    asHardware,
  ] as const);
}

const SMALL: Asked = {
  batch: { groupIndex: [7, 7, 7, 7, 7], rolloutId: ['a', 'a', 'a', 'b', 'c'], reward: [1, 1, 1, 0, 0.5] },
  options: {},
};

async function bitsOnNode({ batch, options }: Asked): Promise<number[]> {
  const engine = createEngine({ backend: 'cpu' });
  const { advantages } = await engine.normalize(batch, options);
  return [...new Uint32Array(advantages.buffer)];
}

describe('the bundle', () => {
  test('has no module of Node or of a package in it, asks for none, and bundles without a warning', () => {
    expect(bundle.modules.length).toBeGreaterThan(40);
    expect(bundle.modules.filter((id) => !/\/(src|test\/browser)\/[^?]*\.ts$/.test(id))).toEqual([]);
    expect(bundle.imports).toEqual([]);
    expect(bundle.warnings).toEqual([]);
    for (const code of bundle.files.values())
      expect(code).not.toMatch(/['"]node:|\brequire\(|\bprocess\.(env|versions|std)/);
  });
});

describe('a page with WebGPU', () => {
  test(
    'passes the batches of parity on its own adapter, and notices the planted faults',
    async () => {
      const page = await openPage();
      const run = (await page.evaluate(() => rollnorm.parity())) as AdapterResult;
      expect(run.cases.filter(({ differences, fault }) => differences.length > 0 || fault !== null)).toEqual([]);
      expect(run.cases.length).toBe(FIXED_CASES);
      expect(run.planted.map(({ noticedIn }) => noticedIn)).toEqual(PLANTED.map(({ stage }) => stage));
      expect(run.adapter?.architecture).toBe('swiftshader');
      expect(run.passed).toBe(true);
      await page.close();
    },
    PARITY_MS,
  );

  test.each([['cpu'], ['webgpu']] as const)('has the bits of Node on the conformance files, %s', async (backend) => {
    const page = await openPage();
    const asked: Asked[] = [];
    for (const name of CONFORMANCE_NAMES) {
      const { batches, cases } = readConformance(name);
      for (const { flags, results } of cases)
        for (const [batchName, batch] of Object.entries(batches)) {
          if (!(batchName in results) || !ON_GPU.includes(batchName)) continue;
          const options = { ...ruleOptionsFromText(flags, {}), promptGroupSizes: sizesOf(batch) };
          asked.push({ batch: batchOf(batch), options });
        }
    }
    const found = await page.evaluate(([all, how]) => rollnorm.normalizeAll(all, how), [asked, { backend }] as const);
    const expected = await Promise.all(asked.map(bitsOnNode));
    expect(asked.length).toBeGreaterThan(50);
    expect(found.map((outcome) => (typeof outcome === 'string' ? outcome : outcome.bits))).toEqual(expected);
    expect(new Set(found.map((outcome) => typeof outcome === 'object' && outcome.backend))).toEqual(new Set([backend]));
    await page.close();
  });

  test('computes in a worker too', async () => {
    const page = await openPage();
    const outcome = await page.evaluate(([asked, options]) => rollnorm.normalizeInWorker(asked, options), [
      SMALL,
      { backend: 'webgpu' },
    ] as const);
    expect(outcome).toMatchObject({ bits: await bitsOnNode(SMALL), backend: 'webgpu', adapter: 'swiftshader' });
    await page.close();
  });
});

const CRASHES: readonly [CrashPoint, number][] = [
  ['requestDevice', 1],
  ['createComputePipelineAsync', 1],
  ['createComputePipelineAsync', 5],
  ['mapAsync', 1],
  ['mapAsync', 2],
];
/** The first are our own; the others Chromium's, of an adapter whose process is gone. */
const WORDS_OF_A_LOSS = /the device was lost|google swiftshader: no device opens/;

describe('a GPU process that crashes', () => {
  test('between two calls: the next one has a new device', async () => {
    const page = await openPage();
    const expected = { bits: await bitsOnNode(SMALL), backend: 'webgpu' };
    expect(await normalizeIn(page, SMALL, { backend: 'webgpu' })).toMatchObject(expected);
    await crashGpuProcess();
    await page.waitForTimeout(SECONDS_TO_NOTICE * 1000);
    expect(await normalizeIn(page, SMALL, { backend: 'webgpu' })).toMatchObject(expected);
    await page.close();
  });

  test.each(CRASHES)(
    'during a call, at %s %i, under auto: the CPU has the bits, and the reason is told',
    async (...crash) => {
      const page = await openPage();
      const options: EngineOptions = { backend: 'auto', gpuMinRows: 1 };
      const bits = await bitsOnNode(SMALL);
      await page.evaluate((how) => rollnorm.crashAt(...how), crash);
      const outcome = await normalizeIn(page, SMALL, options, true);
      expect(outcome).toMatchObject({ bits, backend: 'cpu', reason: expect.stringMatching(WORDS_OF_A_LOSS) });
      expect((outcome as Outcome).warnings).toContain('backend');
      expect(await normalizeIn(page, SMALL, options, true)).toMatchObject({ bits, backend: 'webgpu' });
      await page.close();
    },
  );

  test.each(CRASHES)(
    'during a call, at %s %i, under webgpu: an error, and the next call has a device',
    async (...crash) => {
      const page = await openPage();
      await page.evaluate((how) => rollnorm.crashAt(...how), crash);
      expect(await normalizeIn(page, SMALL, { backend: 'webgpu' })).toMatch(WORDS_OF_A_LOSS);
      const expected = { bits: await bitsOnNode(SMALL), backend: 'webgpu' };
      expect(await normalizeIn(page, SMALL, { backend: 'webgpu' })).toMatchObject(expected);
      await page.close();
    },
  );
});

describe('a page without WebGPU', () => {
  test('computes on the CPU and says why; asked for the GPU, it refuses', async () => {
    const page = await openPage('http://insecure.example/');
    const bits = await bitsOnNode(SMALL);
    expect(await normalizeIn(page, SMALL, { backend: 'auto', gpuMinRows: 1 })).toMatchObject({
      bits,
      backend: 'cpu',
      reason: expect.stringContaining('not a secure context'),
      warnings: expect.arrayContaining(['backend']),
    });
    expect(await normalizeIn(page, SMALL, { backend: 'webgpu' })).toMatch(/^AdapterError: .*not a secure context/);
    await page.close();
  });
});

/** Software drivers are slow, and these reach every kernel. */
const ON_GPU: readonly string[] = ['sizes', 'two_rewards'];
/** All batches on a software driver; a busy machine of two cores took 110 s. */
const PARITY_MS = 600_000;
/** A browser is told of a dead GPU process within milliseconds. */
const SECONDS_TO_NOTICE = 1;
