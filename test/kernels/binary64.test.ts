/** The binary64 preludes against JavaScript's own numbers, bit for bit. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { testDevice } from '../support/gpu.ts';

/** Pairs per operation beyond the cross product of edge values; set for SwiftShader, the slowest driver. */
const PAIRS = Number(process.env.ROLLNORM_BINARY64_PAIRS ?? 200_000);
const SEED = 0x52_4e_36_34;
const SENTINEL = 0xdeadbeef;
const CANONICAL_NAN = 0x7ff8_0000_0000_0000n;
const PRELUDES = {
  bits: 'binary64-bits',
  add: 'binary64-add',
  multiply: 'binary64-multiply',
  divide: 'binary64-divide',
  sqrt: 'binary64-sqrt',
  convert: 'binary64-convert',
};

type Prelude = keyof typeof PRELUDES;

/** Operands as bits, since JavaScript may change a NaN's bits when it handles it as a number. */
interface Pairs {
  readonly count: number;
  /** Four words a pair: low and high word of a, then of b. */
  readonly words: Uint32Array<ArrayBuffer>;
  /** The same memory as binary64: a and b in turn. */
  readonly numbers: Float64Array<ArrayBuffer>;
}

interface Corruption {
  readonly what: string;
  readonly prelude: Prelude;
  readonly line: string;
  readonly replacement: string;
}

interface Operation {
  readonly name: string;
  readonly prelude: Prelude;
  /** Body of `fn probe(a, b)`. */
  readonly probe: string;
  /** Result bits that JavaScript's arithmetic gives; any NaN stands for the canonical one. */
  readonly expected: (pairs: Pairs) => BigUint64Array;
  readonly corruptions: readonly Corruption[];
}

const TIE_UP: Corruption = {
  what: 'ties round up instead of to even',
  prelude: 'bits',
  line: '  let up = u32((aligned.x & 0x7ffu) + (truncated.x & 1u) > 0x400u);',
  replacement: '  let up = u32((aligned.x & 0x7ffu) >= 0x400u);',
};

const SUBNORMAL_STICKY: Corruption = {
  what: 'a subnormal result loses the bits shifted out of its lower word',
  prelude: 'bits',
  line: '  let narrow = vec2<u32>(low | u32(lost_below_word != 0u), high);',
  replacement: '  let narrow = vec2<u32>(low, high);',
};

