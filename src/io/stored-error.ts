/** Errors as data, so that they keep their class, and with it the exit status, on the way between threads. */
import { FileError, InputError, UsageError } from '../errors.ts';
import { RecordError } from './jsonl/line-range.ts';
import { asFileError } from './temporary-files.ts';

export interface StoredError {
  readonly kind: 'record' | 'input' | 'file' | 'usage' | 'other';
  readonly message: string;
  readonly record: number;
  readonly stack: string | undefined;
}

export function storeError(error: unknown): StoredError {
  const known = asFileError(error);
  const { message, stack } = known instanceof Error ? known : new Error(String(known));
  const record = known instanceof RecordError ? known.record : 0;
  return { kind: kindOf(known), message, record, stack };
}

export function restoreError({ kind, message, record, stack }: StoredError): Error {
  if (kind === 'record') return new RecordError(record, message);
  if (kind === 'input') return new InputError(message);
  if (kind === 'file') return new FileError(message);
  if (kind === 'usage') return new UsageError(message);
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}

function kindOf(error: unknown): StoredError['kind'] {
  if (error instanceof RecordError) return 'record';
  if (error instanceof InputError) return 'input';
  if (error instanceof FileError) return 'file';
  return error instanceof UsageError ? 'usage' : 'other';
}
