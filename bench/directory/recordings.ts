/** Recordings of every format, 1 to 100 MB each, made by this package's writers, by Node, and by DuckDB where lists are needed. */
import { spawnSync } from 'node:child_process';
import { closeSync, createReadStream, createWriteStream, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createGzip } from 'node:zlib';
import { writeFlatArrow } from '../../src/io/arrow/write-flat.ts';
import { prepareBlockCodecs } from '../../src/io/codecs/block.ts';
import { openOutput } from '../../src/io/output.ts';
import type { FlatColumn } from '../../src/io/parquet/write-flat.ts';
import { writeFlatParquet } from '../../test/support/parquet-writers.ts';
import { generateBatch, generator } from '../data.ts';
import { writeTorchFile } from '../torch-file.ts';

const RIVALS = fileURLToPath(new URL('../rivals.js', import.meta.url));

export interface Recording {
  readonly name: string;
  readonly what: string;
}

const LONG_LINES = 1800;
const SHORT_LINES = 200_000;
const SMALL_LINES = 7000;
const NUMBERS = 1_000_000;
const MASKS = 1_000_000;
const SAMPLES = 1600;
const TOKENS = 4608;
const MASK = 4096;
/** Lines are parts of so many tokens. */
const POOL = 50_000;

/** Fills the folder. */
export async function makeRecordings(folder: string): Promise<Recording[]> {
  const file = (name: string) => join(folder, name);
  writeLines(file('long.jsonl'), LONG_LINES, longLine());
  writeLines(file('short.jsonl'), SHORT_LINES, shortLine());
  writeLines(file('small.jsonl'), SMALL_LINES, shortLine());
  await pipeline(createReadStream(file('short.jsonl')), createGzip(), createWriteStream(file('packed.jsonl.gz')));
  await packWithZstd(file('long.jsonl'), file('packed.jsonl.zst'));
  const columns = numberColumns(NUMBERS);
  await prepareBlockCodecs(['snappy'], 'writing');
  writeTo(file('numbers.parquet'), (write) => writeFlatParquet(columns, NUMBERS, 'snappy', write));
  writeTo(file('numbers.arrow'), (write) => writeFlatArrow(columns, NUMBERS, 'file', write));
  const made = spawnSync(process.execPath, [RIVALS, 'make', file('masks.parquet'), 'mask', String(MASKS)], {
    stdio: 'inherit',
  });
  if (made.status !== 0) throw new Error('masks.parquet was not made');
  writeTorchFile(file('dump.pt'), SAMPLES);
  return [
    { name: 'long.jsonl', what: `${LONG_LINES} lines of 46 KB` },
    { name: 'short.jsonl', what: `${SHORT_LINES} lines of 150 B` },
    { name: 'small.jsonl', what: `${SMALL_LINES} lines of 150 B` },
    { name: 'packed.jsonl.gz', what: 'short.jsonl' },
    { name: 'packed.jsonl.zst', what: 'long.jsonl' },
    { name: 'numbers.parquet', what: `${NUMBERS} rows of numbers, snappy` },
    { name: 'numbers.arrow', what: 'the same rows' },
    { name: 'masks.parquet', what: `${MASKS} rows with a list, zstd, by DuckDB` },
    { name: 'dump.pt', what: `${SAMPLES} samples of 31 KB` },
  ];
}

function writeLines(path: string, count: number, line: (row: number) => string): void {
  const descriptor = openSync(path, 'w');
  for (let row = 0; row < count; row++) writeSync(descriptor, line(row));
  closeSync(descriptor);
}

/** Tokens and masks differ from line to line, as what compresses to nothing would test little. */
function longLine(): (row: number) => string {
  const random = generator(2);
  const several = <T>(length: number, from: (random: number) => T) => Array.from({ length }, () => from(random()));
  const tokens = several(POOL, (value) => Math.floor(value * 150_000));
  const masks = several(POOL, (value) => (value < 0.7 ? 1 : 0));
  const part = (of: readonly number[], length: number) => {
    const start = Math.floor(random() * (of.length - length));
    return of.slice(start, start + length).join(', ');
  };
  return (row) =>
    `{${idsAndReward(row)}, "tokens": [${part(tokens, TOKENS)}], "loss_mask": [${part(masks, MASK)}], "status": "completed"}\n`;
}

function shortLine(): (row: number) => string {
  const random = generator(3);
  return (row) =>
    `{${idsAndReward(row)}, "response_length": ${Math.floor(random() * 4096)}, "response": "row ${row}", "status": "completed"}\n`;
}

function idsAndReward(row: number): string {
  return `"group_index": ${row >> 4}, "rollout_id": ${row >> 1}, "index": ${row}, "reward": ${(row * 37) % 11}`;
}

async function packWithZstd(from: string, to: string): Promise<void> {
  const output = await openOutput(to, { compress: 'zstd' });
  for await (const piece of createReadStream(from, { highWaterMark: 1 << 20 })) await output.write(piece);
  await output.commit();
}

function numberColumns(rowCount: number): FlatColumn[] {
  const { groupIndex, rolloutId, reward, trainableTokens } = generateBatch(rowCount, 'shuffled');
  const column = { nullable: false } as const;
  return [
    { ...column, name: 'group_index', kind: 'int64', values: { kind: 'int64', values: groupIndex, present: null } },
    { ...column, name: 'rollout_id', kind: 'int64', values: { kind: 'int64', values: rolloutId, present: null } },
    { ...column, name: 'reward', kind: 'double', values: { kind: 'double', values: reward, present: null } },
    {
      ...{ ...column, name: 'trainable_tokens', kind: 'int64' },
      values: { kind: 'whole', values: trainableTokens, present: null },
    },
  ];
}

function writeTo(path: string, fill: (write: (bytes: Uint8Array) => void) => void): void {
  const descriptor = openSync(path, 'w');
  fill((bytes) => {
    writeSync(descriptor, bytes);
  });
  closeSync(descriptor);
}
