/** Waits for something that may never come. */
import { BackendError } from '../../errors.ts';

/**
 * @param onLate called before the wait ends, when the time is over
 * @throws BackendError when the time is over; what the promise rejects with otherwise
 */
export async function withinTime<T>(
  promise: Promise<T>,
  timeoutMs: number,
  what: string,
  onLate?: (reason: string) => void,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const reason = `the GPU did not answer within ${timeoutMs / 1000} s (${what})`;
      onLate?.(reason);
      reject(new BackendError(reason));
    }, timeoutMs);
  });
  promise.catch(() => {}); // it may reject after the race is over
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
