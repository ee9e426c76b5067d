/** Unpacks what the development dependency @sparticuz/chromium carries: a headless Chromium and a Vulkan driver. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

const TAR_BLOCK = 512;

interface UnpackedFile {
  readonly name: string;
  readonly data: Buffer;
}

/**
 * A folder with the files of some archives, unpacked on first use.
 * @param folderName of the folder among the caches of node_modules
 * @param archives files of the package's `bin`; a name that ends in .tar.br gives its members, another itself
 */
export function unpackFromChromium(folderName: string, archives: readonly string[]): string {
  const require = createRequire(import.meta.url);
  const packaged = join(dirname(require.resolve('@sparticuz/chromium')), '..', '..', 'bin');
  const cache = join(packaged, '..', '..', '..', '.cache');
  const folder = join(cache, folderName);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(join(cache, 'unpacking-'));
  for (const archive of archives) {
    const content = brotliDecompressSync(readFileSync(join(packaged, archive)));
    const isTar = archive.endsWith('.tar.br');
    const files = isTar ? readTar(content) : [{ name: archive.replace(/\.br$/, ''), data: content }];
    for (const { name, data } of files) writeFileSync(join(fresh, name), data, { mode: 0o755 });
  }
  try {
    renameSync(fresh, folder);
  } catch {
    rmSync(fresh, { recursive: true, force: true }); // another process was faster
  }
  return folder;
}

function* readTar(tar: Buffer): Generator<UnpackedFile> {
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