const OPERATIONS: readonly Operation[] = [
  {
    name: 'f64_add',
    prelude: 'add',
    probe: 'f64_add(a, b)',
    expected: binary((a, b) => a + b),
    corruptions: [
      TIE_UP,
      SUBNORMAL_STICKY,
      {
        what: '0 + -0 is -0',
        prelude: 'add',
        line: '  let signed = select(finite, vec2<u32>(0u, a.y & b.y & F64_SIGN), leading == 64u);',
        replacement: '  let signed = select(finite, vec2<u32>(0u, (a.y | b.y) & F64_SIGN), leading == 64u);',
      },
    ],
  },
  {
    name: 'f64_subtract',
    prelude: 'add',
    probe: 'f64_subtract(a, b)',
    expected: binary((a, b) => a - b),
    corruptions: [
      TIE_UP,
      {
        what: 'the sign of b is kept',
        prelude: 'add',
        line: '  return f64_add(a, vec2<u32>(b.x, b.y ^ F64_SIGN));',
        replacement: '  return f64_add(a, b);',
      },
    ],
  },
  {
    name: 'f64_multiply',
    prelude: 'multiply',
    probe: 'f64_multiply(a, b)',
    expected: binary((a, b) => a * b),
    corruptions: [
      TIE_UP,
      SUBNORMAL_STICKY,
      {
        what: 'the lower half of the product is dropped',
        prelude: 'multiply',
        line: '  return vec2<u32>(high.x | u32((low.x | second.x) != 0u), high.y);',
        replacement: '  return high;',
      },
    ],
  },
  {
    name: 'f64_divide',
    prelude: 'divide',
    probe: 'f64_divide(a, b)',
    expected: binary((a, b) => a / b),
    corruptions: [
      TIE_UP,
      SUBNORMAL_STICKY,
      {
        what: 'an estimated digit is not corrected',
        prelude: 'divide',
        line: '    let is_digit = u64_less(rest, divisor);',
        replacement: '    let is_digit = true;',
      },
    ],
  },
  {
    name: 'f64_sqrt',
    prelude: 'sqrt',
    probe: 'f64_sqrt(a)',
    expected: unary((a) => Math.sqrt(a)),
    corruptions: [
      {
        what: 'an appended digit is not corrected',
        prelude: 'sqrt',
        line: '  let is_digit = u64_less(rest, next);',
        replacement: '  let is_digit = true;',
      },
      {
        what: 'a digit of the first 32 bits is not corrected',
        prelude: 'sqrt',
        line: '  let too_large = (rest.y & F64_SIGN) != 0u;',
        replacement: '  let too_large = false;',
      },
      {
        what: 'the last remainder is not sticky',
        prelude: 'sqrt',
        line: '  let sticky = u32((third.remainder.x | third.remainder.y) != 0u);',
        replacement: '  let sticky = 0u;',
      },
    ],
  },
  {
    name: 'f64_from_u32',
    prelude: 'convert',
    probe: 'f64_from_u32(a.x)',
    expected: (pairs) => {
      const results = new Float64Array(pairs.count);
      for (let i = 0; i < pairs.count; i++) results[i] = pairs.words[4 * i];
      return new BigUint64Array(results.buffer);
    },
    corruptions: [
      {
        what: 'the lowest 11 bits are dropped',
        prelude: 'convert',
        line: '  return select(vec2<u32>(significand << 21u, high), vec2<u32>(0u, 0u), n == 0u);',
        replacement: '  return select(vec2<u32>(0u, high), vec2<u32>(0u, 0u), n == 0u);',
      },
    ],
  },
  {
    name: 'f64_to_f32_bits',
    prelude: 'convert',
    probe: 'vec2<u32>(f64_to_f32_bits(a), 0u)',
    expected: (pairs) => {
      const results = new BigUint64Array(pairs.count);
      const single = new Float32Array(1);
      const bits = new Uint32Array(single.buffer);
      for (let i = 0; i < pairs.count; i++) {
        single[0] = pairs.numbers[2 * i];
        results[i] = Number.isNaN(single[0]) ? 0x7fc00000n : BigInt(bits[0]);
      }
      return results;
    },
    corruptions: [
      {
        what: 'ties round up instead of to even',
        prelude: 'convert',
        line: '  let up = u32((aligned & 0xffu) + (truncated & 1u) > 0x80u);',
        replacement: '  let up = u32((aligned & 0xffu) >= 0x80u);',
      },
      {
        what: 'bits below binary32 are not sticky',
        prelude: 'convert',
        line: '  let aligned = (significand >> below_normal) | u32(lost != 0u);',
        replacement: '  let aligned = significand >> below_normal;',
      },
    ],
  },
];

describe.each(OPERATIONS)('$name', (operation) => {
  it('gives the bits of the binary64 result for every pair of edge values', async () => {
    expect(mismatches(operation, edges, await runOperation(device, operation, edges))).toEqual([]);
  });

  it('gives the bits of the binary64 result for seeded pairs of every class', async () => {
    expect(mismatches(operation, seeded, await runOperation(device, operation, seeded))).toEqual([]);
  });

  it.each(operation.corruptions)('is caught by the seeded pairs when $what', async (corruption) => {
    expect(mismatches(operation, seeded, await runOperation(device, operation, seeded, corruption))).not.toEqual([]);
  });
});

let device: GPUDevice;
let edges: Pairs;
let seeded: Pairs;

beforeAll(async () => {
  device = await testDevice();
  edges = edgePairs();
  seeded = seededPairs(PAIRS);
});

function unary(apply: (a: number) => number): (pairs: Pairs) => BigUint64Array {
  return binary((a) => apply(a));
}

