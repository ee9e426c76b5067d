#!/usr/bin/env node
/** The command line: parses, dispatches, and turns errors into messages and exit statuses. */
import { Command, CommanderError } from 'commander';
import { addDiff } from './commands/diff.ts';
import { addDoctor } from './commands/doctor.ts';
import { addExplain } from './commands/explain.ts';
import { addInspect } from './commands/inspect.ts';
import { addNormalize } from './commands/normalize.ts';
import { addParity } from './commands/parity.ts';
import { addPresets } from './commands/presets.ts';
import { describeError, exitStatusOf } from './commands/report-error.ts';
import { fileError, removeTemporaryFiles } from './io/temporary-files.ts';
import { packageVersion } from './version.ts';

const USAGE = 2;
const WRITE_FAILED = 74;
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const;

async function main(): Promise<number> {
  for (const [signal, status] of Object.entries(SIGNALS)) process.on(signal, () => stopBySignal(status));
  process.stdout.on('error', onOutputError);
  process.stderr.on('error', () => {}); // a reader of messages that goes away must not end the work
  const program = buildProgram();
  try {
    await program.parseAsync();
    return typeof process.exitCode === 'number' ? process.exitCode : 0;
  } catch (error) {
    return reportError(error);
  }
}

function buildProgram(): Command {
  const program = new Command('rollnorm')
    .description(
      'Turns the rewards of rollouts into group-relative advantages for RL post-training: one value per rollout,\n' +
        'however many training rows it fanned out into, with the same bits on GPU and CPU.',
    )
    .version(packageVersion())
    .exitOverride()
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: false })
    .configureOutput({ outputError: (text, write) => write(`rollnorm: ${text}`) })
    .addHelpText(
      'after',
      '\nExit status: 0 done, 1 a condition of --fail-on, 2 usage, 3 bad input, 4 no such adapter, 70 internal or GPU fault, 74 read or write failed.',
    );
  addNormalize(program);
  addInspect(program);
  addExplain(program);
  addDiff(program);
  addParity(program);
  addPresets(program);
  addDoctor(program);
  for (const command of program.commands) command.copyInheritedSettings(program).exitOverride();
  return program;
}

function reportError(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
  process.stderr.write(describeError(error).text);
  return exitStatusOf(error);
}

function stopBySignal(status: number): never {
  removeTemporaryFiles();
  process.exit(status);
}

/** What commander prints by itself (help, version) may find no reader, which is no failure, or no room, which is one. */
function onOutputError(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`rollnorm: ${fileError('standard output', 'cannot write', error).message}\n`);
  process.exitCode = WRITE_FAILED;
}

process.exitCode = await main();
