/** The library as a bundler puts it into a page. */
import { fileURLToPath } from 'node:url';
import { build, type Rolldown } from 'vite';

export interface Bundle {
  /** The text of each file by its name. */
  readonly files: ReadonlyMap<string, string>;
  /** Modules that the bundle has in it. */
  readonly modules: readonly string[];
  /** What it would ask the page for beside its own files. */
  readonly imports: readonly string[];
  readonly warnings: readonly string[];
}

/** @param entries files of this folder by the name of what comes of them */
export async function bundleForBrowser(entries: Readonly<Record<string, string>>): Promise<Bundle> {
  const warnings: string[] = [];
  const input = Object.entries(entries).map(([name, file]) => [name, fileURLToPath(new URL(file, import.meta.url))]);
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      minify: false,
      lib: { entry: Object.fromEntries(input), formats: ['es'] },
      rolldownOptions: { onwarn: ({ message }) => warnings.push(message) },
    },
  });
  const outputs = (Array.isArray(built) ? built : [built]) as Rolldown.RolldownOutput[];
  const chunks = outputs.flatMap(({ output }) => output).filter((file) => file.type === 'chunk');
  const names = new Set(chunks.map(({ fileName }) => fileName));
  return {
    files: new Map(chunks.map(({ fileName, code }) => [fileName, code])),
    modules: chunks.flatMap(({ modules }) => Object.keys(modules)),
    imports: chunks
      .flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])
      .filter((name) => !names.has(name)),
    warnings,
  };
}