function binary(apply: (a: number, b: number) => number): (pairs: Pairs) => BigUint64Array {
  return ({ count, numbers }) => {
    const results = new Float64Array(count);
    const bits = new BigUint64Array(results.buffer);
    for (let i = 0; i < count; i++) {
      results[i] = apply(numbers[2 * i], numbers[2 * i + 1]);
      if (Number.isNaN(results[i])) bits[i] = CANONICAL_NAN;
    }
    return bits;
  };
}

/** The first few pairs whose result differs, spelled out. */
function mismatches(operation: Operation, pairs: Pairs, actual: BigUint64Array): string[] {
  const expected = operation.expected(pairs);
  const operands = new BigUint64Array(pairs.words.buffer);
  const found: string[] = [];
  for (let i = 0; i < pairs.count && found.length < 5; i++) {
    if (actual[i] === expected[i]) continue;
    const [a, b, got, wanted] = [operands[2 * i], operands[2 * i + 1], actual[i], expected[i]].map(hex);
    found.push(`${operation.name} of ${a}, ${b}: ${got}, not ${wanted}`);
  }
  return found;
}

function hex(bits: bigint): string {
  return bits.toString(16).padStart(16, '0');
}

function shaderText(operation: Operation, corruption?: Corruption): string {
  const folder = new URL('../../shaders/prelude/', import.meta.url);
  const preludes = (['bits', operation.prelude] as const).map((prelude) => {
    const text = readFileSync(new URL(PRELUDES[prelude] + '.wgsl', folder), 'utf8');
    if (corruption?.prelude !== prelude) return text;
    const pieces = text.split(corruption.line + '\n');
    if (pieces.length !== 2) throw new Error(`not exactly once in ${PRELUDES[prelude]}: ${corruption.line}`);
    return pieces.join(corruption.replacement + '\n');
  });
  const probe = readFileSync(new URL('../shaders/binary64-probe.wgsl', import.meta.url), 'utf8');
  const call = `fn probe(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return ${operation.probe}; }\n`;
  return [...preludes, probe, call].join('\n');
}

/** Runs one operation over all pairs; `corruption` changes one line of its shader first. */
async function runOperation(
  device: GPUDevice,
  operation: Operation,
  pairs: Pairs,
  corruption?: Corruption,
): Promise<BigUint64Array> {
  const module = device.createShaderModule({ code: shaderText(operation, corruption) });
  const pipeline = await device.createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint: 'main' } });

  const rowGroups = 1024;
  const rows = Math.ceil(pairs.count / (64 * rowGroups));
  const size = pairs.count * 8;
  const settings = filledBuffer(device, new Uint32Array([pairs.count, 64 * rowGroups]), GPUBufferUsage.UNIFORM);
  const operands = filledBuffer(device, pairs.words, GPUBufferUsage.STORAGE);
  const sentinels = new Uint32Array(2 * pairs.count).fill(SENTINEL);
  const results = filledBuffer(device, sentinels, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC);
  const readback = device.createBuffer({ size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });

  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  const entries = [settings, operands, results].map((buffer, binding) => ({ binding, resource: { buffer } }));
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.dispatchWorkgroups(Math.min(rowGroups, Math.ceil(pairs.count / 64)), rows);
  pass.end();
  encoder.copyBufferToBuffer(results, 0, readback, 0, size);
  device.queue.submit([encoder.finish()]);
  await readback.mapAsync(GPUMapMode.READ);
  const bits = new BigUint64Array(readback.getMappedRange().slice(0));
  for (const buffer of [settings, operands, results, readback]) buffer.destroy();
  return bits;
}

function filledBuffer(device: GPUDevice, words: Uint32Array<ArrayBuffer>, usage: number): GPUBuffer {
  const buffer = device.createBuffer({ size: words.byteLength, usage: usage | GPUBufferUsage.COPY_DST });
  device.queue.writeBuffer(buffer, 0, words);
  return buffer;
}

