import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import type { VectorRequest } from '../../../src/io/vectors.ts';
import { Random } from '../../support/random.ts';
import { fixture, pickleOf, read, text, torchFile, uint32, zipOf } from './support.ts';

const WANTED: readonly VectorRequest[] = [
  { path: ['index'], as: 'value' },
  { path: ['loss_mask'], as: 'mask' },
  { path: ['reward'], as: 'value' },
];
const START = '\x80\x02';
const dict = (...members: string[]) => `}(${members.join('')}u`;
const sample = (...members: string[]) => dict(text('index'), 'K\x05', ...members);
const LONG_RUN = 'K\x01'.repeat(100);

/** The message with which a file is refused; a fault if it is not. */
function refusal(bytes: Uint8Array): string {
  try {
    read(bytes, WANTED);
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
  throw new Error('was not refused');
}

const refusedPickles: [string, string | (() => string), RegExp][] = [
  ['no pickle', 'hello', /expected a pickle of protocol 2 to 5/],
  ['nothing', '', /is cut off/],
  ['protocol 6', '\x80\x06.', /protocol is 6/],
  ['no STOP', `${START}](`, /is cut off/],
  ['no opcode', `${START}\x00.`, /opcode 0x00/],
  ['text-mode integers', `${START}I1\n.`, /opcode INT is not read/],
  ['out-of-band buffers', `${START}\x97.`, /opcode NEXT_BUFFER is not read/],
  ['STOP on nothing', `${START}.`, /STOP needs a value/],
  ['POP on nothing', `${START}0.`, /POP needs a value/],
  ['APPENDS without a mark', `${START}]K\x01e.`, /APPENDS needs a mark/],
  ['APPENDS on nothing', `${START}(K\x01e.`, /APPENDS needs a value/],
  ['APPEND below a mark', `${START}](K\x01a.`, /APPEND needs a value/],
  ['TUPLE3 below a mark', `${START}K\x01(K\x01K\x01\x87.`, /TUPLE3 needs a value/],
  ['an odd number of dict items', `${START}}(K\x01u.`, /a key of a dict has no value/],
  ['APPENDS to a dict', `${START}}(}e.`, /entries are added to a dict/],
  ['SETITEMS to a list', `${START}](K\x01K\x01u.`, /keys are set in a list/],
  ['REDUCE without arguments', `${START}ca\nb\nK\x01R.`, /REDUCE needs a tuple/],
  ['STACK_GLOBAL of numbers', `${START}K\x01K\x01\x93.`, /STACK_GLOBAL needs the names/],
  ['an empty memo', `${START}h\x05.`, /memo entry 5, which does not exist/],
  ['MEMOIZE after a gap', `${START}]q\x05\x94.`, /out of order/],
  ['an integer of 2^31 - 1 bytes', `${START}\x8b\xff\xff\xff\x7f.`, /2147483647 bytes should follow/],
  ['an integer of 2^32 - 1 bytes', `${START}\x8b\xff\xff\xff\xff.`, /4294967295 bytes should follow/],
  ['an integer of 600 bytes', `${START}\x8b${uint32(600)}${'\x01'.repeat(600)}.`, /more than 4,096 bits/],
  ['text longer than the pickle', `${START}X\xff\xff\xff\xffab.`, /4294967295 bytes should follow/],
  ['bytes of 2^63 bytes', `${START}\x96${'\xff'.repeat(8)}.`, /bytes should follow/],
  ['a line without an end', () => `${START}c${'a'.repeat(5000)}`, /expected a line/],
  ['text that is not UTF-8', `${START}](${dict(text('index'), 'X\x01\x00\x00\x00\xff')}e.`, /not valid UTF-8/],
  ['a cut-off list of numbers', `${START}](${sample()}${dict(text('loss_mask'), `](K\x01${'M\x01'}`)}`, /is cut off/],
  ['a number', `${START}K\x01.`, /found int/],
  ['None', `${START}N.`, /found None/],
  ['a dict without samples', `${START}}(${text('data')}]u.`, /with the keys data/],
  ['samples that are text', `${START}}(${text('samples')}${text('x')}u.`, /samples of type str/],
  ['samples that are numbers', `${START}](K\x01K\x02e.`, /sample 1 must be a dict, found int/],
  ['a sample that is None', `${START}](${sample()}Ne.`, /sample 2 must be a dict, found None/],
  ['a group of numbers', () => `${START}](${sample()}](${LONG_RUN}ee.`, /sample 2 must be a dict, found int/],
  ['two lists of samples', `${START}}(${text('samples')}]${text('samples')}]u.`, /two lists of samples/],
  ['samples that are dropped again', `${START}](${sample()}${sample()}${sample()}1.`, /takes samples back/],
  ['a list of samples in itself', `${START}]q\x00(h\x00e.`, /twice|deep/],
  ['a group in itself', `${START}](${sample()}](${'K\x01'}q\x03]q\x01(h\x01eee.`, /must be a dict|deep|twice/],
  ['a group that is there twice', `${START}](]q\x01(${sample()}eh\x01e.`, /twice/],
  ['a deeply nested sample', `${START}](${sample()}}${'\x85'.repeat(20)}e.`, /nested more than 16 lists deep/],
  [
    'a mask that grows later',
    `${START}](${sample(text('loss_mask'), ']q\x09(K\x01e')}}h\x09(K\x00e0e.`,
    /list is changed after/,
  ],
  [
    'a sample that changes later',
    `${START}](}q\x09(${text('index')}K\x01u}h\x09(${text('a')}Nu0e.`,
    /dict is changed after/,
  ],
  ['lists in lists', () => `${START}${']'.repeat(300_000)}.`, /unfinished values/],
  ['marks on marks', () => `${START}${'('.repeat(20_000)}.`, /nested more than 10000 deep/],
  ['values without end', () => `${START}${'N'.repeat(300_000)}.`, /unfinished values/],
  [
    'values without end in lists',
    () =>
      `${START}}(${`${text('a')}]${`(${']'.repeat(1000)}e`.repeat(900)}`.repeat(1)}${text('b')}](${']'.repeat(1000)}${`](${']'.repeat(1000)}e`.repeat(900)}eu.`,
    /too many to keep/,
  ],
  [
    'metadata that doubles',
    () => `${START}}(${text('metadata')}]${'2\x86'.repeat(64)}${text('samples')}]u.`,
    /too deep or too many/,
  ],
  ['metadata in itself', `${START}}(${text('metadata')}]q\x01h\x01a${text('samples')}]u.`, /too deep or too many/],
  ['more samples than bytes', () => sharedGroups(), /more samples than bytes/],
];

