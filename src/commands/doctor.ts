/** `rollnorm doctor`: which adapters there are, what they can do, and what `--backend auto` would take. */
import Table from 'cli-table3';
import type { Command } from 'commander';
import { ROWS_WORTH_OPENING } from '../crossover.ts';
import { AdapterError } from '../errors.ts';
import { describeAdapter, findAdapter, listAdapterNames } from '../kernels/webgpu/adapters.ts';
import { GpuSession } from '../kernels/webgpu/session.ts';
import { packageVersion } from '../version.ts';
import { print } from './print.ts';

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .summary('adapters, limits, drivers, and what auto would pick and why')
    .description(
      'Looks for WebGPU adapters, opens a device on each, and says what --backend auto would take on this host.',
    )
    .option('--json', 'print JSON')
    .action(doctorCommand);
}

const LIMITS = [
  'maxStorageBufferBindingSize',
  'maxBufferSize',
  'maxComputeWorkgroupsPerDimension',
  'maxComputeInvocationsPerWorkgroup',
  'maxStorageBuffersPerShaderStage',
] as const;

interface AdapterFinding {
  readonly name: string;
  readonly vendor: string;
  readonly architecture: string;
  readonly description: string;
  readonly software: boolean;
  readonly limits: Partial<Record<string, number>>;
  readonly features: string[];
  /** Null: a device opens. */
  readonly problem: string | null;
}

interface Findings {
  readonly version: string;
  readonly node: string;
  readonly platform: string;
  readonly webgpu: { readonly available: boolean; readonly reason: string | null };
  readonly adapters: AdapterFinding[];
  readonly auto: { readonly backend: 'cpu' | 'webgpu'; readonly reason: string };
}

async function doctorCommand({ json }: { json?: true }): Promise<void> {
  const findings = await examine();
  await print(json ? `${JSON.stringify(findings, null, 2)}\n` : describe(findings));
}

async function examine(): Promise<Findings> {
  const { adapters, reason } = await examineAdapters();
  const hardware = adapters.find((adapter) => !adapter.software && adapter.problem === null);
  return {
    version: packageVersion(),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    webgpu: { available: adapters.length > 0, reason },
    adapters,
    auto: hardware
      ? {
          backend: 'webgpu',
          reason: `${hardware.description} is a hardware GPU; from ${ROWS_WORTH_OPENING.toLocaleString('en')} rows on it is measured against the CPU`,
        }
      : { backend: 'cpu', reason: reason ?? 'software adapters are used only when asked for (--backend webgpu)' },
  };
}

async function examineAdapters(): Promise<{ adapters: AdapterFinding[]; reason: string | null }> {
  const adapters: AdapterFinding[] = [];
  try {
    const names = await listAdapterNames();
    // Without a list of names there is still the system's own choice.
    for (const name of names.length > 0 ? names : [undefined]) {
      const examined = await examineAdapter(name).catch((error: Error) => error);
      if (!(examined instanceof Error)) adapters.push(examined);
      else if (name === undefined) throw examined;
      else adapters.push(unusable(name, examined.message));
    }
    return { adapters, reason: null };
  } catch (error) {
    if (!(error instanceof AdapterError)) throw error;
    return { adapters, reason: error.message };
  }
}

/** An adapter that is listed and then not given. */
function unusable(name: string, problem: string): AdapterFinding {
  return { name, vendor: '', architecture: '', description: name, software: false, limits: {}, features: [], problem };
}

async function examineAdapter(name: string | undefined): Promise<AdapterFinding> {
  const found = await findAdapter(name);
  const { adapter } = found;
  const session = await GpuSession.open({ adapter: name }).catch((error: Error) => error);
  if (session instanceof GpuSession) session.close();
  return {
    name: name ?? found.description,
    ...describeAdapter(adapter.info),
    limits: Object.fromEntries(LIMITS.map((limit) => [limit, adapter.limits[limit]])),
    features: [...adapter.features].sort(),
    problem: session instanceof GpuSession ? null : session.message,
  };
}

function describe({ version, node, platform, webgpu, adapters, auto }: Findings): string {
  const table = new Table({
    head: ['', ...adapters.map(({ name }, i) => `${i}: ${name}`)],
    style: { head: [], border: [] },
    wordWrap: true,
  });
  const row = (label: string, of: (adapter: AdapterFinding) => string) => table.push([label, ...adapters.map(of)]);
  row('driver', ({ description }) => description);
  row('vendor', ({ vendor, architecture }) => `${vendor} ${architecture}`);
  row('kind', ({ software }) => (software ? 'software (computes on the CPU)' : 'hardware'));
  row('device', ({ problem }) => problem ?? 'opens');
  for (const limit of LIMITS) row(limit, ({ limits }) => limits[limit]?.toLocaleString('en') ?? '');
  row(
    'features',
    ({ features }) => features.filter((feature) => /f16|subgroup|timestamp/.test(feature)).join(', ') || 'none of note',
  );
  const found = webgpu.available ? table.toString() : `No adapter: ${webgpu.reason}`;
  return `rollnorm ${version}, Node ${node}, ${platform}\n\n${found}\n\n--backend auto would use: ${auto.backend} (${auto.reason})\n`;
}
