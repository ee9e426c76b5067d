/** Errors as messages and exit statuses. */
import { RollnormError } from '../errors.ts';
import { asFileError } from '../io/temporary-files.ts';
import { printable } from './printable.ts';

const INTERNAL = 70;

export interface DescribedError {
  /** For stderr. */
  readonly text: string;
  /** For the summary. */
  readonly message: string;
}

export function describeError(error: unknown): DescribedError {
  const known = asFileError(error);
  if (known instanceof RollnormError)
    return { text: `rollnorm: ${printable(known.message)}\n`, message: known.message };
  const stack = known instanceof Error ? (known.stack ?? known.message) : String(known);
  const message = `internal error, please report it: ${known instanceof Error ? known.message : stack}`;
  return { text: `rollnorm: internal error, please report it: ${stack}\n`, message };
}

export function exitStatusOf(error: unknown): number {
  const known = asFileError(error);
  return known instanceof RollnormError ? known.exitStatus : INTERNAL;
}
