/** Writes one portion's lines to their place in an open file, which is where the portion before it ends. */
import { writeSync } from 'node:fs';
import { fileError } from '../temporary-files.ts';
import type { LineBuffer } from './line-buffer.ts';
import { awaitPosition, giveUpPositions, type SharedPositions, tellPosition } from './output-positions.ts';

export interface PlaceInFile {
  readonly descriptor: number;
  /** What messages call the file. */
  readonly name: string;
  readonly positions: SharedPositions;
  /** Which of the positions is that of the portion. */
  readonly portion: number;
}

export class PortionWriter {
  readonly #place: PlaceInFile;
  #position = -1;

  constructor(place: PlaceInFile) {
    this.#place = place;
  }

  /** Writes what was collected before all of the portion is there. */
  write(lines: LineBuffer): void {
    const position = this.#ownPosition();
    this.#writeAt(lines.bytes, position);
    this.#position = position + lines.length;
    lines.clear();
  }

  /** The next portion may begin while the last lines of this one are still being written. */
  finish(lines: LineBuffer): void {
    const position = this.#ownPosition();
    tellPosition(this.#place.positions, this.#place.portion + 1, position + lines.length);
    this.#writeAt(lines.bytes, position);
  }

  giveUp(): void {
    giveUpPositions(this.#place.positions, this.#place.portion + 1);
  }

  #ownPosition(): number {
    if (this.#position < 0) this.#position = awaitPosition(this.#place.positions, this.#place.portion);
    return this.#position;
  }

  #writeAt(bytes: Uint8Array, position: number): void {
    const { descriptor, name } = this.#place;
    try {
      for (let done = 0; done < bytes.length; )
        done += writeSync(descriptor, bytes, done, bytes.length - done, position + done);
    } catch (cause) {
      throw fileError(name, 'cannot write', cause);
    }
  }
}
