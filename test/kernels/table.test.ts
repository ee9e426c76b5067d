/** The table of kernels and the shader files say the same: both sides are read and compared. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CHOICE, GROUP_STATUS, MEASURE, NOT_COUNTED, UNWRITTEN } from '../../src/kernels/codes.ts';
import { DISPATCH_FIELDS, type Kernel } from '../../src/kernels/kernel.ts';
import { KERNELS } from '../../src/kernels/table.ts';
import { gpuExecutor } from '../../src/kernels/webgpu/executor.ts';
import { DEFAULT_WORKGROUP_SIZE, type GpuSession, shaderOf } from '../../src/kernels/webgpu/session.ts';
import { shaderText } from '../../src/kernels/webgpu/shader-text.generated.ts';
import { SMALLEST_HIDING_EPSILON, SMALLEST_VARIANCE_SUM } from '../../src/numeric/vanishing.ts';
import { COUNT_THE_MASK } from '../../src/samples/columns.ts';

const SHADERS = new URL('../../shaders/', import.meta.url);
const TWINS = new URL('../../src/kernels/cpu/', import.meta.url);
/** What a device has that was asked for no more. */
const STORAGE_BUFFERS_OF_ANY_DEVICE = 8;
const WGSL_TYPES = { u32: 'array<u32>', f32: 'array<u32>', f64: 'array<vec2<u32>>' };
const WGSL_ACCESS = { read: 'read', write: 'read_write' };

const kernels: readonly Kernel[] = Object.values(KERNELS) as unknown as Kernel[];
const shader = (file: string) => readFileSync(new URL(file, SHADERS), 'utf8');
const namesIn = (folder: URL, suffix: string) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, -suffix.length))
    .sort();
const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camelCase = (name: string) => name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** `const NAME = 0x1fu;` of a shader file, by name. */
function constantsOf(text: string): Record<string, number> {
  const found = text.matchAll(/^const ([A-Z0-9_]+) = (0x[0-9a-f]+|\d+)u;$/gm);
  return Object.fromEntries([...found].map(([, name, value]) => [name, Number(value)]));
}

/** Names that a shader file declares at its top level. */
function declaredIn(text: string): string[] {
  const found = text.matchAll(/^(?:fn|const|override|struct|var<private>) (\w+)/gm);
  return [...found].map(([, name]) => name);
}

const prefixed = (prefix: string, codes: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(codes).map(([name, code]) => [`${prefix}_${snakeCase(name).toUpperCase()}`, code]));

const highWord = (value: number) => new Uint32Array(Float64Array.of(value).buffer)[1];
const lowWord = (value: number) => new Uint32Array(Float64Array.of(value).buffer)[0];

describe.each(kernels.map((kernel) => [kernel.name, kernel] as const))('%s', (name, kernel) => {
  const text = shader(`${name}.wgsl`);

  it('has the fields of the dispatch and its parameters, in this order, in its struct', () => {
    const struct = /struct Parameters \{([^}]*)\}/.exec(text)![1];
    const fields = [...struct.matchAll(/(\w+): (\w+),/g)].map(([, field, type]) => [field, type]);
    const expected = [...DISPATCH_FIELDS, ...kernel.parameters].map((field) => [snakeCase(field), 'u32']);
    expect(fields).toEqual(expected);
    expect(struct.match(/:/g)).toHaveLength(expected.length);
  });

  it('has the bindings of the table: number, access, name and type', () => {
    const found = [...text.matchAll(/@group\((\d)\) @binding\((\d+)\) var<([^>]*)> (\w+): ([^;]+);/g)];
    const own = Object.entries(kernel.bindings).map(([binding, { type, access }], index) => [
      ...['0', String(index + 1), `storage, ${WGSL_ACCESS[access]}`, snakeCase(binding), WGSL_TYPES[type]],
    ]);
    expect(found.map((parts) => parts.slice(1))).toEqual([['0', '0', 'uniform', 'parameters', 'Parameters'], ...own]);
    expect(text.match(/@binding/g)).toHaveLength(own.length + 1);
  });

  it('needs no more storage buffers than any device has', () => {
    expect(Object.keys(kernel.bindings).length).toBeLessThanOrEqual(STORAGE_BUFFERS_OF_ANY_DEVICE);
  });

  it('names every prelude that it uses, after those that the prelude needs, and none that it does not use', () => {
    const files = [...kernel.preludes.map((prelude) => shader(`prelude/${prelude}.wgsl`)), text];
    const uses = (file: string, names: string[]) => names.some((each) => new RegExp(`\\b${each}\\b`).test(file));
    for (const [place, prelude] of kernel.preludes.entries()) {
      const isUsed = files.slice(place + 1).some((file) => uses(file, declaredIn(files[place])));
      expect(isUsed, `${prelude} is used`).toBe(true);
      const needed = /Needs ([\w-]+)/.exec(files[place])?.[1];
      if (needed !== undefined) expect(kernel.preludes.slice(0, place)).toContain(needed);
    }
    expect(shaderOf(kernel)).toBe(files.join('\n'));
  });

  it('shares its name with its twin file and its key in the table', () => {
    expect(KERNELS).toHaveProperty(camelCase(name), kernel);
    expect(existsSync(new URL(`${name}.ts`, TWINS))).toBe(true);
  });
});