/** A list of 1,000 samples, kept outside of the list of samples and 1,000 times in it. */
function sharedGroups(): string {
  const group = `](${'}'.repeat(1000)}e`;
  return `${START}}(${text('other')}${group}q\x01${text('samples')}](${'h\x01'.repeat(1000)}eu.`;
}

describe('a pickle is refused that holds', () => {
  test.each(refusedPickles)('%s', (_, pickle, message) => {
    expect(refusal(torchFile(typeof pickle === 'string' ? pickle : pickle()))).toMatch(message);
  });
});

const storage = (count: string, key = '0') =>
  `(${text('storage')}ctorch\nLongStorage\n${text(key)}${text('cpu')}${count}tQ`;
const tensor = (count: string, offset: string, size: string, stride: string, key?: string) =>
  `ctorch._utils\n_rebuild_tensor_v2\n(${storage(count, key)}${offset}${size}\x85${stride}\x85\x89}tR`;
const tensorFile = (mask: string, storageBytes = 32) =>
  zipOf([
    { name: 'x/data.pkl', bytes: pickleOf(START, `](${sample(text('loss_mask'), mask)}e.`) },
    { name: 'x/data/0', bytes: new Uint8Array(storageBytes) },
  ]);

describe('a tensor is refused that', () => {
  const elements = 'K\x04';
  test.each<[string, Uint8Array, RegExp]>([
    [
      'is longer than its storage',
      tensorFile(tensor(elements, 'K\x00', 'K\x05', 'K\x01')),
      /needs 5 elements of storage "0", which has 4/,
    ],
    ['starts outside', tensorFile(tensor(elements, 'K\x04', 'K\x01', 'K\x01')), /needs 5 elements/],
    ['strides outside', tensorFile(tensor(elements, 'K\x00', 'K\x03', 'K\x02')), /needs 5 elements/],
    [
      'is of a storage cut off',
      tensorFile(tensor(elements, 'K\x00', 'K\x04', 'K\x01'), 31),
      /needs 4 elements .* has 3/,
    ],
    [
      'is huge',
      tensorFile(tensor(elements, 'K\x00', '\x8a\x06\xff\xff\xff\xff\xff\x0f', 'K\x01')),
      /needs \d+ elements/,
    ],
    [
      'has no storage',
      tensorFile(tensor(elements, 'K\x00', 'K\x04', 'K\x01', '7')),
      /"x\/data\/7", which does not exist/,
    ],
    [
      'has a storage by a strange name',
      tensorFile(tensor(elements, 'K\x00', 'K\x04', 'K\x01', '../data.pkl')),
      /does not exist/,
    ],
  ])('%s', (_, bytes, message) => {
    expect(refusal(bytes)).toMatch(message);
  });

  test('is one of many over one large storage', () => {
    const view = `h\x01h\x02R`;
    const first = `ctorch._utils\n_rebuild_tensor_v2\nq\x01(${storage('M\xff\xff')}K\x00M\xff\xff\x85K\x01\x85\x89}tq\x02R`;
    const samples = [first, ...Array(200).fill(view)].map((mask) => dict(text('loss_mask'), mask));
    const bytes = zipOf([
      { name: 'x/data.pkl', bytes: pickleOf(START, `](${samples.join('')}e.`) },
      { name: 'x/data/0', bytes: new Uint8Array(8 * 65_535) },
    ]);
    expect(refusal(bytes)).toMatch(/read the file 8 times/);
  });

  test('or is read at once where it repeats one element', () => {
    const { samples } = read(
      tensorFile(tensor(elements, 'K\x00', '\x8a\x06\xff\xff\xff\xff\xff\x0f', 'K\x00')),
      WANTED,
    );
    expect(samples[0].values[1]).toMatchObject({ kind: 'mask', ones: 0, length: 2 ** 44 - 1 });
  });
});

