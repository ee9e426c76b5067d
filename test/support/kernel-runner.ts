/** Runs one kernel by itself on an executor, and compares the bits that two executors made of the same inputs. */
import type { Executor } from '../../src/kernels/executor.ts';
import { allocateHost, type BindingSpec, type HostArray, type Kernel } from '../../src/kernels/kernel.ts';
import { shaderText } from '../../src/kernels/webgpu/shader-text.generated.ts';
import { SeededRandom as Random } from '../../src/parity/seeded-random.ts';

/** One computation: what a kernel is told and given. Outputs follow from the bindings. */
export interface KernelCase {
  readonly what: string;
  readonly parameters: Readonly<Record<string, number>>;
  readonly itemCount: number;
  /** Element at which the arrays of elements begin. */
  readonly elementBase?: number;
  /** Per read binding; null is an array that the parameters say is unused. */
  readonly inputs: Readonly<Record<string, HostArray | null>>;
}

export type Outputs = Readonly<Record<string, HostArray>>;

/** What every output holds before the kernel runs. No case may have it as a result. */
const SENTINEL_WORD = 0xdeadbeef;

/** How the arrays of a run lie: whole in the executor's memory, or cut into slices of its binding size. */
export type Residence = 'whole' | 'sliced';

const ARRAY_BYTES: Readonly<Record<Residence, readonly number[]>> = { whole: [], sliced: [Number.POSITIVE_INFINITY] };

export async function runKernel(
  executor: Executor,
  kernel: Kernel,
  { parameters, itemCount, elementBase = 0, inputs }: KernelCase,
  residence: Residence = 'whole',
): Promise<Outputs> {
  const workspace = executor.workspace(ARRAY_BYTES[residence]);
  try {
    const arrays = Object.entries(kernel.bindings).map(([name, spec]) => {
      const host =
        spec.access === 'read' ? inputs[name] : sentinels(spec, lengthOf(spec, itemCount, inputs, elementBase));
      return [name, host && workspace.input(spec.type, host)] as const;
    });
    await workspace.run(kernel, parameters, itemCount, Object.fromEntries(arrays), { elementBase });
    const outputs: Record<string, HostArray> = {};
    for (const [name, array] of arrays) {
      if (kernel.bindings[name].access === 'write') outputs[name] = (await workspace.read(array!)).slice();
    }
    return outputs;
  } finally {
    workspace.close();
  }
}

function lengthOf(spec: BindingSpec, itemCount: number, inputs: KernelCase['inputs'], elementBase: number): number {
  return spec.extent === 'element' ? inputs.bounds![itemCount] - elementBase : itemCount;
}

function sentinels(spec: BindingSpec, length: number): HostArray {
  const array = allocateHost(spec.type, length);
  new Uint32Array(array.buffer).fill(SENTINEL_WORD);
  return array;
}

/** Where the outputs differ in a bit, the first place; null where they are equal. Any NaN equals any NaN. */
export function firstDifference(kernel: Kernel, expected: Outputs, found: Outputs): string | null {
  for (const [name, { type, access }] of Object.entries(kernel.bindings)) {
    if (access === 'read') continue;
    const [wanted, got] = [expected[name], found[name]];
    if (wanted.length !== got.length) return `${name}: ${wanted.length} entries expected, ${got.length} found`;
    const [wantedBits, gotBits] = [bitsOf(wanted), bitsOf(got)];
    for (let i = 0; i < wanted.length; i++) {
      if (wantedBits[i] === gotBits[i] || (type !== 'u32' && Number.isNaN(wanted[i]) && Number.isNaN(got[i]))) continue;
      return `${name}[${i}]: ${wanted[i]} (0x${wantedBits[i].toString(16)}) expected, ${got[i]} (0x${gotBits[i].toString(16)}) found`;
    }
  }
  return null;
}

/** The first entry that still holds the sentinel; null where every entry was written. */
export function firstUnwritten(outputs: Outputs): string | null {
  for (const [name, array] of Object.entries(outputs)) {
    const step = array.BYTES_PER_ELEMENT / 4;
    const words = new Uint32Array(array.buffer, array.byteOffset, array.length * step);
    for (let i = 0; i < words.length; i += step)
      if (words[i] === SENTINEL_WORD && words[i + step - 1] === SENTINEL_WORD) return `${name}[${i / step}]`;
  }
  return null;
}

function bitsOf(array: HostArray): Uint32Array | BigUint64Array {
  const { buffer, byteOffset, length } = array;
  return array.BYTES_PER_ELEMENT === 8
    ? new BigUint64Array(buffer, byteOffset, length)
    : new Uint32Array(buffer, byteOffset, length);
}

let changedKernels = 0;

/**
 * A copy of a kernel of which one shader file has one line replaced.
 * @param file the kernel's own name or a prelude's
 * @throws Error unless the line is there exactly once
 */
export function withChangedLine(kernel: Kernel, file: string, line: string, replacement: string): Kernel {
  const isPrelude = file !== kernel.name;
  if (isPrelude && !kernel.preludes.includes(file)) throw new Error(`${kernel.name} has no prelude ${file}`);
  const lines = shaderText[isPrelude ? `prelude/${file}.wgsl` : `${file}.wgsl`].split('\n');
  const at = lines.indexOf(line);
  if (at < 0 || lines.indexOf(line, at + 1) >= 0) throw new Error(`${file} must have this line once: ${line}`);
  lines[at] = replacement;
  const suffix = `changed-${++changedKernels}`;
  const texts = shaderText as Record<string, string>;
  // Pipelines are kept by name, so the copy has one of its own.
  const name = `${kernel.name}-${suffix}`;
  if (!isPrelude) {
    texts[`${name}.wgsl`] = lines.join('\n');
    return { ...kernel, name };
  }
  texts[`prelude/${file}-${suffix}.wgsl`] = lines.join('\n');
  texts[`${name}.wgsl`] = shaderText[`${kernel.name}.wgsl`];
  return { ...kernel, name, preludes: kernel.preludes.map((own) => (own === file ? `${file}-${suffix}` : own)) };
}

export { Random };

/** The binary64 number `steps` places further in the order of bits. */
export function neighbour(value: number, steps: number): number {
  const bits = new BigInt64Array(Float64Array.of(value).buffer);
  bits[0] += BigInt(steps);
  return new Float64Array(bits.buffer)[0];
}

/** Kinds of rewards; each entry begins a segment and gives its values one by one. */
export const VALUE_CLASSES: Readonly<Record<string, (random: Random) => () => number>> = {
  integers: (random) => () => random.below(11) - 5,
  decimals: (random) => () => (random.below(2001) - 1000) / 1000,
  'mixed magnitudes': (random) => () => (random.unit() - 0.5) * 2 ** (random.below(200) - 100),
  'signed zeros and ones': (random) => () => random.pick([0, -0, 1, -1]),
  subnormals: (random) => () => (random.below(2 ** 21) - 2 ** 20) * Number.MIN_VALUE,
  huge: (random) => () => (random.unit() - 0.5) * 2 ** (1020 + random.below(5)),
  neighbours: (random) => {
    const base = 1 + random.unit();
    return () => neighbour(base, random.below(5) - 2);
  },
  'equal values': (random) => {
    const value = random.pick([0.9, 1 / 3, -0, 1e30]);
    return () => value;
  },
  'halfway between binary32 numbers': (random) => () => 1 + random.below(100) / 2 ** 23 + random.below(3) / 2 ** 25,
};
