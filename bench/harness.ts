/** Warms up, repeats, and reports median and spread; one line a measurement, or JSON. */
import { Bench } from 'tinybench';

export interface Measurement {
  readonly question: string;
  readonly name: string;
  /** Seconds of one run. */
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly samples: number;
  readonly rows?: number;
  /** Bytes that the run must read and write at least. */
  readonly bytes?: number;
  /** Time of a copy kernel with the same traffic, divided by the median. */
  readonly fractionOfCopy?: number;
  /** Where it ran; a software adapter says so. */
  readonly place?: string;
  readonly note?: string;
}

export interface Subject {
  readonly question: string;
  readonly name: string;
  readonly run: () => unknown;
  readonly rows?: number;
  readonly bytes?: number;
  readonly place?: string;
  readonly note?: string;
  /** Default 5, after one that is not counted. */
  readonly repeats?: number;
}

/** What a run of the benchmark was asked for. */
export interface Plan {
  readonly rows: readonly number[];
  readonly adapter: string | undefined;
  readonly noGpu: boolean;
}

const DEFAULT_REPEATS = 5;

export async function measure({ run, repeats = DEFAULT_REPEATS, ...subject }: Subject): Promise<Measurement> {
  const bench = new Bench({ time: 0, iterations: repeats, warmupTime: 0, warmupIterations: 1, throws: true });
  bench.add(subject.name, async () => {
    await run();
  });
  await bench.run();
  const result = bench.tasks[0].result;
  if (!('latency' in result)) throw new Error(`${subject.name}: no result (${result.state})`);
  const { p50, min, max, samplesCount } = result.latency;
  return { ...subject, median: p50 / 1000, min: min / 1000, max: max / 1000, samples: samplesCount };
}

export function describe(m: Measurement): string {
  const milliseconds = (seconds: number) => (seconds * 1000).toPrecision(3);
  const parts = [`${milliseconds(m.median)} ms (${milliseconds(m.min)} to ${milliseconds(m.max)}, ${m.samples} runs)`];
  if (m.rows !== undefined) parts.push(`${(m.rows / m.median / 1e6).toPrecision(3)} M rows/s`);
  if (m.bytes !== undefined) parts.push(`${(m.bytes / m.median / 1e9).toPrecision(3)} GB/s`);
  if (m.fractionOfCopy !== undefined) parts.push(`${(m.fractionOfCopy * 100).toPrecision(2)} % of a copy`);
  if (m.place) parts.push(m.place);
  if (m.note) parts.push(m.note);
  return `${m.question.padEnd(9)} ${m.name.padEnd(44)} ${parts.join(', ')}`;
}
