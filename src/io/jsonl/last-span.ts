/** Remembers the bytes of the last value of a column: most columns repeat it, and then nothing need be parsed. */

const LONGEST_REMEMBERED = 256;

export class LastSpan {
  readonly #bytes = new Uint8Array(LONGEST_REMEMBERED);
  #length = -1;

  equals(bytes: Uint8Array, start: number, end: number): boolean {
    if (end - start !== this.#length) return false;
    for (let i = 0; i < this.#length; i++) if (bytes[start + i] !== this.#bytes[i]) return false;
    return true;
  }

  remember(bytes: Uint8Array, start: number, end: number): void {
    this.#length = end - start <= LONGEST_REMEMBERED ? end - start : -1;
    for (let i = 0; i < this.#length; i++) this.#bytes[i] = bytes[start + i];
  }
}
