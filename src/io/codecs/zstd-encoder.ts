/** Zstd's own compressor in WebAssembly, one frame at a time. */
type Zstd = typeof import('@bokuweb/zstd-wasm');
type Hash64 = (bytes: Uint8Array) => bigint;

/** Zstd's default. */
const LEVEL = 3;
const DESCRIPTOR = 4;
const CHECKSUM_FLAG = 0x04;
const CHECKSUM_BYTES = 4;

let zstd: Zstd | null = null;
let hash64: Hash64 | null = null;
let loading: Promise<void> | null = null;

/** To be awaited before any other function here. */
export function loadZstdEncoder(): Promise<void> {
  // The promise is kept, not the modules: two initializations at once break the compressor.
  loading ??= load();
  return loading;
}

async function load(): Promise<void> {
  const [module, { default: xxhash }] = await Promise.all([import('@bokuweb/zstd-wasm'), import('xxhash-wasm')]);
  await module.init();
  hash64 = (await xxhash()).h64Raw;
  zstd = module;
}

/** A frame that states its length and has no checksum. */
export function toZstd(bytes: Uint8Array): Uint8Array {
  if (zstd === null) throw new Error('the zstd compressor was not loaded');
  return zstd.compress(bytes, LEVEL);
}

/** A frame for a file: it states its length, and a checksum ends it. */
export function toZstdFrame(bytes: Uint8Array): Uint8Array {
  const frame = toZstd(bytes);
  const whole = new Uint8Array(frame.length + CHECKSUM_BYTES);
  whole.set(frame);
  // The package's compressor leaves out the checksum: the low half of the content's 64-bit xxHash.
  whole[DESCRIPTOR] |= CHECKSUM_FLAG;
  const checksum = Number(BigInt.asUintN(32, hash64!(bytes)));
  new DataView(whole.buffer).setUint32(frame.length, checksum, true);
  return whole;
}
