/** A position in a stream of chunks. */
import { InputError } from '../../errors.ts';

export class ChunkCursor {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array(0);
  #position = 0;

  constructor(chunks: AsyncIterator<Uint8Array>) {
    this.#chunks = chunks;
  }

  /** Makes sure that there is a byte to read; false at the end. */
  async fill(): Promise<boolean> {
    while (this.#position === this.#chunk.length) {
      const next = await this.#chunks.next();
      if (next.done) return false;
      this.#chunk = next.value;
      this.#position = 0;
    }
    return true;
  }

  rest(): Uint8Array {
    return this.#chunk.subarray(this.#position);
  }

  advance(byteLength: number): void {
    this.#position += byteLength;
  }

  async byte(place: string): Promise<number> {
    if (this.#position === this.#chunk.length && !(await this.fill())) throw cutOff(place);
    return this.#chunk[this.#position++];
  }

  async uint32(place: string): Promise<number> {
    let value = 0;
    for (let shift = 0; shift < 32; shift += 8) value |= (await this.byte(place)) << shift;
    return value >>> 0;
  }

  /** So many bytes, valid until the next call. */
  async take(byteLength: number, place: string): Promise<Uint8Array> {
    if (this.#chunk.length - this.#position >= byteLength) {
      this.#position += byteLength;
      return this.#chunk.subarray(this.#position - byteLength, this.#position);
    }
    const bytes = new Uint8Array(byteLength);
    for (let done = 0; done < byteLength; ) {
      if (!(await this.fill())) throw cutOff(place);
      const piece = this.rest().subarray(0, byteLength - done);
      bytes.set(piece, done);
      done += piece.length;
      this.advance(piece.length);
    }
    return bytes;
  }

  async skip(byteLength: number, place: string): Promise<void> {
    for (let left = byteLength; left > 0; ) {
      if (!(await this.fill())) throw cutOff(place);
      const step = Math.min(left, this.rest().length);
      this.advance(step);
      left -= step;
    }
  }
}

export function cutOff(place: string): InputError {
  return new InputError(`${place}: is cut off: the file ends inside it`);
}
