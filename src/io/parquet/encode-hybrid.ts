/** Encodes small integers as runs where they repeat and as packed bits where they do not. */

/** Groups of eight entries that one packed run may hold, so that its header stays one byte. */
const MOST_GROUPS = 63;
const SHORTEST_RUN = 8;

/** The hybrid of values[from..to), each of `width` bits (at most 24). */
export function encodeHybrid(values: Uint8Array | Int32Array, from: number, to: number, width: number): Uint8Array {
  // No run of eight is longer than the packing of its entries, headers apart.
  const groups = Math.ceil((to - from) / 8);
  const target = new Uint8Array(groups * (width + 1) + 16 + Math.ceil(groups / MOST_GROUPS));
  let at = 0;
  let header = -1;
  let packed = 0;
  for (let i = from; i < to; ) {
    const end = endOfRun(values, i, to);
    if (end - i >= SHORTEST_RUN) {
      at = writeRun(target, at, end - i, values[i], width);
      header = -1;
      i = end;
      continue;
    }
    if (header < 0 || packed === MOST_GROUPS) {
      header = at++;
      packed = 0;
    }
    packGroup(values, i, Math.min(to, i + 8), width, target, at);
    at += width;
    target[header] = (++packed << 1) | 1;
    i = Math.min(to, i + 8);
  }
  return target.subarray(0, at);
}

/** A single run. */
export function encodeRun(value: number, count: number, width: number): Uint8Array {
  const target = new Uint8Array(16);
  return target.subarray(0, writeRun(target, 0, count, value, width));
}

function endOfRun(values: Uint8Array | Int32Array, start: number, to: number): number {
  const value = values[start];
  let end = start + 1;
  while (end < to && values[end] === value) end++;
  return end;
}

function writeRun(target: Uint8Array, start: number, count: number, value: number, width: number): number {
  let at = start;
  let rest = count * 2;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) target[at++] = (rest % 0x80) | 0x80;
  target[at++] = rest;
  for (let shift = 0; shift < width; shift += 8) target[at++] = value >>> shift;
  return at;
}

function packGroup(
  values: Uint8Array | Int32Array,
  from: number,
  to: number,
  width: number,
  target: Uint8Array,
  start: number,
): void {
  let buffer = 0;
  let filled = 0;
  let at = start;
  for (let i = from; i < to; i++) {
    buffer |= values[i] << filled;
    filled += width;
    for (; filled >= 8; filled -= 8, buffer >>>= 8) target[at++] = buffer;
  }
  if (filled > 0) target[at] = buffer;
}
