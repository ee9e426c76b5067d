/** Computes what it is sent, once. */
import { normalize } from './page.ts';

globalThis.onmessage = async ({ data: { asked, options } }: MessageEvent) => {
  globalThis.postMessage(await normalize(asked, options));
};
