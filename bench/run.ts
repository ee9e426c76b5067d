/** `npm run bench`: the questions of this folder, one after the other. */
import { Command, Option } from 'commander';
import { parsePositive } from '../src/commands/options.ts';
import { listAdapterNames } from '../src/kernels/webgpu/adapters.ts';
import { GpuSession } from '../src/kernels/webgpu/session.ts';
import { estimatorTimes } from './estimators.ts';
import { describe, type Measurement, measure, type Plan, type Subject } from './harness.ts';
import { jsonl } from './jsonl.ts';
import { kernelTimes } from './kernels.ts';
import { stages } from './stages.ts';
import { crossoverRows, startup } from './startup.ts';

const QUESTIONS = ['stages', 'estimators', 'kernels', 'startup', 'jsonl'] as const;
const TIMEOUT_MS = 600_000;

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

interface OpenAdapter {
  readonly name: string | undefined;
  readonly session: GpuSession;
}

/** Every adapter there is, or the one that was asked for. */
async function openAdapters(): Promise<OpenAdapter[]> {
  if (plan.noGpu) return [];
  const opened: OpenAdapter[] = [];
  try {
    const listed = plan.adapter === undefined ? await listAdapterNames() : [];
    for (const name of listed.length > 0 ? listed : [plan.adapter]) {
      opened.push({ name, session: await GpuSession.open({ adapter: name, timeoutMs: TIMEOUT_MS }) });
    }
  } catch (error) {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n`);
  }
  return opened;
}

const wants = (question: (typeof QUESTIONS)[number]) => flags.only === undefined || flags.only === question;
const opened = await openAdapters();
const sessions = opened.map(({ session }) => session);
for (const { adapter } of sessions) {
  if (!adapter.software) continue;
  process.stderr.write(`bench: ${adapter.description} is a SOFTWARE adapter; its times say nothing about a GPU\n`);
}
if (wants('stages')) await reportAll(stages(plan, sessions));
if (wants('estimators')) for await (const measurement of estimatorTimes(plan)) report(measurement);
for (const { name, session } of opened) {
  if (wants('kernels')) for (const measurement of await kernelTimes(plan, session)) report(measurement);
  if (!wants('startup')) continue;
  await reportAll(startup(session, name));
  report(await crossoverRows(session));
}
if (wants('jsonl')) await reportAll(jsonl());
for (const session of sessions) session.close();
if (flags.json) {
  const adapters = sessions.map(({ adapter }) => adapter);
  const host = { node: process.version, platform: `${process.platform}-${process.arch}` };
  process.stdout.write(`${JSON.stringify({ ...host, adapters, measurements }, null, 2)}\n`);
}