const PICKLE = pickleOf(START, `](${sample()}e.`);
const DATA = { name: 'archive/data.pkl', bytes: PICKLE };

describe('a ZIP file is refused with', () => {
  test.each<[string, Uint8Array, RegExp]>([
    ['no pickle', zipOf([{ name: 'a/b', bytes: PICKLE }]), /no ZIP entry data.pkl/],
    ['two pickles', zipOf([DATA, { name: 'b/data.pkl', bytes: PICKLE }]), /two pickles/],
    ['a program', zipOf([DATA, { name: 'archive/constants.pkl', bytes: PICKLE }]), /TorchScript/],
    [
      'big-endian storages',
      zipOf([DATA, { name: 'archive/byteorder', bytes: Buffer.from('big') }]),
      /byte order is "big"/,
    ],
    ['a deflated pickle', zipOf([{ ...DATA, method: 8 }]), /"archive\/data.pkl" is compressed \(deflate\)/],
    ['an encrypted pickle', zipOf([{ ...DATA, flags: 1 }]), /is encrypted/],
    [
      'another name in the header',
      zipOf([{ ...DATA, localName: 'archive/DATA.pkl' }]),
      /is called "archive\/DATA.pkl"/,
    ],
    ['a larger size in the directory', zipOf([{ ...DATA, byteLength: 10 ** 9 }]), /does not fit/],
    ['a smaller size in the directory', zipOf([{ ...DATA, byteLength: 3 }]), /by its own header, 3 by the directory/],
    ['a position past the end', zipOf([{ ...DATA, headerStart: 10 ** 9 }]), /does not fit/],
    ['a position of something else', zipOf([{ ...DATA, headerStart: 1 }]), /expected the header/],
    ['its end cut off', zipOf([DATA]).subarray(0, -5), /expected the directory of a ZIP file/],
    [
      'bytes cut out',
      Buffer.concat([zipOf([DATA]).subarray(0, 20), zipOf([DATA]).subarray(30)]),
      /does not fit|expected/,
    ],
  ])('%s', (_, bytes, message) => {
    expect(refusal(bytes)).toMatch(message);
  });

  test('64-bit sizes is read', () => {
    const wide = zipOf([DATA, { name: 'archive/data/0', bytes: PICKLE }], true);
    expect(read(wide, WANTED).result.sampleCount).toBe(1);
  });

  test.each(['', 'a/b/c/', 'é/'])('any prefix of the names is read: %j', (prefix) => {
    expect(read(zipOf([{ name: `${prefix}data.pkl`, bytes: PICKLE }]), WANTED).result.sampleCount).toBe(1);
  });
});

