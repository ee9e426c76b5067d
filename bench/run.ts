/** `npm run bench`: the questions of this folder, one after the other. */
import { Command, Option } from 'commander';
import { parsePositive } from '../src/commands/options.ts';
import { GpuSession } from '../src/kernels/webgpu/session.ts';
import { describe, type Measurement, measure, type Plan, type Subject } from './harness.ts';
import { jsonl } from './jsonl.ts';
import { kernelTimes } from './kernels.ts';
import { stages } from './stages.ts';
import { crossoverRows, startup } from './startup.ts';

const QUESTIONS = ['stages', 'kernels', 'startup', 'jsonl'] as const;
/** A software adapter takes minutes for what a GPU does in seconds. */
const MOST_ROWS_IN_SOFTWARE = 1e6;

const program = new Command('bench')
  .addOption(new Option('--only <question>', 'one question').choices(QUESTIONS))
  .option('--rows <n...>', 'rows of the batches', (text, all: number[] = []) => [...all, parsePositive(text)])
  .option('--adapter <text>', "part of an adapter's name")
  .option('--no-gpu', 'the CPU alone')
  .option('--json', 'print JSON')
  .parse();

const flags = program.opts<{
  only?: (typeof QUESTIONS)[number];
  rows?: number[];
  adapter?: string;
  gpu: boolean;
  json?: true;
}>();
const plan: Plan = { rows: flags.rows ?? [1e5, 1e6, 1e7], adapter: flags.adapter, noGpu: !flags.gpu };
const measurements: Measurement[] = [];

function report(measurement: Measurement): void {
  measurements.push(measurement);
  if (!flags.json) process.stdout.write(`${describe(measurement)}\n`);
}

async function reportAll(subjects: AsyncIterable<Subject>): Promise<void> {
  for await (const subject of subjects) report(await measure(subject));
}

async function openSession(): Promise<GpuSession | null> {
  if (plan.noGpu) return null;
  try {
    return await GpuSession.open({ adapter: plan.adapter, timeoutMs: 600_000 });
  } catch (error) {
    process.stderr.write(`bench: no GPU: ${error instanceof Error ? error.message : error}\n`);
    return null;
  }
}

const wants = (question: (typeof QUESTIONS)[number]) => flags.only === undefined || flags.only === question;
const session = await openSession();
if (session?.adapter.software)
  process.stderr.write(
    `bench: ${session.adapter.description} is a SOFTWARE adapter; its times say nothing about a GPU\n`,
  );
const gpuPlan = session?.adapter.software
  ? { ...plan, rows: plan.rows.filter((rows) => rows <= MOST_ROWS_IN_SOFTWARE) }
  : plan;
if (wants('stages')) {
  await reportAll(stages(gpuPlan, session));
  if (gpuPlan !== plan)
    await reportAll(stages({ ...plan, rows: plan.rows.filter((rows) => rows > MOST_ROWS_IN_SOFTWARE) }, null));
}
if (session && wants('kernels')) for (const measurement of await kernelTimes(gpuPlan, session)) report(measurement);
if (session && wants('startup')) {
  await reportAll(startup(plan, session));
  report(await crossoverRows(session));
}
if (wants('jsonl')) await reportAll(jsonl());
session?.close();
if (flags.json) {
  const adapter = session?.adapter ?? null;
  process.stdout.write(
    `${JSON.stringify({ node: process.version, platform: `${process.platform}-${process.arch}`, adapter, measurements }, null, 2)}\n`,
  );
}
