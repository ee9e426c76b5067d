/** Gzip files of any number of members, inflated no further than the consumer asks. */
import { crc32, createInflateRaw } from 'node:zlib';
import { InputError } from '../../errors.ts';
import { ChunkCursor, cutOff } from './chunk-cursor.ts';

export const GZIP_MAGIC = [0x1f, 0x8b];
const INFLATED_SIZE = 1 << 17;

/**
 * The plain bytes of all members of a gzip file. Node's own gunzip drops what follows a member without a word when it
 * starts with a zero or arrives in a later chunk, so members are framed here and only their bodies are left to zlib.
 */
export async function* gunzip(
  chunks: AsyncGenerator<Uint8Array, void, undefined>,
  name: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const input = new ChunkCursor(chunks);
  try {
    for (let member = 1; await input.fill(); member++) {
      const place = `${name}: gzip member ${member}`;
      await readMemberHeader(input, place, `${name}: bytes after gzip member ${member - 1}`);
      yield* inflateMember(input, place);
    }
  } finally {
    await chunks.return();
  }
}

const HEADER_CRC = 0x02;
const EXTRA_FIELD = 0x04;
const FILE_NAME = 0x08;
const COMMENT = 0x10;
const RESERVED_FLAGS = 0xe0;

/** Reads an RFC 1952 member header; its optional parts are dropped but checked. */
async function readMemberHeader(input: ChunkCursor, place: string, placeBefore: string): Promise<void> {
  let crc = 0;
  const single = new Uint8Array(1);
  const next = async () => {
    single[0] = await input.byte(place);
    crc = crc32(single, crc);
    return single[0];
  };
  for (const magic of GZIP_MAGIC) {
    if ((await next()) !== magic)
      throw new InputError(`${placeBefore}: expected another member or the end of the file`);
  }
  const method = await next();
  if (method !== 8) throw new InputError(`${place}: compression method is ${method}, expected 8 (deflate)`);
  const flags = await next();
  if (flags & RESERVED_FLAGS) throw new InputError(`${place}: header has reserved flags set`);
  for (let i = 0; i < 6; i++) await next();
  if (flags & EXTRA_FIELD) {
    for (let left = (await next()) | ((await next()) << 8); left > 0; left--) await next();
  }
  for (const text of [FILE_NAME, COMMENT]) {
    if (flags & text) while ((await next()) !== 0);
  }
  if (flags & HEADER_CRC) {
    const expected = crc & 0xffff;
    const found = (await input.byte(place)) | ((await input.byte(place)) << 8);
    if (found !== expected) throw new InputError(`${place}: header checksum does not match`);
  }
}

/** Inflates one member's body piece by piece, as the consumer asks, and checks its trailer. */
async function* inflateMember(input: ChunkCursor, place: string): AsyncGenerator<Uint8Array, void, undefined> {
  let crc = 0;
  let byteLength = 0;
  for await (const piece of inflateBody(input, place)) {
    crc = crc32(piece, crc);
    byteLength = (byteLength + piece.length) >>> 0;
    yield piece;
  }
  if ((await input.uint32(place)) !== crc) throw new InputError(`${place}: is corrupt: its checksum does not match`);
  if ((await input.uint32(place)) !== byteLength)
    throw new InputError(`${place}: is corrupt: its length does not match`);
}

async function* inflateBody(input: ChunkCursor, place: string): AsyncGenerator<Uint8Array, void, undefined> {
  const inflater = createInflateRaw({ chunkSize: INFLATED_SIZE });
  const state = { busy: false, ended: false, error: undefined as Error | undefined };
  let happened = false;
  let wake = () => {};
  const notify = () => {
    happened = true;
    wake();
  };
  inflater.on('readable', notify);
  inflater.on('end', () => {
    state.ended = true;
    notify();
  });
  inflater.on('error', (error) => {
    state.error = error;
    notify();
  });
  let consumed = 0;
  try {
    for (;;) {
      // Pulling, and feeding only when nothing is left to pull, keeps a bomb from inflating ahead of the consumer.
      const piece: Buffer | null = inflater.read();
      input.advance(inflater.bytesWritten - consumed);
      consumed = inflater.bytesWritten;
      if (state.error) throw new InputError(`${place}: is corrupt: ${state.error.message}`, { cause: state.error });
      if (piece) {
        yield piece;
        continue;
      }
      if (state.ended) return;
      if (!state.busy) {
        if (!(await input.fill())) throw cutOff(place);
        state.busy = true;
        inflater.write(input.rest(), () => {
          state.busy = false;
          notify();
        });
      }
      if (!happened) await new Promise<void>((resolve) => (wake = resolve));
      happened = false;
    }
  } finally {
    inflater.destroy();
  }
}
