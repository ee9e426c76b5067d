/** The version of the package, read where the command line needs it. */
import { readFileSync } from 'node:fs';

export function packageVersion(): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'));
      if (name === 'rollnorm') return version;
    } catch {
      // not in this folder
    }
    if (folder.pathname === '/' || folder.href === new URL('..', folder).href) return 'unknown';
  }
}
