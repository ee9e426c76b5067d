/** What a running process holds, as Linux tells it. */
import { readdirSync, readFileSync } from 'node:fs';

export interface Sample {
  /** Since the start. */
  readonly seconds: number;
  /** Resident memory, in MiB. */
  readonly megabytes: number;
  readonly handles: number;
  readonly threads: number;
}

/** Null once the process is gone. */
export function sampleProcess(pid: number, seconds: number): Sample | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const resident = numberAfter(status, 'VmRSS');
    if (resident === null) return null; // it has ended and waits to be reaped
    const handles = readdirSync(`/proc/${pid}/fd`).length;
    return { seconds, megabytes: resident / 1024, handles, threads: numberAfter(status, 'Threads') ?? 0 };
  } catch {
    return null;
  }
}

function numberAfter(status: string, name: string): number | null {
  const found = new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(status);
  return found ? Number(found[1]) : null;
}
