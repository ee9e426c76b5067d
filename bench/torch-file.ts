/** Writes a torch `.pt` dump as miles does: a ZIP file of one pickle, samples as dictionaries, tokens and masks as lists. */
import { closeSync, openSync, writeSync } from 'node:fs';

const TOKENS = 4608;
const MASK = 4096;

/** Samples of two rows a rollout and sixteen a group. @returns how many bytes they are */
export function writeTorchFile(path: string, samples: number): number {
  const bodies = listOf(TOKENS, (i) => int32((i * 7919) % 150_000));
  const masks = listOf(MASK, (i) => Buffer.of(0x4b, i % 10 < 7 ? 1 : 0));
  const shared = [text('tokens'), bodies, text('response_length'), int32(MASK), text('loss_mask'), masks];
  const constant = Buffer.concat([
    ...shared,
    text('remove_sample'),
    Buffer.of(0x89),
    text('status'),
    text('completed'),
  ]);
  const sample = (row: number) =>
    Buffer.concat([
      Buffer.from('}('),
      ...[text('group_index'), int32(row >> 4), text('rollout_id'), int32(row >> 1), text('index'), int32(row)],
      ...[text('reward'), float((row * 37) % 11), constant, Buffer.from('u')],
    ]);
  const head = Buffer.concat([Buffer.of(0x80, 2), Buffer.from('}('), text('samples'), Buffer.from('](')]);
  const tail = Buffer.from('eu.');
  const byteLength = head.length + samples * sample(0).length + tail.length;
  const descriptor = openSync(path, 'w');
  const entry = zipHeaders('rollout/data.pkl', byteLength);
  writeSync(descriptor, entry.local);
  writeSync(descriptor, head);
  for (let row = 0; row < samples; row++) writeSync(descriptor, sample(row));
  writeSync(descriptor, tail);
  writeSync(descriptor, entry.directory);
  closeSync(descriptor);
  return entry.local.length + byteLength + entry.directory.length;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.of(0x58, bytes.length, 0, 0, 0), bytes]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.of(0x4a, 0, 0, 0, 0);
  bytes.writeInt32LE(value, 1);
  return bytes;
}

function float(value: number): Buffer {
  const bytes = Buffer.alloc(9, 0x47);
  bytes.writeDoubleBE(value, 1);
  return bytes;
}

/** Appended in batches of a thousand, as Python does. */
function listOf(length: number, at: (i: number) => Buffer): Buffer {
  const parts: Buffer[] = [Buffer.from(']')];
  for (let i = 0; i < length; i++) {
    if (i % 1000 === 0) parts.push(Buffer.from(i === 0 ? '(' : 'e('));
    parts.push(at(i));
  }
  return Buffer.concat([...parts, Buffer.from('e')]);
}

/** What stands before and after the one stored entry. */
function zipHeaders(name: string, byteLength: number): { local: Buffer; directory: Buffer } {
  const local = Buffer.alloc(30);
  local.write('PK\x03\x04', 'latin1');
  local.writeUInt32LE(byteLength, 18);
  local.writeUInt32LE(byteLength, 22);
  local.writeUInt16LE(name.length, 26);
  const central = Buffer.alloc(46);
  central.write('PK\x01\x02', 'latin1');
  central.writeUInt32LE(byteLength, 20);
  central.writeUInt32LE(byteLength, 24);
  central.writeUInt16LE(name.length, 28);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length + name.length, 12);
  end.writeUInt32LE(local.length + name.length + byteLength, 16);
  const named = Buffer.from(name);
  return { local: Buffer.concat([local, named]), directory: Buffer.concat([central, named, end]) };
}
