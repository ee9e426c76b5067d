/** The SwiftShader Vulkan driver, for machines that have no adapter. */
import { constants } from 'node:os';
import { join } from 'node:path';
import { unpackFromChromium } from './packaged-chromium.ts';

const RTLD_NODELETE = 0x1000;

/** Folder that holds libvulkan.so.1, the SwiftShader library and its manifest. */
export function unpackSoftwareDriver(): string {
  return unpackFromChromium('rollnorm-swiftshader', ['swiftshader.tar.br']);
}

/** Environment that makes Dawn in a child process find the driver in `folder`. */
export function softwareDriverEnvironment(folder: string): Record<string, string> {
  return { LD_LIBRARY_PATH: folder, VK_DRIVER_FILES: join(folder, 'vk_swiftshader_icd.json') };
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
