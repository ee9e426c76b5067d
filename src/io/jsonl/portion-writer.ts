/** Writes one portion's lines, compressed if need be, to their place in an open file: where the portion before ends. */
import { writeSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { loadZstdEncoder, toZstdFrame } from '../codecs/zstd-encoder.ts';
import type { OpenFile } from '../output.ts';
import { fileError } from '../temporary-files.ts';
import type { LineBuffer } from './line-buffer.ts';
import { awaitPosition, giveUpPositions, type SharedPositions, tellPosition } from './output-positions.ts';

export interface PlaceInFile extends OpenFile {
  readonly positions: SharedPositions;
  /** Which of the positions is that of the portion. */
  readonly portion: number;
}

/** To be awaited before a writer is made. */
export async function preparePortionWriter({ compression }: OpenFile): Promise<void> {
  if (compression === 'zstd') await loadZstdEncoder();
}

export class PortionWriter {
  readonly #place: PlaceInFile;
  #position = -1;

  constructor(place: PlaceInFile) {
    this.#place = place;
  }

  /** Writes what was collected before all of the portion is there. */
  write(lines: LineBuffer): void {
    const stored = this.#stored(lines);
    const position = this.#ownPosition();
    this.#writeAt(stored, position);
    this.#position = position + stored.length;
    lines.clear();
  }

  /** The next portion may begin while the last lines of this one are still being written. */
  finish(lines: LineBuffer): void {
    const stored = lines.length > 0 ? this.#stored(lines) : NOTHING;
    const position = this.#ownPosition();
    tellPosition(this.#place.positions, this.#place.portion + 1, position + stored.length);
    this.#writeAt(stored, position);
  }

  giveUp(): void {
    giveUpPositions(this.#place.positions, this.#place.portion + 1);
  }

  /** Members and frames of their own, so that portions are compressed apart from one another. */
  #stored({ bytes }: LineBuffer): Uint8Array {
    const { compression } = this.#place;
    if (compression === 'none') return bytes;
    return compression === 'gzip' ? gzipSync(bytes) : toZstdFrame(bytes);
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

const NOTHING = new Uint8Array(0);
