/** A stored file read at positions, synchronously: containers with an index are read in pieces and out of order. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { FileError } from '../errors.ts';
import { fileError } from './temporary-files.ts';

export interface RandomAccessFile {
  /** The name for messages. */
  readonly name: string;
  readonly byteLength: number;
  /** Differs from that of any other file, and of this one when it has been written to. */
  readonly identity?: string;
  /** Fills `target` with the bytes from `position` on. @throws FileError where the file ends before that */
  readInto(target: Uint8Array, position: number): void;
  close(): void;
}

/** @param name what messages call the file, where that is not its path */
export function openRandomAccess(path: string, name: string = path): RandomAccessFile {
  const descriptor = attempt(name, 'cannot open', () => openSync(path, 'r'));
  const { dev, ino, size, mtimeNs } = fstatSync(descriptor, { bigint: true });
  const byteLength = Number(size);
  return {
    name,
    byteLength,
    identity: `${dev} ${ino} ${size} ${mtimeNs}`,
    readInto(target, position) {
      for (let done = 0; done < target.length; ) {
        const read = attempt(name, 'cannot read', () =>
          readSync(descriptor, target, done, target.length - done, position + done),
        );
        if (read === 0) throw new FileError(`${name}: shrank while it was read: ends after ${position + done} bytes`);
        done += read;
      }
    },
    close: () => closeSync(descriptor),
  };
}

function attempt<T>(name: string, what: string, call: () => T): T {
  try {
    return call();
  } catch (cause) {
    throw fileError(name, what, cause);
  }
}
