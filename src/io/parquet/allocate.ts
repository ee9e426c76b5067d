/** Allocation of what is proportional to rows. */
import { InputError } from '../../errors.ts';

/** @throws InputError where there is not that much memory */
export function allocate<T>(length: number, make: (length: number) => T): T {
  try {
    return make(length);
  } catch (cause) {
    if (cause instanceof RangeError)
      throw new InputError(`a row group of ${length} rows does not fit into memory`, { cause });
    throw cause;
  }
}
