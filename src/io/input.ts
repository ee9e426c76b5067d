/** An opened input: what its content is, and the portions in which it is read. */
import { type BigIntStats, statSync } from 'node:fs';
import { InputError } from '../errors.ts';
import { describeBinaryInput } from './binary-input.ts';
import { type ByteSource, openByteSource } from './byte-source.ts';
import { sniffFormat } from './format.ts';
import type { IdField, Layout } from './layouts/layout.ts';
import { recordsHoldRows } from './layouts/resolve-layout.ts';
import type { Portion } from './portion.ts';
import { openRandomAccess } from './random-access.ts';
import { requireUnchanged } from './stored-bytes.ts';
import { fileError } from './temporary-files.ts';

export type InputFormat = 'jsonl' | 'parquet' | 'arrow' | 'torch';

export interface Input {
  /** The path as given, `stdin` for `-`. */
  readonly name: string;
  /** Where the bytes are. */
  readonly path: string;
  readonly format: InputFormat;
  readonly compression: 'none' | 'gzip' | 'zstd';
  readonly byteLength: number;
  readonly portions: readonly Portion[];
  readonly unit: 'line' | 'row';
  readonly recordsHoldRows: boolean;
  /** What the file says of its rows, as far as its size makes that likely; undefined: it says nothing. */
  readonly expectedRows?: number | undefined;
  /** Its columns of ids, by field, that another file of its format can have as they are. */
  readonly copiedIds?: CopiedIds | undefined;
  /** Whether its rows can be written back whole, with two fields more. */
  readonly keepsRows: boolean;
  /** @throws FileError where the file is no longer what it was when it was opened */
  requireUnchanged(): void;
  close(): Promise<void>;
}

export type CopiedIds = ReadonlyMap<IdField, CopiedId>;

export interface CopiedId {
  readonly path: readonly string[];
  /** Any value of it is an id, which need not be looked at. */
  readonly isInteger: boolean;
}

export interface InputOptions {
  readonly layout: Layout;
  readonly maxLine?: number | undefined;
}

/** Large enough that a thread is worth asking, small enough that threads end together. */
const LINES_PORTION_BYTES = 4 << 20;
const HEAD_BYTES = 4096;

/** @throws InputError where the content is of no format that is read */
export async function openInput(nameOrDash: string, options: InputOptions): Promise<Input> {
  const source = await openByteSource(nameOrDash, { maxLine: options.maxLine });
  try {
    return await describeInput(source, options);
  } catch (error) {
    await source.close();
    if (error instanceof InputError && !error.message.startsWith(`${source.name}: `))
      throw new InputError(`${source.name}: ${error.message}`, { cause: error });
    throw error;
  }
}

async function describeInput(source: ByteSource, options: InputOptions): Promise<Input> {
  const { name } = source;
  const path = await source.localPath();
  const opened = source.opened ?? statOf(path, name);
  const common = {
    name,
    path,
    compression: source.compression,
    byteLength: Number(opened.size),
    requireUnchanged: () => requireUnchanged({ name, opened }, statOf(path, name)),
    close: () => source.close(),
  };
  try {
    return describeContent(common, options);
  } catch (error) {
    common.requireUnchanged(); // else what is wrong with its content is not its fault
    throw error;
  }
}

type Opened = Pick<Input, 'name' | 'path' | 'compression' | 'byteLength' | 'requireUnchanged' | 'close'>;

function describeContent(common: Opened, { layout, maxLine }: InputOptions): Input {
  const { name, path, compression, byteLength } = common;
  const holdRows = recordsHoldRows(layout);
  if (compression !== 'none') {
    if (layout.document) throw new InputError('a compressed JSON document is not read: decompress it first');
    const portions = [{ format: 'compressed-lines', path, name, compression, maxLine } as const];
    return { ...common, format: 'jsonl', portions, unit: 'line', recordsHoldRows: holdRows, keepsRows: !holdRows };
  }
  const head = readHead(path, name, byteLength);
  const format = sniffFormat(head);
  if (format !== 'jsonl') {
    const binary = describeBinaryInput(path, name, format, layout);
    return { ...common, unit: 'row', ...binary };
  }
  const whole = holdRows || layout.document;
  const portions: readonly Portion[] = layout.document
    ? [{ format: 'document', path, name, maxLine }]
    : lineRanges(byteLength, whole ? byteLength : LINES_PORTION_BYTES).map(([start, end]) => ({
        format: 'lines',
        path,
        name,
        start,
        end,
        maxLine,
      }));
  return { ...common, format: 'jsonl', portions, unit: 'line', recordsHoldRows: holdRows, keepsRows: !whole };
}

function lineRanges(byteLength: number, size: number): [number, number][] {
  const ranges: [number, number][] = [];
  for (let start = 0; start < byteLength; start += size) ranges.push([start, Math.min(start + size, byteLength)]);
  return ranges;
}

function readHead(path: string, name: string, byteLength: number): Uint8Array {
  const file = openRandomAccess(path, name);
  try {
    const head = new Uint8Array(Math.min(HEAD_BYTES, byteLength));
    file.readInto(head, 0);
    return head;
  } finally {
    file.close();
  }
}

function statOf(path: string, name: string): BigIntStats {
  try {
    return statSync(path, { bigint: true });
  } catch (cause) {
    throw fileError(name, 'cannot read', cause);
  }
}
