/** Writes conformance/*.json and docs/dialects.md. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dialectPage } from './conformance/dialect-page.ts';
import { conformanceFiles } from './conformance/files.ts';

const root = new URL('../../', import.meta.url); // this script runs from dist/scripts/

mkdirSync(new URL('conformance/', root), { recursive: true });
for (const [name, text] of conformanceFiles()) writeFileSync(new URL(`conformance/${name}`, root), text);
writeFileSync(new URL('docs/dialects.md', root), await dialectPage());
