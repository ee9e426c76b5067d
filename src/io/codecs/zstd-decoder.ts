/** Zstd's own decoder in WebAssembly: blocks of known length at once, frames of any length piece by piece. */
import { ZSTDDecoder } from 'zstddec/stream';
import { InputError } from '../../errors.ts';

/** What of the C library is exported; pointers and sizes are 32-bit. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  malloc(byteLength: number): number;
  free(pointer: number): void;
  ZSTD_createDCtx(): number;
  ZSTD_decompress(target: number, capacity: number, source: number, byteLength: number): number;
  ZSTD_decompressStream(context: number, output: number, input: number): number;
}

let module: WebAssembly.Module | null = null;
let loading: Promise<unknown> | null = null;

/**
 * The package's class looks at no error code and gives no memory back after an error, so that only its module is
 * taken: with an instance of their own, streams cannot harm one another and leave nothing behind.
 */
class ModuleSource extends ZSTDDecoder {
  override _init(result: WebAssembly.WebAssemblyInstantiatedSource): void {
    module = result.module;
  }
}

/** To be awaited before any other function here. */
export async function loadZstdDecoder(): Promise<void> {
  loading ??= initialize();
  await loading;
}

/** The package fetches its own data URL where it can, for which Node would load its whole HTTP client in every thread. */
function initialize(): Promise<void> {
  const { fetch } = globalThis;
  try {
    Reflect.set(globalThis, 'fetch', undefined);
    return new ModuleSource().init();
  } finally {
    globalThis.fetch = fetch;
  }
}

/** The decoder for blocks never gives memory back; one that has held more than this is not kept. */
const LARGEST_KEPT = 64 << 20;

let blockDecoder: Exports | null = null;

/** @throws InputError where the bytes are corrupt or become more than that length; they may become less */
export function zstdBlock(bytes: Uint8Array, length: number): Uint8Array {
  return zstdBlockInPlace(bytes, length).slice();
}

/** The same, of which the bytes are valid until the next block. */
export function zstdBlockInPlace(bytes: Uint8Array, length: number): Uint8Array {
  blockDecoder ??= instantiate();
  const zstd = blockDecoder;
  // One that failed in the middle is not used again.
  blockDecoder = null;
  const [source, target] = [allocate(zstd, bytes.length), allocate(zstd, length)];
  heap(zstd, source, bytes.length).set(bytes);
  const written = zstd.ZSTD_decompress(target, length, source, bytes.length) >>> 0;
  if (written > FIRST_ERROR) throw new InputError(`a zstd block is corrupt: ${describe(errorOf(written), length)}`);
  // What has been given back stays as it is until something is asked for.
  const plain = heap(zstd, target, written);
  zstd.free(target);
  zstd.free(source);
  if (zstd.memory.buffer.byteLength <= LARGEST_KEPT) blockDecoder = zstd;
  return plain;
}

/** What the library accepts without being told otherwise: the bytes that a frame may refer back to. */
export const LARGEST_WINDOW = 2 ** 27;
const PIECE_BYTES = 1 << 17;
const POINTER_BYTES = 4;

/** Decodes frame after frame; its memory goes with it. */
export class ZstdStream {
  /** Whether what has been taken ends with a whole frame. */
  isBetweenFrames = true;
  readonly #zstd: Exports = instantiate();
  readonly #context = this.#zstd.ZSTD_createDCtx();
  readonly #input = allocate(this.#zstd, PIECE_BYTES);
  readonly #output = allocate(this.#zstd, PIECE_BYTES);
  /** Two structures of start, length and position: what is read, and what is written. */
  readonly #inputState = allocate(this.#zstd, 3 * POINTER_BYTES);
  readonly #outputState = allocate(this.#zstd, 3 * POINTER_BYTES);

  /**
   * Takes a part of the bytes and gives what it became, at most 128 KiB; stops at the end of a frame.
   * With no bytes, gives what is still to be given.
   * @throws InputError where they are corrupt
   */
  decode(bytes: Uint8Array): { readonly taken: number; readonly plain: Uint8Array } {
    const piece = bytes.subarray(0, PIECE_BYTES);
    heap(this.#zstd, this.#input, piece.length).set(piece);
    this.#state(this.#inputState).set([this.#input, piece.length, 0]);
    this.#state(this.#outputState).set([this.#output, PIECE_BYTES, 0]);
    const result = this.#zstd.ZSTD_decompressStream(this.#context, this.#outputState, this.#inputState) >>> 0;
    if (result > FIRST_ERROR) throw new ZstdError(errorOf(result));
    const taken = this.#state(this.#inputState)[2];
    const written = this.#state(this.#outputState)[2];
    if (taken > 0 || written > 0) this.isBetweenFrames = result === 0;
    return { taken, plain: heap(this.#zstd, this.#output, written).slice() };
  }

  #state(pointer: number): Uint32Array {
    return new Uint32Array(this.#zstd.memory.buffer, pointer, 3);
  }
}

/** Why a stream cannot be decoded; the caller knows which frame it is. */
export class ZstdError extends Error {
  /** Whether there is no frame where one should begin. */
  readonly isNoFrame: boolean;

  constructor(code: number) {
    super(describe(code, PIECE_BYTES));
    this.name = 'ZstdError';
    this.isNoFrame = code === PREFIX_UNKNOWN;
  }
}

/** Results past this are the library's error codes, counted down from 2^32. */
const FIRST_ERROR = 2 ** 32 - 120;
const PREFIX_UNKNOWN = 10;

function errorOf(result: number): number {
  return 2 ** 32 - result;
}

/** In zstd's own words, but for those whose cause has a better name here. */
function describe(code: number, length: number): string {
  switch (code) {
    case PREFIX_UNKNOWN:
      return 'it does not begin with a frame, or is followed by other bytes';
    case 14:
      return 'its header asks for what is not supported';
    case 16:
      return `it needs a window of more than ${LARGEST_WINDOW} bytes`;
    case 22:
      return 'its checksum does not match';
    case 32:
      return 'it needs a dictionary, which is not supported';
    case 64:
      return 'it needs more memory than there is';
    case 70:
      return `it has more than ${length} bytes`;
    case 72:
      return 'it is cut off, or longer than its frame';
    default:
      return `its blocks cannot be decoded (zstd error ${code})`;
  }
}

function instantiate(): Exports {
  if (module === null) throw new Error('the zstd decoder was not loaded');
  const instance = new WebAssembly.Instance(module, { env: { emscripten_notify_memory_growth() {} } });
  return instance.exports as unknown as Exports;
}

function allocate(zstd: Exports, byteLength: number): number {
  // An empty piece has a place of its own too.
  const pointer = zstd.malloc(Math.max(byteLength, 1)) >>> 0;
  if (pointer === 0) throw new InputError(`${byteLength} bytes of zstd need more memory than its decoder can have`);
  return pointer;
}

/** A view that holds until the memory grows. */
function heap(zstd: Exports, pointer: number, byteLength: number): Uint8Array {
  return new Uint8Array(zstd.memory.buffer, pointer, byteLength);
}