describe('values', () => {
  test('that are asked for again over any distance are found', () => {
    const filler = `}\x94(${text('index')}K\x01${text('x')}${text('abc')}\x94u`;
    const first = sample(text('loss_mask'), `]\x94(K\x01K\x00K\x01e`);
    const last = sample(text('loss_mask'), 'h\x00');
    const bytes = torchFile(START, `](${first}${filler.repeat(70_000)}${last}e.`);
    const { samples, ordinals } = read(bytes, WANTED);
    expect(samples).toHaveLength(70_002);
    expect(ordinals).toEqual(samples.map((_, i) => i));
    expect(samples.at(-1)!.values[1]).toEqual({ kind: 'mask', ones: 2, length: 3, invalid: null });
  });

  test('of lists that grow after they were stored in the memo are complete', () => {
    const bytes = torchFile(START, `](${sample(text('loss_mask'), `]q\x05K\x01ah\x05K\x01a0(K\x01K\x00e`)}e.`);
    expect(read(bytes, WANTED).samples[0].values[1]).toEqual({ kind: 'mask', ones: 3, length: 4, invalid: null });
  });

  test('under equal keys are the last', () => {
    const bytes = torchFile(START, `](${sample(text('index'), 'K\x06')}${sample()}e.`);
    expect(read(bytes, WANTED).samples.map(({ values }) => values[0])).toEqual([
      { kind: 'integer', value: 6 },
      { kind: 'integer', value: 5 },
    ]);
  });

  test('that lie across the edges of the window are whole', () => {
    for (let shift = 0; shift < 12; shift++) {
      const padding = text('p'.repeat(100_000 + shift));
      const mask = `](${'K\x01K\x00\x88'.repeat(300)}e`;
      const one = sample(
        text('pad'),
        padding,
        text('loss_mask'),
        mask,
        text('logs'),
        `](${`G${'\x40'.repeat(8)}M\x01\x02`.repeat(9000)}e`,
      );
      const { samples } = read(torchFile(START, '](', ...Array(12).fill(one), 'e.'), WANTED);
      for (const { values } of samples)
        expect(values[1]).toEqual({ kind: 'mask', ones: 600, length: 900, invalid: null });
    }
  });
});

const SEEDS = [
  'ordinary-2',
  'ordinary-4',
  'masks-2',
  'masks-5',
  'rewards-4',
  'groups-2',
  'shared-2',
  'objects-4',
  'statuses-2',
];
const ROUNDS = Number(process.env.ROLLNORM_FUZZ_ROUNDS ?? 2000);

