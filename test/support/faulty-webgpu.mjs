/**
 * For `node --import`: puts a package in the place of `webgpu` whose adapter says that it is hardware and whose device fails
 * as ROLLNORM_TEST_FAULT says, in JSON: at which call (`point`, `at`, from 1; 0: at every one), and how (`kind`).
 */
import { register } from 'node:module';

const ownUrl = new URL('./faulty-webgpu-package.mjs', import.meta.url).href;
const hook = `export const resolve = (specifier, context, next) =>
  specifier === 'webgpu' && context.parentURL !== ${JSON.stringify(ownUrl)}
    ? { url: ${JSON.stringify(ownUrl)}, shortCircuit: true }
    : next(specifier, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
