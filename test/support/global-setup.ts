/** Gives every test run an adapter: the machine's own where Dawn finds one, else the software driver from npm. */
import { spawnSync } from 'node:child_process';
import { unpackSoftwareDriver, useSoftwareDriver } from './software-driver.ts';

const PROBE = `
  import { create, globals } from 'webgpu';
  Object.assign(globalThis, globals);
  const gpu = create([]);
  const adapter = await gpu.requestAdapter();
  if (!adapter) process.exitCode = 1;
  else console.log(JSON.stringify({ vendor: adapter.info.vendor, description: adapter.info.description }));
  globalThis.keep = gpu;
`;

/**
 * ROLLNORM_TEST_DRIVER: `swiftshader` takes the driver from npm whatever the machine has; any other text must be part of
 * the adapter's description; without it, what the machine has is taken.
 */
export default function setup(): void {
  const wanted = process.env.ROLLNORM_TEST_DRIVER ?? '';
  let adapter = wanted === 'swiftshader' ? undefined : probe();
  if (adapter === undefined) {
    useSoftwareDriver(unpackSoftwareDriver());
    adapter = probe();
  }
  if (adapter === undefined) {
    throw new Error('no WebGPU adapter, not even the software driver: the GPU tests cannot run');
  }
  if (!adapter.toLowerCase().includes(wanted.toLowerCase())) {
    throw new Error(`the GPU tests are to run on ${wanted}, but the adapter is ${adapter}`);
  }
  console.log(`GPU tests run on ${adapter}`);
}

function probe(): string | undefined {
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', PROBE], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  return child.status === 0 ? child.stdout.trim() : undefined;
}