describe('the shader files', () => {
  it('are one for every kernel, and the preludes that kernels name', () => {
    expect(namesIn(SHADERS, '.wgsl')).toEqual(kernels.map(({ name }) => name).sort());
    const used = new Set(kernels.flatMap(({ preludes }) => preludes));
    expect(namesIn(new URL('prelude/', SHADERS), '.wgsl')).toEqual([...used].sort());
  });

  it('are built in as they lie on disk', () => {
    const files = [
      ...namesIn(SHADERS, '.wgsl').map((name) => `${name}.wgsl`),
      ...namesIn(new URL('prelude/', SHADERS), '.wgsl').map((name) => `prelude/${name}.wgsl`),
    ];
    expect(shaderText).toEqual(Object.fromEntries(files.map((file) => [file, shader(file)])));
  });

  it('have a twin each, and no twin is without a shader', () => {
    expect(namesIn(TWINS, '.ts')).toEqual(kernels.map(({ name }) => name).sort());
  });
});

describe('numbers that both sides hold', () => {
  it('codes of choices, of statuses and of what is not counted are the same', () => {
    expect(constantsOf(shader('prelude/codes.wgsl'))).toEqual({
      COUNT_THE_MASK,
      NOT_COUNTED,
      UNWRITTEN,
      ...prefixed('CHOICE', CHOICE),
      ...prefixed('STATUS', GROUP_STATUS),
      ...prefixed('MEASURE', MEASURE),
    });
  });

  it('the thresholds of a vanishing deviation are the same', () => {
    const constants = constantsOf(shader('prelude/vanishing.wgsl'));
    expect(constants).toEqual({
      SMALLEST_VARIANCE_SUM_HIGH: highWord(SMALLEST_VARIANCE_SUM),
      SMALLEST_HIDING_EPSILON_HIGH: highWord(SMALLEST_HIDING_EPSILON),
    });
    // The shader compares high words only, which is right where the low ones are 0.
    expect([SMALLEST_VARIANCE_SUM, SMALLEST_HIDING_EPSILON].map(lowWord)).toEqual([0, 0]);
  });

  it('the summation tree has a level for every bit of the longest piece that is admitted', () => {
    const limits = {
      maxStorageBufferBindingSize: 2 ** 52,
      maxBufferSize: 2 ** 52,
      maxComputeWorkgroupsPerDimension: 65_535,
    };
    const session = { device: { limits }, workgroupSize: DEFAULT_WORKGROUP_SIZE } as unknown as GpuSession;
    const admits = (pieceLength: number) => {
      try {
        return gpuExecutor(session, { pieceLength }).pieceLength === pieceLength;
      } catch {
        return false;
      }
    };
    const heights = Array.from({ length: 40 }, (_, height) => height).filter((height) => admits(2 ** height));
    const highest = Math.max(...heights);
    expect(heights).toContain(1);
    expect(highest).toBeLessThan(39);
    // 2^h values fill the levels 0 to h.
    const { TREE_LEVELS } = constantsOf(shader('prelude/summation-tree.wgsl'));
    expect(TREE_LEVELS).toBeGreaterThanOrEqual(highest + 1);
  });

  it('the size of a workgroup has the same default', () => {
    const found = /override workgroup_size: u32 = (\d+)u;/.exec(shader('prelude/dispatch.wgsl'))![1];
    expect(Number(found)).toBe(DEFAULT_WORKGROUP_SIZE);
  });
});
