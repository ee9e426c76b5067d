/** Headless Chromium with WebGPU on its own software driver. */
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { unpackFromChromium } from '../support/packaged-chromium.ts';

/** WebGPU on the driver that Chromium brings, and nothing fetched from anywhere. */
const SOFTWARE_GPU = [
  '--no-sandbox',
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
  '--enable-features=Vulkan',
  '--use-vulkan=swiftshader',
  '--use-angle=swiftshader',
  '--ignore-gpu-blocklist',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** After some crashes Chromium would give a page no GPU any more. */
const AS_MANY_CRASHES_AS_ONE_LIKES = ['--disable-gpu-process-crash-limit', '--disable-domain-blocking-for-3d-apis'];

/** ROLLNORM_TEST_CHROMIUM: the executable to take instead of the one from npm. */
export async function openChromium(): Promise<Browser> {
  // What points Dawn under Node to its driver would lead Chromium astray.
  const { ROLLNORM_TEST_CHROMIUM: own, LD_LIBRARY_PATH: _libraries, VK_DRIVER_FILES: _drivers, ...env } = process.env;
  const args = [...SOFTWARE_GPU, ...AS_MANY_CRASHES_AS_ONE_LIKES];
  if (own) return chromium.launch({ executablePath: own, args, env: defined(env) });
  const folder = unpackFromChromium('rollnorm-chromium', ['chromium.br', 'swiftshader.tar.br', 'al2023.tar.br']);
  return chromium.launch({
    executablePath: join(folder, 'chromium'),
    args,
    env: { ...defined(env), LD_LIBRARY_PATH: folder },
  });
}

function defined(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
