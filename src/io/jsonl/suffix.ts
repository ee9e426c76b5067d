/** The two members that every line gets, `"raw_reward": 1, "advantage": -0.5`, as bytes. */
import { LineBuffer } from './line-buffer.ts';

/** The shortest decimal that parses as binary64 to exactly `x`; null for what JSON has no number for. */
export function spellNumber(x: number): string {
  if (!Number.isFinite(x)) return 'null';
  // Without an exponent a parser may take a large number for an exact integer, which it is not.
  if (Number.isInteger(x) && !Number.isSafeInteger(x)) return x.toExponential();
  return Object.is(x, -0) ? '-0' : String(x);
}

/** Spells the members of line after line; the names are the same for all. */
export class Suffix {
  readonly text = new LineBuffer(256);
  readonly #prefixes: readonly Uint8Array[];
  readonly #numbers: readonly SpelledNumbers[];

  constructor(names: readonly string[]) {
    this.#prefixes = names.map((name, i) => Buffer.from(`${i > 0 ? ', ' : ''}${JSON.stringify(name)}: `));
    this.#numbers = names.map(() => new SpelledNumbers());
  }

  /** Makes `text` that of a line with these values. */
  spell(first: number, second: number): void {
    const { text } = this;
    text.clear();
    text.append(this.#prefixes[0], 0, this.#prefixes[0].length);
    text.appendText(this.#numbers[0].spell(first));
    text.append(this.#prefixes[1], 0, this.#prefixes[1].length);
    text.appendText(this.#numbers[1].spell(second));
  }
}

const REMEMBERED = 1 << 12;

/** Numbers spelled lately: rewards are few different ones, and the rows of a rollout share their advantage. */
export class SpelledNumbers {
  readonly #number = new Float64Array(1);
  readonly #words = new Uint32Array(this.#number.buffer);
  readonly #known = new Float64Array(REMEMBERED).fill(Number.NaN);
  readonly #texts: string[] = new Array(REMEMBERED).fill('');

  spell(x: number): string {
    // Zero is left out because -0 is equal to it.
    if (x === 0) return spellNumber(x);
    this.#number[0] = x;
    const slot = (Math.imul(this.#words[0] ^ Math.imul(this.#words[1], 0x9e3779b1), 0x85ebca6b) >>> 20) % REMEMBERED;
    if (this.#known[slot] === x) return this.#texts[slot];
    this.#known[slot] = x;
    this.#texts[slot] = spellNumber(x);
    return this.#texts[slot];
  }
}
