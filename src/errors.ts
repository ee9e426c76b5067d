/** One error class per kind of exit; the message names place, field, what was expected and what was found. */

/** Base of every error that rollnorm raises on purpose. `exitStatus` is the command line's status for it. */
export abstract class RollnormError extends Error {
  abstract readonly exitStatus: number;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Impossible options or combinations of options. */
export class UsageError extends RollnormError {
  readonly exitStatus = 2;
}

/** Input that breaks the rules of a batch: names file, line or row, field, expected, found. */
export class InputError extends RollnormError {
  readonly exitStatus = 3;
}

/** The backend or adapter that was demanded is not there. */
export class AdapterError extends RollnormError {
  readonly exitStatus = 4;
}

/** The GPU failed while it was demanded, or the program broke its own rules. */
export class BackendError extends RollnormError {
  readonly exitStatus = 70;
}

/** A read or a write failed. */
export class FileError extends RollnormError {
  readonly exitStatus = 74;
}

/** A value of whatever type, as messages spell it. */
export function spelled(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  return Array.isArray(value) ? `[${value.map(spelled).join()}]` : String(value);
}
