/** Finds adapters and says what they are. */
import { AdapterError } from '../../errors.ts';
import type { AdapterDescription } from './adapter-description.ts';
import type { GpuProvider } from './gpu-provider.ts';
import { defaultProvider, NoWebGpuError } from './provider.ts';

export interface FoundAdapter extends AdapterDescription {
  readonly adapter: GPUAdapter;
}

/**
 * The adapter that a device is to be opened on; an adapter gives one device, so ask again for another.
 * @param wanted part of the adapter's name, or its number in the list of listAdapterNames, from 0; without it the system's
 * first choice
 * @throws AdapterError with the reason: no package, no driver, no such name
 */
export async function findAdapter(wanted?: string, provider: GpuProvider = defaultProvider): Promise<FoundAdapter> {
  const text = wanted !== undefined && NUMBER.test(wanted) ? await nameOfNumber(wanted, provider) : wanted;
  let adapter: GPUAdapter | null;
  try {
    const gpu = (await provider.open(text)) as GPU;
    adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  } catch (error) {
    throw new AdapterError(refusal(text, error));
  }
  if (!adapter) throw new AdapterError('WebGPU finds no adapter on this machine (no Vulkan, Metal or D3D12 driver)');
  const found = { adapter, ...describeAdapter(adapter.info) };
  // Browsers have no names to choose by, so the choice is checked here too.
  const names = [found.vendor, found.architecture, found.description, adapter.info.device].join(' ').toLowerCase();
  if (
    text !== undefined &&
    provider === defaultProvider &&
    globalThis.navigator?.gpu &&
    !names.includes(text.toLowerCase())
  ) {
    throw new AdapterError(`no adapter's name contains '${text}'; there is: ${found.description}`);
  }
  return found;
}

const NUMBER = /^\d{1,2}$/;

/** @throws AdapterError where there are not so many */
async function nameOfNumber(number: string, provider: GpuProvider): Promise<string> {
  const names = await listAdapterNames(provider);
  const name = names[Number(number)];
  if (name !== undefined) return name;
  const there = names.map((own, i) => `${i} ${own}`).join(', ');
  throw new AdapterError(`there is no adapter ${number}; there ${names.length > 0 ? `is: ${there}` : 'is none'}`);
}

/** The same, but where the system's first choice is a software adapter and there is a hardware one, that. */
export async function findHardwareAdapter(
  text?: string,
  provider: GpuProvider = defaultProvider,
): Promise<FoundAdapter> {
  const found = await findAdapter(text, provider);
  if (text !== undefined || !found.software) return found;
  for (const name of await listAdapterNames(provider)) {
    const other = await findAdapter(name, provider).catch(() => found);
    if (!other.software) return other;
  }
  return found;
}

export function describeAdapter(info: GPUAdapterInfo): AdapterDescription {
  const { vendor, architecture, isFallbackAdapter } = info;
  // Browsers tell a page no more than vendor and architecture.
  const description =
    info.description || info.device || [vendor, architecture].filter(Boolean).join(' ') || 'an adapter';
  return { vendor, architecture, description, software: isFallbackAdapter };
}

function refusal(text: string | undefined, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof NoWebGpuError) return message;
  const names = adapterNames(message);
  if (text === undefined || names === null) return `WebGPU does not start: ${message.replace(/\s+/g, ' ')}`;
  return `no adapter's name contains '${text}'; there ${names.length > 0 ? `is: ${names.join(', ')}` : 'is none'}`;
}

/** Names of all adapters, as far as the implementation tells them. */
export async function listAdapterNames(provider: GpuProvider = defaultProvider): Promise<string[]> {
  try {
    const gpu = await provider.open('\u0001no such adapter');
    await gpu.requestAdapter();
    return [];
  } catch (error) {
    if (error instanceof NoWebGpuError) throw new AdapterError(error.message);
    return adapterNames(error instanceof Error ? error.message : '') ?? [];
  }
}

/** Dawn lists what there is when a name does not match; null: the message is not of that kind. */
function adapterNames(message: string): string[] | null {
  if (!message.includes('Available adapters')) return null;
  return [...message.matchAll(/name: '([^']*)'/g)].map((match) => match[1]).filter((name) => name !== 'Null backend');
}
