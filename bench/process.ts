/** Time and peak memory of whole processes. */
import { spawnSync } from 'node:child_process';

const RUNS = 3;

export interface Measured {
  readonly seconds: number;
  /** Of all threads, in user and system mode: what other work on the machine changes least. */
  readonly cpuSeconds: number;
  readonly megabytes: number;
}

/** The median of some runs of a Node script. */
export function measureScript(script: string, args: readonly string[]): Measured {
  const runs = Array.from({ length: RUNS }, () => runScript(script, args));
  runs.sort((a, b) => a.seconds - b.seconds);
  return runs[RUNS >> 1];
}

/** One run; memory is the peak of the process, as it tells it itself. */
export function runScript(script: string, args: readonly string[]): Measured {
  const started = performance.now();
  const usage = 'const{maxRSS,userCPUTime:u,systemCPUTime:s}=process.resourceUsage()';
  const reporter = `process.on('exit',()=>{${usage};require('node:fs').writeSync(3,JSON.stringify([maxRSS,u+s]))})`;
  const child = spawnSync(
    process.execPath,
    [
      '--import',
      `data:text/javascript,import{createRequire}from'node:module';const require=createRequire('/');${reporter}`,
      script,
      ...args,
    ],
    {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    },
  );
  if (child.status !== 0) throw new Error(String(child.stderr));
  const seconds = (performance.now() - started) / 1000;
  const [kilobytes, microseconds]: [number, number] = JSON.parse(String(child.output[3]));
  return { seconds, cpuSeconds: microseconds / 1e6, megabytes: kilobytes / 1024 };
}
