/** Outputs of a run as they appear: each equal to the first of its kind, and then removed. */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, parse } from 'node:path';

/** Where comparing is too slow for what is written, the run ends before memory does. */
const MOST_WAITING_BYTES = 3e9;
const NUMBER = /^\d+-/;

export class Outputs {
  readonly #inputs: string;
  readonly #folder: string;
  readonly #firsts: Map<string, Buffer>;
  readonly #seen = new Set<string>();

  /** @param firsts by the names of recordings; those of which there is none yet are added */
  constructor(inputs: string, folder: string, firsts: Map<string, Buffer>) {
    this.#inputs = inputs;
    this.#folder = folder;
    this.#firsts = firsts;
  }

  /** @throws Error where one differs */
  check(): void {
    const names = readdirSync(this.#folder);
    const sizes = names.map((name) => statSync(join(this.#folder, name), { throwIfNoEntry: false })?.size ?? 0);
    const waiting = sizes.reduce((sum, size) => sum + size, 0);
    if (waiting > MOST_WAITING_BYTES) throw new Error(`${waiting} bytes of outputs wait to be compared`);
    for (const name of names) {
      const [number] = NUMBER.exec(name) ?? [];
      if (number === undefined) continue; // a temporary file
      const kind = name.slice(number.length);
      const content = contentOf(join(this.#folder, name), join(this.#inputs, number));
      const first = this.#firsts.get(kind);
      if (first === undefined) this.#firsts.set(kind, content);
      else if (!first.equals(content)) throw new Error(`${name} differs from the first ${kind}`);
      rmSync(join(this.#folder, name));
      this.#seen.add(parse(name).name);
    }
  }

  /** @throws Error where one of these inputs has no output, or something else is left */
  requireAll(inputs: Iterable<string>): void {
    this.check();
    const missing = [...inputs].filter((name) => !this.#seen.has(parse(name).name));
    if (missing.length > 0) throw new Error(`the outputs of ${missing.join(', ')} are missing`);
    const left = readdirSync(this.#folder);
    if (left.length > 0) throw new Error(`files are left: ${left.join(', ')}`);
  }
}

/** A torch dump has no rows of its own to be written, and those that are name their file. */
function contentOf(path: string, prefix: string): Buffer {
  const content = readFileSync(path);
  if (!path.endsWith('-dump.jsonl')) return content;
  return Buffer.from(content.toString('latin1').replaceAll(prefix, ''), 'latin1');
}
