/** Flags that say where the numbers are computed. */
import { type Command, Option } from 'commander';
import { BACKENDS, type BackendChoice, type EngineOptions } from '../../options.ts';
import { parseCount, parseName, parseSeconds } from '../options.ts';

/** As commander gives them. */
export interface BackendFlags {
  readonly backend: BackendChoice;
  readonly adapter?: string;
  readonly gpuMinRows?: number;
  readonly gpuTimeout?: number;
}

export function addBackendFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--backend <name>', 'auto takes a hardware GPU where it gains time').choices(BACKENDS).default('auto'),
    )
    .option(
      '--adapter <text>',
      "part of the wanted adapter's name, or its number (rollnorm doctor lists them)",
      parseName,
    )
    .option('--gpu-min-rows <n>', 'rows from which auto takes a GPU (default: measured)', parseCount)
    .option('--gpu-timeout <seconds>', 'how long the GPU may leave a request unanswered (default: 60)', parseSeconds);
}

export function engineOptions({ backend, adapter, gpuMinRows, gpuTimeout }: BackendFlags): EngineOptions {
  return { backend, adapter, gpuMinRows, timeoutMs: gpuTimeout === undefined ? undefined : gpuTimeout * 1000 };
}
