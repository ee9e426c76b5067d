/** Temporary files: created exclusively, remembered while they exist, removable at once by a signal handler. */
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { getSystemErrorMap } from 'node:util';
import { FileError } from '../errors.ts';

const existing = new Set<string>();

/** Creates a file that must not exist yet. It is remembered until it is removed or forgotten. */
export async function createTemporaryFile(path: string, mode: number): Promise<FileHandle> {
  existing.add(path);
  try {
    // At once: while it is created elsewhere, a signal handler would look for it too early, and it would be left behind.
    closeSync(openSync(path, 'wx', mode));
  } catch (cause) {
    existing.delete(path);
    throw cause;
  }
  return open(path, 'r+').catch(async (cause) => {
    await removeTemporaryFile(path);
    throw cause;
  });
}

/** Removes a temporary file; one that is gone already is no error. */
export async function removeTemporaryFile(path: string): Promise<void> {
  await unlink(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw cause;
  });
  existing.delete(path);
}

/** Stops tracking a file that has become permanent under another name. */
export function forgetTemporaryFile(path: string): void {
  existing.delete(path);
}

/** Removes every temporary file there is, synchronously and without complaint: for signal handlers. */
export function removeTemporaryFiles(): void {
  for (const path of existing) {
    try {
      unlinkSync(path);
    } catch {
      // The program is ending; there is nobody left to tell.
    }
  }
  existing.clear();
}

/** Writes to an open file, synchronously and where the last write ended. */
export function writerTo(descriptor: number, name: string): (bytes: Uint8Array) => void {
  return (bytes) => {
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done, bytes.length - done);
    } catch (cause) {
      throw fileError(name, 'cannot write', cause);
    }
  };
}

/** The error of a failed system call on a file: its name, what was tried, and the reason in words. */
export function fileError(name: string, attempt: string, cause: unknown): FileError {
  if (cause instanceof FileError) return cause;
  const { errno, message } = cause as NodeJS.ErrnoException;
  const reason = errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1];
  return new FileError(`${name}: ${attempt}: ${reason ?? message}`, { cause });
}

/** A failed system call that nobody has put into words says itself what was tried, and on what; other errors stay. */
export function asFileError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof FileError) return error;
  const { errno, syscall, path } = error as NodeJS.ErrnoException;
  if (typeof errno !== 'number' || syscall === undefined) return error;
  return path === undefined
    ? new FileError(error.message, { cause: error })
    : fileError(path, `cannot ${syscall}`, error);
}
