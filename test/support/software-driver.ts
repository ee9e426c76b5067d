/** Unpacks the SwiftShader Vulkan driver that the development dependency @sparticuz/chromium carries. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

const TAR_BLOCK = 512;
const DRIVER_MANIFEST = 'vk_swiftshader_icd.json';
const RTLD_NODELETE = 0x1000;

/** Folder that holds libvulkan.so.1, the SwiftShader library and its manifest; unpacked on first use. */
export function unpackSoftwareDriver(): string {
  const require = createRequire(import.meta.url);
  const archive = join(dirname(require.resolve('@sparticuz/chromium')), '..', '..', 'bin', 'swiftshader.tar.br');
  const cache = join(archive, '..', '..', '..', '..', '.cache');
  const folder = join(cache, 'rollnorm-swiftshader');
  if (existsSync(join(folder, DRIVER_MANIFEST))) return folder;
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(join(cache, 'swiftshader-'));
  for (const { name, data } of readTar(brotliDecompressSync(readFileSync(archive)))) {
    writeFileSync(join(fresh, name), data, { mode: 0o755 });
  }
  try {
    renameSync(fresh, folder);
  } catch {
    rmSync(fresh, { recursive: true, force: true }); // another process was faster
  }
  return folder;
}

/** Environment that makes Dawn in a child process find the driver in `folder`. */
export function softwareDriverEnvironment(folder: string): Record<string, string> {
  return { LD_LIBRARY_PATH: folder, VK_DRIVER_FILES: join(folder, DRIVER_MANIFEST) };
}

/** Makes the driver reachable for this process and the children that it starts; call it before `webgpu` is imported. */
export function useSoftwareDriver(folder: string): void {
  Object.assign(process.env, softwareDriverEnvironment(folder));
  try {
    // The loader stays in the process although Node refuses it as an addon; Dawn then finds it by name.
    process.dlopen({ exports: {} }, join(folder, 'libvulkan.so.1'), constants.dlopen.RTLD_NOW | RTLD_NODELETE);
  } catch {
    // expected: libvulkan.so.1 is no Node addon
  }
}

function* readTar(tar: Buffer): Generator<{ name: string; data: Buffer }> {
  for (let at = 0; at + TAR_BLOCK <= tar.length && tar[at] !== 0; ) {
    const field = (from: number, length: number) =>
      tar
        .toString('latin1', at + from, at + from + length)
        .split('\0', 1)[0]
        .trim();
    const size = Number.parseInt(field(124, 12), 8);
    const isFile = field(156, 1) === '0' || field(156, 1) === '';
    const name = field(0, 100).split('/').pop() ?? '';
    if (isFile && name !== '') yield { name, data: tar.subarray(at + TAR_BLOCK, at + TAR_BLOCK + size) };
    at += TAR_BLOCK + Math.ceil(size / TAR_BLOCK) * TAR_BLOCK;
  }
}
