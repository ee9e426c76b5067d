/** Runs a task without root's rights, so that tests of permissions hold for whoever runs them. */

/** The user without rights on Debian. */
const NOBODY = 65_534;

export async function asNobody<T>(task: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return task();
  process.seteuid?.(NOBODY);
  try {
    return await task();
  } finally {
    process.seteuid?.(0);
  }
}
