import { expect, test } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { lz4Block, lz4Frame, lz4Hadoop } from '../../../src/io/codecs/lz4.ts';
import { xxhash32 } from '../../../src/io/codecs/xxhash32.ts';
import { Random } from '../../support/random.ts';
import { BLOCKS } from './support.ts';

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

test.each([
  ['00', ''],
  ['10 61', 'a'],
  ['11 61 0100 50 7878787878', 'aaaaaaxxxxx'],
  ['2f 6162 0200 01 50 7878787878', `${'ab'.repeat(11)}xxxxx`],
  ['f0 00 313233343536373839303132333435', '123456789012345'],
])('the block %s is %j', (hex, text) => {
  expect(Buffer.from(lz4Block(bytes(hex), text.length)).toString()).toBe(text);
});

test.each([
  ['20 61', 2, 'ends inside literals'],
  ['f0 ff', 300, 'ends inside a length'],
  ['30 616263', 2, 'has more than 2 bytes'],
  ['10 61', 2, 'has 1 bytes where 2 were promised'],
  ['10 61 01', 9, 'ends inside an offset'],
  ['10 61 0000 00', 9, 'refers to bytes before its beginning'],
  ['10 61 0200 00', 9, 'refers to bytes before its beginning'],
  ['1f 61 0100', 99, 'ends inside a length'],
  ['11 61 0100 50 7878787878', 5, 'has more than 5 bytes'],
  ['11 61 0100', 6, 'ends with a match'],
])('the block %s of %i bytes %s', (hex, length, message) => {
  expect(() => lz4Block(bytes(hex), length)).toThrow(new InputError(`an lz4 block ${message}`));
});

/** Matches at every distance and length, against the obvious loop. */
test('matches that overlap what they write repeat it', () => {
  const random = new Random(5);
  for (let round = 0; round < 500; round++) {
    const literals = Array.from({ length: random.integer(1, 14) }, () => random.integer(0, 255));
    const offset = random.integer(1, literals.length);
    const extra = random.integer(0, 200);
    const expected = [...literals];
    for (let i = 0; i < extra + 19; i++) expected.push(expected[expected.length - offset]);
    expected.push(1, 2, 3, 4, 5);
    const block = [(literals.length << 4) | 15, ...literals, offset, 0, extra, 0x50, 1, 2, 3, 4, 5];
    expect([...lz4Block(Uint8Array.from(block), expected.length)]).toEqual(expected);
  }
});

interface FrameParts {
  readonly flags?: number;
  readonly sizeCode?: number;
  readonly size?: string;
  readonly pieces: string;
  readonly headerCheck?: number;
}

/** A frame of three bytes. */
function frame({ flags = 0x60, sizeCode = 4, size = '', pieces, headerCheck }: FrameParts): Buffer {
  const descriptor = Buffer.concat([Buffer.of(flags, sizeCode << 4), bytes(size)]);
  const check = headerCheck ?? (xxhash32(descriptor) >> 8) & 0xff;
  return Buffer.concat([bytes('04224d18'), descriptor, Buffer.of(check), bytes(pieces)]);
}

const STORED = '03000080 616263';
const END = '00000000';
const SUM = hexOf(xxhash32(Buffer.from('abc')));

function hexOf(word: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(word);
  return bytes.toString('hex');
}

test.each<[string, FrameParts]>([
  ['a stored piece', { pieces: STORED + END }],
  ['a packed piece', { pieces: `04000000 30616263 ${END}` }],
  ['no end but its size', { flags: 0x68, size: '0300000000000000', pieces: STORED + END }],
  ['checksums', { flags: 0x74, pieces: STORED + SUM + END + SUM }],
])('a frame with %s is read', (_, parts) => {
  expect(Buffer.from(lz4Frame(frame(parts), 3)).toString()).toBe('abc');
});

test.each<[string, FrameParts]>([
  ['ends inside the length of a block', { pieces: STORED }],
  ['ends inside a piece', { pieces: '05000080 616263' }],
  ['ends inside a checksum', { flags: 0x64, pieces: STORED + END }],
  ['has a piece of 65537 bytes, 65536 are the most there', { pieces: `01000180 ${'61'.repeat(65_537)} ${END}` }],
  ['has a checksum that does not match', { flags: 0x70, pieces: `${STORED} 00000000 ${END}` }],
  ['has a checksum that does not match', { flags: 0x64, pieces: `${STORED} ${END} 00000000` }],
  ['has 3 bytes where its header says 4', { flags: 0x68, size: '0400000000000000', pieces: STORED + END }],
  ['has a header whose checksum does not match', { headerCheck: 0, pieces: STORED + END }],
  ['is of version 0 of the frame format, expected 1', { flags: 0x20, pieces: STORED + END }],
  ['needs a dictionary, which is not supported', { flags: 0x61, size: '01000000', pieces: STORED + END }],
  ['has the block size code 3', { sizeCode: 3, pieces: STORED + END }],
  ['does not begin with a frame, or is followed by other bytes', { pieces: `${STORED + END} 00000000` }],
])('a frame that %s is refused', (message, parts) => {
  expect(() => lz4Frame(frame(parts), 3)).toThrow(new InputError(`an lz4 block ${message}`));
});

test('only pieces that depend on one another refer to those before', () => {
  const pieces = `${STORED} 09000000 01 0300 50 7878787878 ${END}`;
  const text = 'abcabcabxxxxx';
  expect(Buffer.from(lz4Frame(frame({ flags: 0x40, pieces }), text.length)).toString()).toBe(text);
  expect(() => lz4Frame(frame({ flags: 0x60, pieces }), text.length)).toThrow('before its beginning');
});

test("Hadoop's framing may have an empty piece", () => {
  expect(lz4Hadoop(bytes('00000000'), 0).length).toBe(0);
  expect(Buffer.from(lz4Hadoop(bytes('00000003 00000004 30616263'), 3)).toString()).toBe('abc');
});

test("what is not Hadoop's framing is a block or a frame, with the message of that", () => {
  expect(() => lz4Hadoop(bytes('00000003 00000004 30616264 00'), 3)).toThrow('an lz4 block');
  expect(() => lz4Hadoop(frame({ pieces: STORED }), 3)).toThrow('ends inside the length of a block');
});

test('there are blocks in each framing among the fixtures', () => {
  const names = BLOCKS.filter(({ codec }) => codec === 'lz4').map(({ name }) => name.split(', ')[2]);
  expect([...new Set(names)].sort()).toEqual([
    'a bare block',
    'a frame',
    'in one piece',
    'in pieces',
    'in pieces of parts',
  ]);
});
