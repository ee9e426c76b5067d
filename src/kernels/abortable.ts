/** An executor that begins no further kernel once a signal says so. */
import type { Executor, Workspace } from './executor.ts';

/** The reason of the signal is thrown where the next kernel would begin; what the device has already been given it finishes. */
export function abortable(executor: Executor, signal: AbortSignal | undefined): Executor {
  if (!signal) return executor;
  return { ...executor, workspace: (arrayBytes) => watched(executor.workspace(arrayBytes), signal) };
}

function watched(workspace: Workspace, signal: AbortSignal): Workspace {
  return {
    input: (type, host) => workspace.input(type, host),
    output: (type, length) => workspace.output(type, length),
    async run(kernel, parameters, itemCount, arrays, bases) {
      signal.throwIfAborted();
      await workspace.run(kernel, parameters, itemCount, arrays, bases);
    },
    async read(array) {
      const host = await workspace.read(array);
      signal.throwIfAborted();
      return host;
    },
    release: (...arrays) => workspace.release(...arrays),
    close: () => workspace.close(),
  };
}
