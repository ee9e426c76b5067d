/** One process over a folder of recordings for as long as is asked: what it holds as it goes, and every output compared. Linux only. */
import { type ChildProcess, spawn } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Outputs } from './directory/outputs.ts';
import { plot } from './directory/plot.ts';
import { makeRecordings } from './directory/recordings.ts';
import { HEAD, type Run, tableRow } from './directory/table.ts';
import { type Sample, sampleProcess } from './directory/watch.ts';
import { memoryFolder } from './place.ts';

const CLI = fileURLToPath(new URL('../src/main.js', import.meta.url));
const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    backend: { type: 'string', default: 'cpu' },
    plot: { type: 'string' },
    samples: { type: 'string' },
  },
});
const MINUTES = Number(flags.minutes);
if (!(MINUTES > 0)) throw new Error('--minutes takes a number above 0');

/** Rounds of all recordings from which follows how many there must be, with some to spare where the machine gets faster. */
const TRIAL_ROUNDS = 2;
const SPARE = 3;
const CHECK_MS = 300;
const SAMPLE_SECONDS = 5;
const STOPPED = 143;
const DIGITS = 6;
/** What the process says when nothing is wrong: Dawn's and its own warnings, files that are done, and the end. */
const EXPECTED = /^Warning: |^rollnorm: (?:warning: |\d+ (?:batches|of \d+ files) done|(.+): (\d+) rows, )/;

const folder = mkdtempSync(join(memoryFolder(), 'rollnorm-directory-'));
try {
  const from = join(folder, 'recordings');
  mkdirSync(from);
  const recordings = await makeRecordings(from);
  const sizes = new Map(recordings.map(({ name }) => [name, statSync(join(from, name)).size]));
  for (const { name, what } of recordings)
    process.stdout.write(`${name}: ${what}, ${(sizes.get(name)! / 1e6).toFixed(1)} MB\n`);
  const names = [...sizes.keys()];
  const firsts = new Map<string, Buffer>();
  const trial = join(folder, 'trial');
  linkRounds(names, from, trial, TRIAL_ROUNDS);
  const { seconds } = await runOver(trial, firsts);
  const inputs = join(folder, 'files');
  linkRounds(names, from, inputs, Math.ceil((SPARE * MINUTES * 60 * TRIAL_ROUNDS) / seconds));
  const run = await runOver(inputs, firsts);
  process.stdout.write(HEAD + tableRow(flags.backend, run, sizes));
  if (flags.samples !== undefined) writeFileSync(flags.samples, samplesAsText(run.samples));
  if (flags.plot !== undefined) {
    const title = `rollnorm normalize DIR, backend ${flags.backend}, one process, ${run.rowsOf.size} files`;
    const panels = [
      { label: 'resident memory, MiB', values: run.samples.map(({ megabytes }) => megabytes) },
      { label: 'open handles', values: run.samples.map(({ handles }) => handles) },
    ];
    writeFileSync(flags.plot, plot(title, run.seconds / 60, panels));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** In the order of the numbers, in which they are read, every format comes in turn. */
function linkRounds(names: readonly string[], from: string, to: string, rounds: number): void {
  mkdirSync(to);
  let number = 0;
  for (let round = 0; round < rounds; round++)
    for (const name of names) linkSync(join(from, name), join(to, `${String(number++).padStart(DIGITS, '0')}-${name}`));
}

/** Until all files are done, or the time is over and a signal ends the process. @throws Error where an output is missing or differs */
async function runOver(inputs: string, firsts: Map<string, Buffer>): Promise<Run> {
  const outputFolder = `${inputs}-out`;
  mkdirSync(outputFolder);
  const outputs = new Outputs(inputs, outputFolder, firsts);
  const args = [CLI, 'normalize', inputs, '--out-dir', outputFolder, '--backend', flags.backend];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const rowsOf = new Map<string, number>();
  const ended = followMessages(child, rowsOf);
  const started = performance.now();
  const secondsSince = () => (performance.now() - started) / 1000;
  const samples: Sample[] = [];
  let seconds = 0;
  try {
    while (child.exitCode === null && child.signalCode === null) {
      seconds = secondsSince();
      const sample = sampleProcess(child.pid!, seconds);
      if (sample && seconds >= samples.length * SAMPLE_SECONDS) samples.push(sample);
      outputs.check();
      if (seconds > MINUTES * 60) child.kill();
      await Promise.race([ended, delay(CHECK_MS)]);
    }
    const { status, complaints } = await ended;
    if ((status !== 0 && status !== STOPPED) || complaints.length > 0)
      throw new Error(`the process ended with ${status} and said:\n${complaints.join('\n')}`);
    outputs.requireAll(rowsOf.keys());
    return { seconds, rowsOf, samples };
  } finally {
    child.kill();
  }
}

interface End {
  readonly status: number | NodeJS.Signals | null;
  readonly complaints: readonly string[];
}

/** @param rowsOf gets the files that the process says it is done with */
function followMessages(child: ChildProcess, rowsOf: Map<string, number>): Promise<End> {
  const complaints: string[] = [];
  createInterface({ input: child.stderr! }).on('line', (line) => {
    const message = EXPECTED.exec(line);
    if (message === null) complaints.push(line);
    else if (message[1] !== undefined) rowsOf.set(basename(message[1]), Number(message[2]));
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ status: code ?? signal, complaints }));
  });
}

function samplesAsText(samples: readonly Sample[]): string {
  const lines = samples.map(({ seconds, megabytes, handles, threads }) =>
    [seconds.toFixed(1), megabytes.toFixed(1), handles, threads].join(','),
  );
  return `seconds,resident_mib,handles,threads\n${lines.join('\n')}\n`;
}