/** Bits of values at which a rule changes, each with both signs. */
function edgeValues(): bigint[] {
  const magnitudes = [
    ...[0, Infinity, 0.1, 0.2, 0.3, 0.5, 0.7, 1.5, 3, 10, 1e16, Number.MAX_VALUE, Number.EPSILON, Math.PI].map(bitsOf),
    ...[1, 2, 2 ** 53, 2 ** 26, 2 ** -52, 2 ** -53, 2 ** -511, 2 ** -537, 2 ** 511].flatMap(withNeighbours),
    // subnormals: the smallest, one with few bits, the largest, and the smallest normal number
    ...[1n, 2n, 3n, 0x8_0000_0000_0000n, 0xf_ffff_ffff_fffen, 0xf_ffff_ffff_ffffn],
    ...[0x10_0000_0000_0000n, 0x10_0000_0000_0001n, 0x20_0000_0000_0000n],
    // NaNs: canonical, signalling, payloads in one word only
    ...[CANONICAL_NAN, 0x7ff0_0000_0000_0001n, 0x7ff0_0001_0000_0000n, 0x7fff_ffff_ffff_ffffn],
    // binary32: halfway above 1, the smallest subnormal and half of it, the smallest normal number, overflow
    ...[1 + 2 ** -24, 1 + 3 * 2 ** -24, 2 ** -149, 2 ** -150, 2 ** -126, 2 ** -126 - 2 ** -150].flatMap(withNeighbours),
    ...[2 ** 128 - 2 ** 104, 2 ** 128 - 2 ** 103, 2 ** 128].flatMap(withNeighbours),
  ];
  return magnitudes.flatMap((bits) => [bits, bits | (1n << 63n)]);
}

function withNeighbours(value: number): bigint[] {
  const bits = bitsOf(value);
  return [bits - 1n, bits, bits + 1n];
}

function bitsOf(value: number): bigint {
  return new BigUint64Array(new Float64Array([value]).buffer)[0];
}

function emptyPairs(count: number): Pairs {
  const words = new Uint32Array(4 * count);
  return { count, words, numbers: new Float64Array(words.buffer) };
}

/** The cross product of the edge values. */
function edgePairs(): Pairs {
  const edges = edgeValues();
  const pairs = emptyPairs(edges.length ** 2);
  const bits = new BigUint64Array(pairs.words.buffer);
  for (let i = 0; i < pairs.count; i++) {
    bits[2 * i] = edges[Math.floor(i / edges.length)];
    bits[2 * i + 1] = edges[i % edges.length];
  }
  return pairs;
}

/** Pairs that take the classes below in turn; every word comes from the seed. */
function seededPairs(count: number): Pairs {
  const pairs = emptyPairs(count);
  const bits = new BigUint64Array(pairs.words.buffer);
  const random = new Random(SEED);
  const edges = edgeValues();
  for (let i = 0; i < count; i++) {
    const [a, b] = CLASSES[i % CLASSES.length](random, edges);
    const swap = random.below(2);
    bits[2 * i + swap] = a;
    bits[2 * i + 1 - swap] = b;
  }
  return pairs;
}

type PairClass = (random: Random, edges: readonly bigint[]) => [bigint, bigint];

