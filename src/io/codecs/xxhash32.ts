/** The 32-bit xxHash with seed 0, which LZ4 frames carry as their checksum. */

const PRIME_1 = 0x9e3779b1;
const PRIME_2 = 0x85ebca77;
const PRIME_3 = 0xc2b2ae3d;
const PRIME_4 = 0x27d4eb2f;
const PRIME_5 = 0x165667b1;
const STRIPE_BYTES = 16;

export function xxhash32(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  let hash = PRIME_5 | 0;
  if (bytes.length >= STRIPE_BYTES) {
    let [a, b, c, d] = [(PRIME_1 + PRIME_2) | 0, PRIME_2 | 0, 0, -PRIME_1 | 0];
    for (; at + STRIPE_BYTES <= bytes.length; at += STRIPE_BYTES) {
      a = round(a, view.getInt32(at, true));
      b = round(b, view.getInt32(at + 4, true));
      c = round(c, view.getInt32(at + 8, true));
      d = round(d, view.getInt32(at + 12, true));
    }
    hash = (rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)) | 0;
  }
  hash = (hash + bytes.length) | 0;
  for (; at + 4 <= bytes.length; at += 4) {
    hash = Math.imul(rotate((hash + Math.imul(view.getInt32(at, true), PRIME_3)) | 0, 17), PRIME_4);
  }
  for (; at < bytes.length; at++) {
    hash = Math.imul(rotate((hash + Math.imul(bytes[at], PRIME_5)) | 0, 11), PRIME_1);
  }
  hash = Math.imul(hash ^ (hash >>> 15), PRIME_2);
  hash = Math.imul(hash ^ (hash >>> 13), PRIME_3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function round(accumulator: number, lane: number): number {
  return Math.imul(rotate((accumulator + Math.imul(lane, PRIME_2)) | 0, 13), PRIME_1);
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}
