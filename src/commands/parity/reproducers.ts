/** The files that a parity run leaves. */
import { openOutput } from '../../io/output.ts';
import type { ParityRun } from '../../parity/render.ts';
import { writeReproducer } from '../../parity/reproducer.ts';
import { packageVersion } from '../../version.ts';

/** One for every adapter that differs; the second and further have the adapter's number in their name. */
export async function writeReproducers({ adapters }: ParityRun, path: string): Promise<string[]> {
  const written: string[] = [];
  for (const [i, { reproducer }] of adapters.entries()) {
    if (!reproducer) continue;
    const own = written.length === 0 ? path : path.replace(/(\.[^./]*)?$/, (end) => `-${i + 1}${end}`);
    await writeWhole(own, writeReproducer(reproducer, packageVersion()));
    written.push(own);
  }
  return written;
}

/** @throws FileError; then there is no such file, or the one that was there */
export async function writeWhole(path: string, text: string): Promise<void> {
  const output = await openOutput(path, { compress: 'none' });
  try {
    await output.write(Buffer.from(text));
    await output.commit();
  } catch (error) {
    await output.abort();
    throw error;
  }
}