const CLASSES: readonly PairClass[] = [
  // any bits
  (random) => [random.bits(), random.bits()],
  // exponents at most 66 apart, where adding rounds
  (random) => {
    const exponent = 100 + random.below(1800);
    return [random.number(exponent), random.number(exponent + random.below(67))];
  },
  // exponents at most 1 apart with opposite signs, where adding cancels
  (random) => {
    const exponent = 1 + random.below(2000);
    const a = random.number(exponent);
    return [a, (random.number(exponent + random.below(2)) & ~(1n << 63n)) | (~a & (1n << 63n))];
  },
  // neighbours, with either sign
  (random) => {
    const a = random.number(1 + random.below(2045));
    return [a, (a + BigInt(random.below(9)) - 4n) ^ (BigInt(random.below(2)) << 63n)];
  },
  // b is half a unit in the last place of a, or a neighbour of that
  (random) => {
    const exponent = 60 + random.below(1900);
    const half = BigInt(exponent - 53) << 52n;
    return [random.number(exponent), half + BigInt(random.below(3)) - 1n + (BigInt(random.below(2)) << 63n)];
  },
  // products of 54 bits, of which half are halfway
  (random) => {
    const factor = () => bitsOf((0x4000000 + random.below(0x4000000)) * 2 + 1);
    return [factor(), factor() + (BigInt(random.below(100)) << 52n)];
  },
  // products that are halfway between subnormals, or a hair beside that
  (random) => {
    const kept = 1 + random.below(52);
    const exponent = 200 + random.below(600);
    const lowest = 1n << BigInt(52 - kept);
    return [random.number(exponent, kept) | lowest, random.nearPower(1023 - 52 + kept - exponent)];
  },
  // quotients that are halfway between subnormals, or a hair beside that
  (random) => {
    const kept = 1 + random.below(52);
    const exponent = 1 + random.below(900);
    const lowest = 1n << BigInt(52 - kept);
    return [random.number(exponent, kept) | lowest, random.nearPower(1023 + 52 - kept + exponent)];
  },
  // all bits, with products and quotients in the subnormal range
  (random) => {
    const exponent = 1 + random.below(100);
    return [random.number(exponent), random.number(exponent + 900 + random.below(170))];
  },
  // subnormal with anything
  (random) => [random.number(0, 1 + random.below(52)), random.bits()],
  // subnormal or nearly so, both
  (random) => [random.number(random.below(3)), random.number(random.below(3), random.below(53))],
  // powers of two and their neighbours
  (random) => [random.nearPower(), random.nearPower()],
  // close powers of two and their neighbours
  (random) => {
    const exponent = 1 + random.below(1900);
    return [random.nearPower(exponent), random.nearPower(exponent + random.below(60))];
  },
  // integers
  (random) => [bitsOf(random.word() >>> random.below(32)), bitsOf(random.word() >>> random.below(32))],
  // decimal rewards
  (random) => [bitsOf((random.below(4001) - 2000) / 10 ** random.below(5)), bitsOf((random.below(201) - 100) / 10)],
  // runs of zeros and ones, on which estimated digits err
  (random) => [random.runs(), random.runs()],
  // an edge value with anything
  (random, edges) => [edges[random.below(edges.length)], random.bits()],
  // squares of 26-bit integers and their neighbours, with halfway roots of 54 bits among them
  (random) => {
    const square = () => bitsOf((0x2000000 + random.below(0x2000000)) ** 2 / 4 ** random.below(500));
    return [square() + BigInt(random.below(3)) - 1n, square()];
  },
  // squares of roots that lie just beside halfway
  (random) => {
    const square = () => {
      const root = (1n << 53n) | (random.bits() >> 11n) | 1n;
      return bitsOf(Number(root * root + BigInt(random.below(3)) - 1n));
    };
    return [square(), square()];
  },
  // halfway between binary32 numbers and neighbours of that, from below the binary32 subnormals to overflow
  (random) => {
    const exponent = 1023 - 152 + random.below(282);
    const kept = Math.max(0, Math.min(23, exponent - (1023 - 149)));
    const halfway = (random.number(exponent, kept) | (1n << BigInt(51 - kept))) + BigInt(random.below(3)) - 1n;
    return [halfway, random.number(1023 - 152 + random.below(282))];
  },
];

/** Seeded words: a 32-bit splitmix generator. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  word(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }

  below(limit: number): number {
    return this.word() % limit;
  }

  bits(): bigint {
    return (BigInt(this.word()) << 32n) | BigInt(this.word());
  }

  /** Either sign, this exponent field, and a fraction whose bits after the first `kept` are zeros. */
  number(exponent: number, kept = 52): bigint {
    const fraction = (this.bits() >> BigInt(64 - kept)) << BigInt(52 - kept);
    return (BigInt(this.below(2)) << 63n) | (BigInt(Math.min(exponent, 2046)) << 52n) | fraction;
  }

  nearPower(exponent = 1 + this.below(2046)): bigint {
    return (BigInt(this.below(2)) << 63n) | ((BigInt(exponent) << 52n) + BigInt(this.below(3)) - 1n);
  }

  runs(): bigint {
    const mask = (1n << 52n) - 1n;
    const from = BigInt(this.below(53));
    const to = BigInt(this.below(53));
    const fraction = (mask >> from) ^ (mask >> to) ^ (BigInt(this.below(2)) * mask);
    return (BigInt(900 + this.below(250)) << 52n) | (fraction ^ BigInt(this.below(3)));
  }
}