test(`${ROUNDS} damaged files are read or refused, each in a moment`, () => {
  const random = new Random(Number(process.env.ROLLNORM_SEED ?? 1));
  const sources = SEEDS.map((name) => readFileSync(fixture(`${name}.pt`)));
  for (let round = 0; round < ROUNDS; round++) {
    const bytes = damaged(random.pick(sources), random);
    const begun = performance.now();
    try {
      read(bytes);
    } catch (error) {
      if (!(error instanceof InputError)) throw new Error(`round ${round}: ${error}`, { cause: error });
    }
    expect(performance.now() - begun, `round ${round}`).toBeLessThan(5000);
  }
});

const OPCODES = Buffer.from(
  '().012BCGIJKMNQRTUX]abcdeghijloqrstu}\x80\x81\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x96',
  'latin1',
);

function damaged(source: Buffer, random: Random): Buffer {
  let bytes = Buffer.from(source);
  for (let left = random.integer(1, 6); left > 0; left--) {
    const at = random.chance(0.1)
      ? Math.max(0, bytes.length - random.integer(1, 700))
      : random.integer(0, bytes.length - 1);
    const count = Math.min(random.integer(1, 12), bytes.length - at);
    const kind = random.integer(0, 5);
    if (kind === 0) bytes[at] ^= 1 << random.integer(0, 7);
    else if (kind === 1) bytes[at] = random.pick([0, 1, 0x7f, 0x80, 0xff]);
    else if (kind === 2) bytes[at] = OPCODES[random.integer(0, OPCODES.length - 1)];
    else if (kind === 3) bytes.copyWithin(at, random.integer(0, bytes.length - count), bytes.length - count);
    else if (kind === 4) bytes.fill(random.pick([0, 0xff, 0x28, 0x5d]), at, at + count);
    else bytes.copy(bytes, at, random.integer(0, bytes.length - count), random.integer(0, bytes.length));
  }
  if (random.chance(0.05)) bytes = bytes.subarray(0, random.integer(1, bytes.length));
  return bytes;
}

test(`${ROUNDS} pickles of random opcodes are read or refused, each in a moment`, () => {
  const random = new Random(Number(process.env.ROLLNORM_SEED ?? 2));
  for (let round = 0; round < ROUNDS; round++) {
    const parts = Array.from({ length: random.integer(1, 60) }, () => random.pick(SNIPPETS));
    const begun = performance.now();
    try {
      read(torchFile(START, random.pick(['', ']', '](', `}(${text('samples')}](`]), ...parts, '.'), WANTED);
    } catch (error) {
      if (!(error instanceof InputError)) throw new Error(`round ${round}: ${error}`, { cause: error });
    }
    expect(performance.now() - begun, `round ${round}`).toBeLessThan(5000);
  }
});

const SNIPPETS = [
  ...Buffer.from(OPCODES).toString('latin1'),
  ...[
    'K\x00',
    'K\x01',
    'M\x01\x01',
    `G${'\x3f\xf0'.padEnd(8, '\x00')}`,
    'q\x01',
    'q\x02',
    'h\x01',
    'h\x02',
    '\x94',
    'N',
  ],
  ...[
    sample(),
    text('index'),
    text('loss_mask'),
    text('samples'),
    text('i8'),
    text('latin1'),
    `](${LONG_RUN}e`,
    `(${LONG_RUN}t`,
  ],
  ...[
    'cnumpy\ndtype\n',
    'c_codecs\nencode\n',
    'cnumpy._core.multiarray\nscalar\n',
    'cnumpy._core.multiarray\n_reconstruct\n',
  ],
  ...[
    'ctorch._utils\n_rebuild_tensor_v2\n',
    'ccollections\nOrderedDict\n',
    'cbuiltins\ngetattr\n',
    'c__main__\nSample\n',
  ],
  ...[
    storage('K\x04'),
    tensor('K\x04', 'K\x00', 'K\x04', 'K\x01'),
    ')',
    '}',
    ']',
    '(',
    'e',
    'a',
    's',
    'u',
    '\x85',
    '\x86',
    'R',
    'b',
    '\x81',
  ],
];
